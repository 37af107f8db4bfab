"""The planner of resets alone: its steps, what they require, and that it is read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.actions import Replace
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.changes.reset.plan import entry_with, moves_of, plan_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import offset_log
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.move import Move
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery
from tests.kafka_checkpoint import commit_batch


@pytest.fixture
def view(tmp_path) -> CheckpointView:
    """Batches 0 to 2, all committed, of two sources."""
    query = KafkaQuery(Store.open(str(tmp_path / "orders")), sources=2)
    for batch_id in range(3):
        query.commit(batch_id)
    return observe(query.store, deep=True)


def move(view: CheckpointView, source_id: str, new: str, **told: tuple[str, ...]) -> Move:
    old = view.offset_seq(2).offset(source_id)
    assert old is not None
    return Move(source_id, "kafka", old, SourceOffset(new), **told)


def test_one_step_and_what_it_requires(view):
    plan = plan_reset(view, [move(view, "1", '{"payments":{"0":1,"1":2}}', warnings=("w",), notes=("n",))], 7)
    assert {item.kind for item in plan.requirements} == {
        "query_id", "latest_committed", "latest_planned", "kept_objects", "writer_stopped",
    }  # fmt: skip
    assert [type(action) for action in plan.actions] == [Replace]
    assert (plan.batch_id, plan.planned_at_ms, plan.notes, plan.aim) == (2, 7, ("n",), "other offsets")
    assert plan.warnings[0].startswith("After the reset offsets/2 does not say any more") and plan.warnings[1] == "w"
    assert plan_from_dict(plan.to_dict()) == plan


def test_the_entry_keeps_its_first_lines_and_the_other_source(view):
    (step,) = plan_reset(view, [move(view, "1", '{"payments":{"0":1,"1":2}}')], 7).actions
    before, after = view.offset_seq(2).encode().decode().split("\n"), step.data.split("\n")
    assert after == [*before[:3], '{"payments":{"0":1,"1":2}}']


def test_a_plan_tells_what_it_moves(view):
    moves = [move(view, "0", '{"orders":{"0":1,"1":2}}'), move(view, "1", '{"payments":{"0":3}}')]
    plan = plan_reset(view, moves, 7)
    assert moves_of(plan, view) == moves


def test_what_stays_has_no_step_and_is_told_all_the_same(view):
    plan = plan_reset(view, [move(view, "0", '{"orders": {"1":30, "0":30}}', notes=("n",))], 7)
    assert (plan.actions, plan.warnings, plan.notes) == ((), (), ("n",))
    assert moves_of(plan, view) == []


@pytest.mark.parametrize("data", [b'v1\r\n{}\r\n{"t":{"0":1}}\r\n-', b'v2\n{"conf":{}}\nb:{"t":{"0":1}}\na:-\n'])
def test_sources_stay_in_their_order_whatever_the_line_ends(data):
    entry = offset_log.decode(data, "offsets/1")
    source_id = entry.offsets[0][0]
    again = offset_log.decode(entry_with(entry, {source_id: SourceOffset('{"t":{"0":9}}')}).encode(), "offsets/1")
    assert [known for known, _ in again.offsets] == [known for known, _ in entry.offsets]
    assert again.offset(source_id) == SourceOffset('{"t":{"0":9}}') and again.offsets[1][1] is None
    assert again.metadata == entry.metadata and again.version == entry.version


# --- a source that Spark asks for its newest batch once more -----------------------------------------------------------

DELTA = '{"sourceVersion":1,"reservoirId":"r","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'


def test_a_source_with_a_name_has_its_offset_in_both_entries_of_version_2(tmp_path):
    for batch_id in range(2):
        commit_batch(tmp_path, batch_id, DELTA % (batch_id + 1))
        path = tmp_path / "offsets" / str(batch_id)
        _, metadata, offset = path.read_text().splitlines()
        path.write_text("\n".join(["v2", metadata, f"orders:{offset}", "clicks:5"]))
    view = observe(Store.open(str(tmp_path)), deep=True)
    old = view.offset_seq(1).offset("orders")
    assert old is not None
    plan = plan_reset(view, [Move("orders", "delta", old, SourceOffset(DELTA % 9))], 7)
    assert [(step.name, step.data.splitlines()[-2:]) for step in plan.actions] == [
        (f"offsets/{batch_id}", [f"orders:{DELTA % 9}", "clicks:5"]) for batch_id in range(2)
    ]
    assert [(item.source_id, item.new.json) for item in moves_of(plan, view)] == [("orders", DELTA % 9)]


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_delta_source_has_its_offset_in_the_entry_before_as_well_and_there_first(tmp_path, batches):
    for batch_id in range(batches):
        commit_batch(tmp_path, batch_id, DELTA % (batch_id + 1), str(batch_id))
    view, last = observe(Store.open(str(tmp_path)), deep=True), batches - 1
    old, new = view.offset_seq(last).offset("0"), SourceOffset(DELTA % 9)
    assert old is not None
    plan = plan_reset(view, [Move("0", "delta", old, new)], 7)
    written = {step.name: offset_log.decode(step.data.encode(), step.name) for step in plan.actions}
    assert list(written) == [f"offsets/{batch_id}" for batch_id in range(max(0, last - 1), last + 1)]
    for name, entry in written.items():
        assert [offset.json for _, offset in entry.offsets] == [new.json, name.removeprefix("offsets/")]
    assert [(item.source_id, item.old, item.new) for item in moves_of(plan, view)] == [("0", old, new)]


def test_a_delta_source_that_stays_forgets_where_its_newest_batch_began(tmp_path):
    for batch_id in range(2):
        commit_batch(tmp_path, batch_id, DELTA % (batch_id + 1))
    view = observe(Store.open(str(tmp_path)), deep=True)
    old = view.offset_seq(1).offset("0")
    assert old is not None
    still = Move("0", "delta", old, old)
    plan = plan_reset(view, [still], 7)
    (step,) = plan.actions
    assert step.name == "offsets/0" and step.data == view.offset_seq(1).encode().decode().replace(
        "1767225601000", "1767225600000"
    )
    assert moves_of(plan, view) == [still]
    (tmp_path / "offsets/0").write_text(step.data)
    assert plan_reset(observe(Store.open(str(tmp_path)), deep=True), [still], 7).actions == ()


@pytest.mark.parametrize("name", ["offsets/0", "offsets/1"])
def test_a_plan_that_gives_the_two_entries_different_offsets_is_refused(tmp_path, name):
    for batch_id in range(2):
        commit_batch(tmp_path, batch_id, DELTA % (batch_id + 1))
    view = observe(Store.open(str(tmp_path)), deep=True)
    old = view.offset_seq(1).offset("0")
    assert old is not None
    plan = plan_reset(view, [Move("0", "delta", old, SourceOffset(DELTA % 9))], 7)
    steps = tuple(
        replace(step, data=step.data.replace(DELTA % 9, DELTA % 8)) if step.name == name else step
        for step in plan.actions
    )
    with pytest.raises(PlanError, match="gives source 0 an offset that no reset gives it"):
        moves_of(replace(plan, actions=steps), view)
