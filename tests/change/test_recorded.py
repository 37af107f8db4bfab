"""Records that the version before this one has written beside checkpoints: read, completed, undone.

``recorded/`` holds its files, as it left them on S3, where an object is identified by its content.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, after_rollback, read_all

pytestmark = pytest.mark.s3

RECORDED = Path(__file__).parent / "recorded"
BATCHES, KEEP = 6, 2
Files = dict[str, bytes]
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
#: Files that the recorded run had left when it was killed.
LEFT = {
    "rollback-applied": KEEP,
    "rollback-interrupted": 4,
    "undo-interrupted": 4,
    "rollback-trimmed": KEEP,
}


def test_a_recorded_plan_reads_and_has_its_id_still():
    plans = sorted(RECORDED.rglob("plan.json"))
    assert len(plans) == 6
    for path in plans:
        plan = plan_from_dict(json.loads(path.read_text()))
        assert plan.plan_id == path.parent.name
        assert json.dumps(plan.to_dict(), sort_keys=True) == path.read_text()


class QueryOfThen(FakeQuery):
    """Its state files are plain text: the identities in the recorded plans are of those bytes."""

    state_file = bytes


@pytest.fixture
def recorded(s3_store):
    """Builds what the earlier version has left, where it was: a plan is applied to its own checkpoint only."""
    bucket = s3_store("", bucket="recorded")
    bucket.fs.mkdir("recorded")

    def build(case: str) -> tuple[Stores, Files, Files]:
        checkpoint = bucket.child(f"{case}/orders")
        query = QueryOfThen(checkpoint)
        for batch_id in range(BATCHES):
            query.commit(batch_id)
        before = dict(query.files)
        done_first = sorted((RECORDED / case).iterdir(), key=is_done, reverse=True)
        for directory in done_first:
            record = records_of(checkpoint).child(directory.name)
            for file in directory.iterdir():
                record.create(file.name, file.read_bytes())
            replay(directory, record, checkpoint, before)
        sink = bucket.child(f"{case}/out") if case == "rollback-trimmed" else None
        for batch_id in range(KEEP + 1) if sink else ():
            sink.create(f"_spark_metadata/{batch_id}", b"v1\n%d" % batch_id)
        return Stores(checkpoint, sink), before, after_rollback(before, KEEP)

    yield build
    bucket.fs.rm("recorded", recursive=True)


def is_done(directory: Path) -> bool:
    return (directory / "receipt.json").exists()


def replay(directory: Path, record: Store, checkpoint: Store, before: Files) -> None:
    """Save what the plan removes, and take the steps that were taken."""
    plan = json.loads((directory / "plan.json").read_text())
    for step in plan["actions"]:
        if step["do"] == "delete":
            in_sink = b"v1\n" + step["name"][-1:].encode()
            record.create(f"saved/{step['place']}/{step['name']}", before.get(step["name"], in_sink))
    taken = plan["actions"] if is_done(directory) else plan["actions"][: STEPS[plan["kind"]]]
    for step in taken:
        if step["place"] == "checkpoint" and step["do"] == "delete":
            checkpoint.delete(step["name"])
        elif step["place"] == "checkpoint":
            checkpoint.create(step["name"], before[step["name"]])


#: How many steps the killed runs had taken.
STEPS = {"rollback": 7, "undo": 5}


@pytest.mark.parametrize("case", LEFT)
def test_it_is_undone_byte_for_byte(recorded, case):
    stores, before, _ = recorded(case)
    assert observe(stores.checkpoint).latest_planned == LEFT[case]
    apply(make_undo(stores), stores, **STOPPED)
    assert read_all(stores.checkpoint) == before
    assert [change.state for change in history(stores.checkpoint) if change.plan.kind == "rollback"] == ["undone"]
    if stores.sink:
        assert sorted(stores.sink.find()) == [f"_spark_metadata/{batch_id}" for batch_id in range(BATCHES)]


def test_an_interrupted_one_is_completed_by_the_same_plan(recorded):
    stores, before, after = recorded("rollback-interrupted")
    (begun,) = history(stores.checkpoint)
    assert (begun.state, begun.by, begun.from_batch) == ("interrupted", "ann@host", BATCHES - 1)
    plan = make_rollback(stores, KEEP)
    assert plan.plan_id == begun.plan.plan_id
    apply(plan, stores, **STOPPED)
    assert read_all(stores.checkpoint) == after
    apply(make_undo(stores), stores, **STOPPED)
    assert read_all(stores.checkpoint) == before


def test_a_saved_object_that_is_cut_is_not_put_back(recorded):
    """That version wrote no hashes down, but the size of each object is in the plan."""
    stores, _, after = recorded("rollback-applied")
    (change,) = history(stores.checkpoint)
    saved = records_of(stores.checkpoint).child(change.plan.plan_id).child("saved")
    saved.write("checkpoint/offsets/4", b"v1")
    with pytest.raises(PlanError, match="offsets/4: .* is not what was saved"):
        apply(make_undo(stores), stores, **STOPPED)
    assert read_all(stores.checkpoint) == after
