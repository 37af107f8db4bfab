"""The contract of Spark's ``StreamingWrite``: commit once, commit again, abort after anything; the storage may fail."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from airflow_provider_ckpt.errors import CheckpointError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.history_table.manifest import COMMIT_WITHIN_MS, GRACE_MS, Place
from airflow_provider_ckpt.history_table.publish import abort, commit
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore
from tests.history_table.labs import NOW_MS, data, epoch, rows, task

LATER_MS = NOW_MS + 1000 * GRACE_MS
#: Plans of an epoch.
A, B = "a" * 64, "b" * 64


@pytest.fixture(params=["local", "memory", "s3"])
def table(request, tmp_path):
    """A table on each kind of storage."""
    return table_on(request.param, request, tmp_path)


def table_on(place, request, tmp_path):
    if place == "s3":
        return request.getfixturevalue("s3_store")("history")
    return Store.open(str(tmp_path) if place == "local" else f"memory://{tmp_path}")


def test_an_epoch_is_rows_after_its_commit_and_not_before(table):
    written = [task(table, [1, 2]), task(table, []), task(table, [3])]
    assert written[1].files == ()
    assert epoch(table, 0, 0)
    assert rows(table) == [0]
    assert commit(table, 1, written, "{}", NOW_MS)
    assert rows(table) == [0, 1, 2, 3]


def test_a_second_commit_is_nothing_and_removes_its_own_files(table):
    """Spark commits again when its driver died after the commit; the tasks have run again."""
    assert epoch(table, 0, 1, 2)
    first = data(table)
    assert not epoch(table, 0, 1, 2)
    assert rows(table) == [1, 2]
    assert data(table) == first


def test_a_commit_whose_answer_was_lost_and_that_is_sent_again_keeps_its_files(table):
    written = [task(table, [1])]
    assert commit(table, 0, written, "{}", NOW_MS)
    assert commit(table, 0, written, "{}", NOW_MS)
    assert rows(table) == [1]


def test_an_epoch_without_rows_is_committed_as_well(table):
    assert epoch(table, 0, plan=A)
    assert not epoch(table, 0, 1, plan=A)
    assert rows(table) == [] and data(table) == set()


def test_streams_of_two_queries_share_a_table(table):
    assert epoch(table, 0, 1, query="a") and epoch(table, 0, 2, query="b")
    assert rows(table) == [1, 2]


def test_files_that_a_vacuum_may_have_taken_for_garbage_are_not_committed(table):
    old = task(table, [1], since_ms=NOW_MS - COMMIT_WITHIN_MS - 1)
    with pytest.raises(
        StoreError,
        match=r"epochs/q/3: the files of epoch 3 were begun more than 12 hours ago",
    ):
        commit(table, 3, [task(table, [2]), old], "{}", NOW_MS)
    assert not table.find("epochs")


def test_files_that_a_vacuum_has_taken_by_a_wrong_clock_are_not_committed(table):
    written = [task(table, [1]), task(table, [2])]
    table.delete(written[1].files[0].name)
    with pytest.raises(StoreError, match=r"epochs/q/3: the files of epoch 3 are deleted in part") as lost:
        commit(table, 3, written, "{}", NOW_MS)
    assert lost.value.hint == "Start the query again; it then writes the epoch again."
    assert not table.find("epochs")


# --- the stream has gone back behind its table ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "now", "numbers"),
    [
        pytest.param(A, B, [1, 2], id="another plan of as many rows"),
        pytest.param(A, B, [1, 2, 3], id="another plan of more rows"),
        pytest.param(None, B, [1, 2, 3], id="more rows, and nobody knows the plan that was"),
        pytest.param(A, None, [1], id="fewer rows, and nobody knows the plan that is"),
    ],
)
def test_other_rows_of_an_epoch_that_is_there_are_refused(table, held, now, numbers):
    """A rollback by one batch: skipping it would lose rows, adding it would double them."""
    epoch(table, 0, 0)
    epoch(table, 1, 1, 2, plan=held)
    with pytest.raises(StoreError, match="the table has epochs 1 to 1 of query q already, with other rows") as refused:
        epoch(table, 1, *numbers, plan=now)
    assert "rolled back or restored behind its table" in str(refused.value)
    assert f'rewind(Store.open("{table.location}"), "q", 0)' in (refused.value.hint or "")
    assert rows(table) == [0, 1, 2]


def test_an_epoch_before_the_newest_is_refused_whatever_its_rows(table):
    """Spark commits in order, so it is never one that it runs again."""
    for number in range(4):
        epoch(table, number, number, plan=A)
    with pytest.raises(StoreError, match="the table has epochs 1 to 3 of query q already"):
        epoch(table, 1, 1, plan=A)
    assert epoch(table, 0, 7, query="other")


@pytest.mark.parametrize(("held", "now", "numbers"), [(A, A, [1, 3]), (None, A, [8, 9]), (A, None, [8, 9])])
def test_an_epoch_that_runs_again_is_known_by_its_plan_or_by_its_rows(table, held, now, numbers):
    """A source may tell less of what was purged meanwhile; the plan says that it is the same epoch."""
    epoch(table, 0, 1, 2, plan=held)
    assert not epoch(table, 0, *numbers, plan=now)
    assert rows(table) == [1, 2]


def test_an_epoch_that_was_planned_anew_while_it_was_written_is_not_committed(table):
    """A driver that slept through a rollback: what its tasks wrote is not what the epoch is now."""
    epoch(table, 0, 0, plan=A)
    slept = [replace(task(table, [1, 2]), plan=A), task(table, [3])]
    with pytest.raises(StoreError, match="epoch 1 of query q was planned anew while its files were written") as refused:
        commit(table, 1, slept, "{}", NOW_MS, B)
    assert "another driver runs the query" in str(refused.value)
    abort(table, 1, slept)
    assert epoch(table, 1, 7, plan=B)
    assert rows(table) == [0, 7]


def test_what_the_tasks_say_of_the_plan_is_enough(table):
    """The process that commits could not read the checkpoint of the stream."""
    assert commit(table, 0, [task(table, [1]), replace(task(table, [2]), plan=A)], "{}", NOW_MS)
    with pytest.raises(StoreError, match="with other rows than those of epoch 0 now"):
        epoch(table, 0, 1, 2, plan=B)


def test_of_two_drivers_at_one_epoch_the_second_is_told_that_it_is_there(table):
    """Both have listed the table before either has written its manifest."""

    class Late(Store):
        def find(self, directory=""):
            return {}

    epoch(table, 0, 1, plan=A)
    late = Late(table.fs, table.root, table.location)
    assert not epoch(late, 0, 1, plan=A)
    with pytest.raises(StoreError, match="another driver runs the query"):
        epoch(late, 0, 1, plan=B)
    assert rows(table) == [1]


# --- what is in the place of a manifest --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data_there", "said"),
    [
        (b"", "is not a manifest of an epoch"),
        (b'{"format_version": 1, "query_id": "q", "ep', "is not a manifest of an epoch"),
        ("epochs/q/0", "it names another epoch than its file name"),
        (b'{"format_version": 2}', "this release reads version 1"),
    ],
    ids=["empty", "cut", "of another epoch", "of a later release"],
)
@pytest.mark.parametrize("newest", [1, 9_223_372_036_854_775_807])
def test_what_is_no_manifest_is_an_error_that_names_it_and_nothing_is_deleted(tmp_path, data_there, said, newest):
    """Whether it is of the epoch that is committed or of a later one, of which nobody knows who has planned it."""
    table = table_on("local", None, tmp_path)
    epoch(table, 0, 0)
    bad = f"epochs/q/{newest}"
    table.create(bad, table.read(data_there) if isinstance(data_there, str) else data_there)
    before = data(table)
    written = [task(table, [1])]
    for act in (lambda: commit(table, 1, written, "{}", NOW_MS), lambda: rows(table), lambda: vacuum(table, LATER_MS)):
        with pytest.raises(CheckpointError, match=said) as refused:
            act()
        assert str(refused.value).startswith(f"{table.location}/{bad}: ")
        assert refused.value.hint or "release" in said
    if newest == 1:
        with pytest.raises(CheckpointError, match=said):
            abort(table, 1, written)
    assert data(table) == before | {file.name for file in written[0].files}


def test_a_directory_in_the_place_of_a_manifest_is_an_error_of_the_commit(tmp_path):
    table = table_on("local", None, tmp_path)
    (tmp_path / "epochs/q/0").mkdir(parents=True)
    with pytest.raises(StoreError, match="epochs/q/0"):
        epoch(table, 0, 1)
    (tmp_path / "epochs/q/0").rmdir()
    assert epoch(table, 0, 1)


# --- abort ----------------------------------------------------------------------------------------------------------


def test_a_failed_task_leaves_nothing_of_those_that_finished(table):
    abort(table, 0, [task(table, [1]), None, task(table, [2])])
    assert data(table) == set()


def test_abort_after_a_commit_that_was_published_keeps_its_files(table):
    """Spark aborts with all messages when a commit failed, also when its manifest is there."""
    written = [task(table, [1]), task(table, [2])]
    commit(table, 0, written, "{}", NOW_MS)
    abort(table, 0, written)
    assert rows(table) == [1, 2]


def test_abort_of_an_epoch_that_others_committed_removes_its_own_files(table):
    epoch(table, 0, 1)
    first = data(table)
    abort(table, 0, [task(table, [1])])
    assert data(table) == first


def test_abort_keeps_files_whose_manifest_may_still_arrive(table):
    """A request that creates it can be on its way; what would be deleted now could be rows of the table then."""
    written = [task(table, [1])]
    abort(table, 0, written)
    commit(table, 0, written, "{}", NOW_MS)
    assert rows(table) == [1]


@pytest.mark.parametrize("messages", [[], [None], [None, None]])
def test_abort_without_a_message_does_nothing(tmp_path, messages):
    abort(Store.open(str(tmp_path / "nowhere")), 0, messages)


# --- the storage fails at each call ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["local", pytest.param("s3", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("again", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("at", range(1, 10))
def test_whatever_call_fails_the_epoch_is_there_once(request, tmp_path, place, at, again, after):
    """As Spark does it: tasks, commit; after a failure abort, then a restart runs the batch again."""
    plain = table_on(place, request, tmp_path)
    if again:
        epoch(plain, 0, 1, 2)
    faulty = FaultyStore.of(plain, Fault(at, after=after))
    written: list[object] = []
    try:
        written.append(task(faulty, [1]))
        written.append(task(faulty, [2]))
        commit(faulty, 0, written, "{}", NOW_MS)
    except StoreUnavailableError:
        with suppress(StoreUnavailableError):
            abort(faulty, 0, [*written, *[None] * (2 - len(written))])
        commit(plain, 0, [task(plain, [1]), task(plain, [2])], "{}", NOW_MS)
    assert rows(plain) == [1, 2]
    assert plain.stat(Place("q", 0).name)
