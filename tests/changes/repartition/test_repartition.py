"""A repartition from its plan to its end and back, with a Spark that is stopped after every file that it writes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError, SparkFailedError, StalePlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repartition.forged_spark import BATCH, KEPT, PARTITIONS, Forged
from tests.faults import calls_to_fail

pytestmark = pytest.mark.usefixtures("unwatched")

ENTRY = f"_spark_metadata/{BATCH}"
#: The files that Spark writes, after each of which it is stopped once; the last one is the commit.
FILES = 16


def carry_out(plan, stores):
    return apply(plan, stores, query_is_stopped=True, quiet_s=0, by="ben")


def undo(case):
    return carry_out(make_undo(case.stores, sink=case.sink), case.stores)


def state(case):
    return [(record.plan.kind, record.state) for record in journal.history(case.stores.checkpoint)]


def errors(case):
    return {finding.code for finding in inspect(case.stores.checkpoint, deep=True) if finding.severity == "error"}


def test_a_plan_is_one_step_of_spark_and_an_entry_for_the_file_sink(case):
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    assert [(action.do, action.place, action.name) for action in plan.actions] == [
        ("repartition", "checkpoint", f"commits/{BATCH}"),
        ("create", "sink", ENTRY),
    ]
    assert (plan.batch_id, plan.last_kept, plan.partitions, plan.aim) == (BATCH, KEPT, PARTITIONS, "4 partitions")
    assert [(item.sink, item.effect) for item in plan.effects] == [(f"file:{case.output}", "exact")]


def test_what_spark_has_written_is_given_to_who_owns_the_checkpoint(case, forge):
    for path in (case.checkpoint, *case.checkpoint.rglob("*")):
        os.chown(path, 1000, 1000)
        path.chmod(0o750 if path.is_dir() else 0o640)
    forge(Forged(case.checkpoint, case.batch))
    umask = os.umask(0o077)
    try:
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    finally:
        os.umask(umask)
    found = {(path.stat().st_uid, path.stat().st_mode & 0o777) for path in case.checkpoint.rglob("*")}
    assert found == {(1000, 0o750), (1000, 0o640)}


def test_spark_is_told_what_the_checkpoint_was_written_with(case, forge):
    spark = forge(Forged(case.checkpoint, case.batch))
    carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    (request,) = spark.requests
    assert (request["kept"], request["planned"], request["partitions"]) == (KEPT, KEPT, PARTITIONS)
    assert request["location"] == f"file:{case.checkpoint}"
    confs = request["confs"]
    assert confs["spark.sql.streaming.stateStore.checkpointFormatVersion"] == "2"
    assert confs["spark.sql.streaming.stateStore.providerClass"].endswith("RocksDBStateStoreProvider")
    assert "spark.sql.shuffle.partitions" not in confs
    assert request["reads"] == [{"operatorId": "0"}]


def test_done_and_undone_every_byte_is_as_it_was(case, forge):
    forge(Forged(case.checkpoint, case.batch))
    old, old_sink = case.files(), case.sink_files()
    receipt = carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    assert (receipt.kind, receipt.status, receipt.batch_id, receipt.actions) == ("repartition", "applied", BATCH, 2)
    assert case.files() == {**old, **case.batch}
    assert case.sink_files() == {**old_sink, ENTRY: b"v1"}
    assert errors(case) == set()
    undo(case)
    tables = {name: data for name, data in case.batch.items() if "/SSTs/" in name}
    assert case.files() == {**old, **tables}, "tables of RocksDB that nothing names stay"
    assert case.sink_files() == old_sink
    assert state(case) == [("repartition", "undone"), ("undo", "applied")]


@pytest.mark.parametrize("stop_after", calls_to_fail(FILES, FILES))
def test_stopped_after_any_file_the_same_command_goes_on(case, forge, stop_after):
    assert stop_after < len(case.batch)
    forge(Forged(case.checkpoint, case.batch, stop_after))
    old = case.files()
    with pytest.raises(SparkFailedError, match="half done") as raised:
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    assert raised.value.retryable
    assert f"ckpt repartition {case.checkpoint} --partitions 4" in str(raised.value)
    assert state(case) == [("repartition", "interrupted")]
    forge(Forged(case.checkpoint, case.batch))
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    assert plan.plan_id == journal.history(case.stores.checkpoint)[0].plan.plan_id
    carry_out(plan, case.stores)
    assert case.files() == {**old, **case.batch}
    assert state(case) == [("repartition", "applied")]


@pytest.mark.parametrize("stop_after", [0, *calls_to_fail(FILES, FILES)])
def test_stopped_after_any_file_it_can_be_undone(case, forge, stop_after):
    forge(Forged(case.checkpoint, case.batch, stop_after))
    old = case.files()
    with pytest.raises(SparkFailedError if stop_after else PlanError):
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    if not stop_after:  # nothing was written, so the change never began
        assert (state(case), case.files()) == ([("repartition", "refused")], old)
        return
    assert observe(case.stores.checkpoint).unfinished_repartition in (PARTITIONS, None)
    undo(case)
    left = {name for name in case.files() if "/SSTs/" not in name}
    assert left == {name for name in old if "/SSTs/" not in name}
    assert {name: data for name, data in case.files().items() if name in old} == old


def test_another_number_is_refused_until_it_is_finished(case, forge):
    forge(Forged(case.checkpoint, case.batch, 3))
    with pytest.raises(SparkFailedError):
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    with pytest.raises(PlanError, match="a repartition to 4 partitions that was not finished") as raised:
        make_repartition(case.stores, 8, sink=case.sink)
    assert f"ckpt repartition {case.checkpoint} --partitions 4" in str(raised.value)
    assert f"ckpt rollback {case.checkpoint} --to-batch {KEPT}" in str(raised.value)


def test_a_repartition_that_somebody_else_began_is_finished(case, forge):
    """Without a record of ours: a plan of its own, whose batch is planned already."""
    (case.checkpoint / "offsets" / "5").write_bytes(case.batch["offsets/5"])
    spark = forge(Forged(case.checkpoint, case.batch))
    carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    assert (spark.requests[0]["planned"], spark.requests[0]["kept"]) == (BATCH, KEPT)
    assert errors(case) == set()


def test_rows_that_are_lost_are_told(case, forge):
    forge(Forged(case.checkpoint, case.batch, rows=((3,), (2,))))
    with pytest.raises(PlanError, match=r"operator 0 \(stateStoreSave\) had 3 rows, and has 2") as raised:
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    assert f"ckpt undo {case.checkpoint}" in str(raised.value)
    undo(case)
    assert errors(case) == set()


def test_rows_that_are_lost_are_told_again(case, forge):
    """The batch is committed by then, so that no step is left: it is judged once more, and never passes for done."""
    spark = forge(Forged(case.checkpoint, case.batch, rows=((3,), (2,))))
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    for _ in range(2):
        with pytest.raises(PlanError, match="had 3 rows, and has 2"):
            carry_out(plan, case.stores)
    assert state(case) == [("repartition", "interrupted")]
    assert [request["partitions"] for request in spark.requests] == [PARTITIONS, None]


def test_stopped_after_the_commit_it_is_judged_by_the_next_run(case, forge):
    forge(Forged(case.checkpoint, case.batch, len(case.batch)))
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    with pytest.raises(SparkFailedError, match="is committed, and not verified"):
        carry_out(plan, case.stores)
    spark = forge(Forged(case.checkpoint, case.batch))
    assert carry_out(plan, case.stores).status == "applied", "the entry for the sink was left"
    assert [request["partitions"] for request in spark.requests] == [None]
    assert state(case) == [("repartition", "applied")]


def test_a_partition_that_was_not_written_is_told(case, forge):
    batch = {name: data for name, data in case.batch.items() if not name.startswith("state/0/3/")}
    forge(Forged(case.checkpoint, batch))
    with pytest.raises(PlanError, match="has not led to what it should"):
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)


@pytest.mark.parametrize("name", ["offsets/6", "sources/0/9", "metadata"])
def test_a_query_that_writes_meanwhile_is_told(case, forge, name):
    spark = forge(Forged(case.checkpoint, case.batch))
    spark.meanwhile = lambda: (case.checkpoint / name).write_bytes(case.batch["offsets/5"])
    with pytest.raises((CheckpointBusyError, PlanError)) as raised:
        carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    assert str(case.checkpoint) in str(raised.value)
    assert state(case) == [("repartition", "interrupted")]


def test_a_query_that_plans_the_batch_first_is_told_and_nothing_was_written(case, forge):
    """It was running, whatever was said, and Spark finds its batch in the place of the repartition's."""
    spark = forge(Forged(case.checkpoint, {}, 0))
    entry = case.batch["offsets/5"].replace(
        b'"spark.sql.shuffle.partitions":"4"', b'"spark.sql.shuffle.partitions":"2"'
    )
    spark.meanwhile = lambda: (case.checkpoint / "offsets" / "5").write_bytes(entry)
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    with pytest.raises(CheckpointBusyError, match="has planned batch 5") as raised:
        carry_out(plan, case.stores)
    assert "Spark has written nothing" in str(raised.value)
    assert state(case) == [("repartition", "refused")]
    with pytest.raises(PlanError, match="batch 5 is planned and not committed"):
        make_repartition(case.stores, PARTITIONS, sink=case.sink)


def test_records_that_cannot_be_written_stop_it_before_spark_is_asked(case, forge, tmp_path):
    spark, place = forge(Forged(case.checkpoint, case.batch)), tmp_path / "records"
    place.write_text("a file, and no directory")
    stores, before = replace(case.stores, undo=Store.open(str(place))), case.files()
    with pytest.raises(StoreError) as raised:
        carry_out(make_repartition(stores, PARTITIONS, sink=case.sink), stores)
    assert str(place) in str(raised.value)
    assert (spark.requests, case.files()) == ([], before)


def test_a_batch_that_the_query_ran_after_a_kill_is_not_taken_for_the_repartition(case, forge):
    """Killed before Spark had planned anything; then the query ran, with the number of its batch."""
    forge(Forged(case.checkpoint, case.batch, 1))
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    with pytest.raises(SparkFailedError):
        carry_out(plan, case.stores)
    entry = case.batch["offsets/5"].replace(
        b'"spark.sql.shuffle.partitions":"4"', b'"spark.sql.shuffle.partitions":"2"'
    )
    (case.checkpoint / "offsets" / "5").write_bytes(entry)
    (case.checkpoint / "commits" / "5").write_bytes((case.checkpoint / "commits" / "4").read_bytes())
    ran = case.files()
    with pytest.raises(StalePlanError, match="expected a batch with 4 state partitions, found one with 2"):
        carry_out(plan, case.stores)
    undone = make_undo(case.stores, sink=case.sink)
    assert undone.actions == (), "what the query has written is not the change's to take back"
    carry_out(undone, case.stores)
    assert case.files() == ran


def test_what_a_query_has_written_since_is_named_and_dropped_by_an_undo(case, forge):
    forge(Forged(case.checkpoint, case.batch))
    carry_out(make_repartition(case.stores, PARTITIONS, sink=case.sink), case.stores)
    for log in ("offsets", "commits"):
        (case.checkpoint / log / "6").write_bytes((case.checkpoint / log / "5").read_bytes())
    plan = make_undo(case.stores, sink=case.sink)
    assert any("A query has written batch 6 since the repartition" in warning for warning in plan.warnings)
    assert plan.to_accept or plan.sink_effect == "exact"
    assert plan.batch_id == KEPT


def test_a_sink_that_was_not_declared_has_to_be_accepted(case, forge):
    forge(Forged(case.checkpoint, case.batch))
    stores = replace(case.stores, sink=None)
    plan = make_repartition(stores, PARTITIONS)
    assert plan.to_accept == ("unknown",)
    with pytest.raises(PlanError, match="--accept-sink unknown"):
        carry_out(plan, stores)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert case.sink_files().keys().isdisjoint({ENTRY})


def test_an_entry_that_would_compact_the_log_of_the_sink_is_refused(case):
    for log in ("offsets", "commits"):
        for batch in range(KEPT + 1, 9):
            (case.checkpoint / log / str(batch)).write_bytes((case.checkpoint / log / str(KEPT)).read_bytes())
    with pytest.raises(PlanError):
        make_repartition(case.stores, PARTITIONS, sink=case.sink)


def test_applied_again_it_says_so(case, forge):
    forge(Forged(case.checkpoint, case.batch))
    plan = make_repartition(case.stores, PARTITIONS, sink=case.sink)
    carry_out(plan, case.stores)
    assert carry_out(plan, case.stores).status == "already_applied"
    assert make_repartition(case.stores, PARTITIONS, sink=case.sink) == plan, "it is found, and not refused"
