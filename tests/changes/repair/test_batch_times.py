"""When batches ran, and when their times prove nothing."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.repair.batch_times import Window, contradiction, times_of
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.storage.stored_object import StoredObject


def times(began: list[int], committed: list[int], partitions: list[int] | None = None):
    """Batch k begins at ``began[k]``, and its commit is written at ``committed[k]``."""
    objects, entries = {}, {}
    for batch_id, at_ms in enumerate(began):
        conf = {"spark.sql.shuffle.partitions": str((partitions or [2] * len(began))[batch_id])}
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": conf}
        name = f"offsets/{batch_id}"
        entries[name] = codec.decode(name, f"v1\n{json.dumps(metadata)}\n1".encode())
        objects[name] = StoredObject(name, 1, at_ms, "x")
    for batch_id, at_ms in enumerate(committed):
        name = f"commits/{batch_id}"
        objects[name] = StoredObject(name, 1, at_ms, "x")
    view = CheckpointView("c", 0, objects, entries, complete=True)
    return times_of(view, entries, range(len(began)))


def test_from_the_plan_to_the_commit():
    found = times([11, 21, 31], [19, 29])
    assert found.windows == {0: Window(11, 19), 1: Window(21, 29), 2: Window(31, None)}
    assert (found.doubt, found.batches_at(21), found.batches_at(20), found.batches_at(99)) == ("", (1,), (), (2,))


def test_whole_seconds_are_no_more_exact_than_that():
    found = times([11_000, 21_000], [19_000, 29_000])
    assert found.windows == {0: Window(11_000, 19_999), 1: Window(21_000, 29_999)}


@pytest.mark.parametrize(
    "committed", [[22, 29], [10, 29], [19, 20]], ids=["in the next batch", "before it", "the newest"]
)
def test_a_copy_has_other_times(committed):
    assert "the checkpoint was copied or restored" in times([11, 21], committed).doubt


def test_of_two_batches_of_one_time_the_later_one_begins_behind_the_commit_of_the_other():
    """A fence plans an empty batch with the entry of the one before it."""
    found = times([11, 11, 31], [19, 25, 39])
    assert (found.doubt, found.windows[0], found.windows[1]) == ("", Window(11, 19), Window(19, 25))
    assert (found.batches_at(15), found.batches_at(19)) == ((0,), (0, 1))


def test_a_repartition_has_no_time():
    found = times([11, 11, 31], [19, 25, 39], [2, 4, 4])
    assert (found.repartitions, set(found.windows)) == ({1}, {0, 2})


def test_what_entries_say_is_compared():
    found = times([11, 21], [19, 29])
    assert contradiction(found, {0: [("a", 12)], 1: [("b", 21)], 7: [("c", 1)]}) == ""
    assert (
        contradiction(found, {1: [("b", 12)]})
        == "the entry of batch 1 names b, which was not written while that batch ran"
    )
