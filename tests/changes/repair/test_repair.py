"""A repair that is carried out: killed at each step, begun by a file, taken back, and refused where it does not fit."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.plan.file import decode, encode
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.repair.decision import parse_decisions
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.query.sink import Sink
from tests.changes.repair.fake_table import FakeTable, part

GONE = ("23", "21", "20", "19.compact")


@pytest.fixture
def table(tmp_path) -> FakeTable:
    return FakeTable(tmp_path).run(24)


def stop_after(steps: int):
    def on_step(done: int, total: int, name: str) -> None:
        if done == steps:
            raise KeyboardInterrupt

    return on_step


@pytest.mark.parametrize("steps", range(1, 4))
def test_each_prefix_is_completed_or_taken_back(table, steps):
    before = table.forget(*GONE)
    torn = table.entries
    plan = table.repair()
    with pytest.raises(KeyboardInterrupt):
        apply(plan, table.stores, query_is_stopped=True, quiet_s=0, on_step=stop_after(steps))
    assert "19.compact" not in table.entries, "readers stop until the last step"
    again = table.repair()
    assert again.plan_id == plan.plan_id
    if steps % 2:
        apply(again, table.stores, query_is_stopped=True, quiet_s=0)
        assert table.entries == before
    undo = make_undo(table.stores)
    assert (undo.sink_effect, undo.last_kept) == ("skipped", 23)
    apply(undo, table.stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    assert table.entries == torn
    assert history(table.stores.checkpoint)[0].state == "undone"


def test_an_undo_keeps_the_batch_in_flight(table):
    table.plan(24)
    before = table.forget("23")
    apply(table.repair(), table.stores, query_is_stopped=True, quiet_s=0)
    assert table.entries == before
    apply(make_undo(table.stores), table.stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    assert (table.checkpoint / "offsets/24").exists()
    assert table.entries.keys() == before.keys() - {"23"}


def test_what_was_damaged_comes_back(table):
    (table.log / "21").write_text("v1\n{")
    (table.log / ".21.crc").write_bytes(b"crc\0")
    apply(table.repair(), table.stores, query_is_stopped=True, quiet_s=0)
    assert not (table.log / ".21.crc").exists()
    apply(make_undo(table.stores), table.stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    assert (table.log / "21").read_text() == "v1\n{"
    assert (table.log / ".21.crc").read_bytes() == b"crc\0"


def test_the_plan_of_a_file_with_decisions_is_the_one_that_runs(table):
    table.data(part(21, 5, 9), 21, 1)
    before = table.forget("21")
    names = [f"21={part(21, task)}" for task in (0, 1)]
    plan = table.repair(parse_decisions(names, []))
    apply(decode(encode(plan), "repair"), table.stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert table.entries == before


@pytest.mark.parametrize(
    ("meanwhile", "error"),
    [
        (lambda table: table.data(part(21, 5, 9), 21, 1), StalePlanError),
        (lambda table: (table.log / "22").unlink(), StalePlanError),
        (lambda table: (table.log / "21").write_text("v1"), StalePlanError),
        (lambda table: (table.output / part(21, 0)).unlink(), StalePlanError),
    ],
    ids=["a new file", "another hole", "by hand", "a file is gone"],
)
def test_a_table_that_changed_since_is_refused(table, meanwhile, error):
    table.forget("21")
    plan = table.repair()
    meanwhile(table)
    before = table.entries
    with pytest.raises(error):
        apply(plan, table.stores, query_is_stopped=True, quiet_s=0)
    assert table.entries == before


def test_an_effect_has_to_be_accepted(table):
    table.forget("21")
    plan = table.repair(parse_decisions([], ["21"]))
    with pytest.raises(PlanError, match="the effect of this repair on file:.* is skipped"):
        apply(plan, table.stores, query_is_stopped=True, quiet_s=0)


def test_an_unreadable_entry_behind_the_compacted_one_is_written_as_well(table):
    """Readers do not need it; a rollback to before the compacted entry does."""
    before = table.entries
    (table.log / "19.compact").unlink()
    (table.log / "15").write_text("v1\n{broken")
    plan = table.repair()
    assert [action.name for action in plan.actions] == ["_spark_metadata/15", "_spark_metadata/19.compact"]
    apply(plan, table.stores, query_is_stopped=True, quiet_s=0)
    assert table.entries == before
    back = make_rollback(table.stores, 17, sink=Sink("file", str(table.output)), trim_sink_log=True)
    assert back.sink_effect == "exact"
    (table.log / "15").write_text("v1\n{broken")
    (table.log / "22").unlink()
    plan = table.repair()
    assert [action.name for action in plan.actions] == ["_spark_metadata/22"]
    assert any("_spark_metadata/15 cannot be read and stays as it is" in note for note in plan.notes)
