"""What a repair writes for each kind of hole: the bytes that Spark wrote, where that is proven, and never a guess."""

from __future__ import annotations

import os
import shutil
import time

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.make_plan import make_anew
from airflow_provider_ckpt.changes.repair.decision import parse_decisions
from airflow_provider_ckpt.changes.repair.make import RepairRequest, make_repair
from airflow_provider_ckpt.changes.restore.make import fork_id, make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair import fake_table
from tests.changes.repair.fake_table import FakeTable, at_ms, part, written


@pytest.fixture
def table(tmp_path) -> FakeTable:
    """Twenty-four batches; 9 and 19 compact the log."""
    return FakeTable(tmp_path).run(24)


@pytest.mark.parametrize(
    "gone",
    [
        ("21",),
        ("19.compact",),
        ("19.compact", "20", "23"),
        ("22", "23"),
        ("9.compact", "19.compact"),
        ("12", "19.compact"),
        (),
    ],
    ids=lambda gone: " ".join(gone) or "all",
)
def test_what_the_times_prove_is_written_as_spark_wrote_it(table, gone):
    before = table.forget(*gone)
    plan = table.repair()
    assert plan.sink_effect == "exact"
    new = written(plan)
    assert new == {name: before[name] for name in new}
    assert set(new) >= {name for name in gone or before if int(name.partition(".")[0]) >= 19}
    assert list(new) == sorted(new, key=lambda name: -int(name.partition(".")[0])), "the newest first"


@pytest.mark.parametrize("gone", [("19.compact",), ("19.compact", "12", "31"), ("19.compact", "29.compact")])
def test_a_compacted_entry_by_which_spark_takes_a_wrong_interval_goes(gone, tmp_path):
    """Of 9, 19 and 29 the second is lost: Spark takes 20 for the interval, and does not find the entry 29."""
    table = FakeTable(tmp_path).run(34)
    before = table.forget(*gone)
    plan = table.repair()
    new = written(plan)
    assert (plan.sink_effect, new) == ("exact", {name: before[name] for name in new})
    assert set(new) == set(gone) - {"19.compact", "12"}
    assert (plan.actions[-1].do, plan.actions[-1].name) == ("delete", "_spark_metadata/9.compact")
    assert plan.notes[-1].startswith("_spark_metadata/9.compact is removed")
    apply(plan, table.stores, query_is_stopped=True, quiet_s=0)
    assert table.repair().actions == ()


def test_a_whole_log_needs_no_step(table):
    plan = table.repair()
    assert (plan.actions, plan.sink_effect) == ((), "exact")


def test_holes_before_the_newest_compaction_are_read_by_nobody(table):
    table.forget("3", "11")
    assert table.repair().actions == ()


@pytest.mark.parametrize(("copy", "over"), [("21", "22"), ("12", "23")], ids=["a later one", "a compacted one"])
def test_an_entry_with_the_content_of_another_is_named_and_not_built_upon(table, copy, over):
    """What it named before is known to nobody, and readers would get the rows of the other batch twice."""
    (table.log / over).write_text(table.entries[copy])
    with pytest.raises(PlanError, match="name the same data file") as caught:
        table.repair()
    assert (caught.value.name, caught.value.batch_id) == (f"_spark_metadata/{over}", int(over))
    (table.log / over).unlink()
    assert table.repair().sink_effect == "exact"


def test_entries_that_spark_cannot_read_are_replaced(table):
    before = table.entries
    (table.log / "19.compact").write_text(before["19.compact"][:300])
    (table.log / ".19.compact.crc").write_bytes(b"crc\0")
    (table.log / "21").write_text("")
    plan = table.repair()
    assert [(action.do, action.name.partition("/")[2]) for action in plan.actions] == [
        ("replace", "21"), ("delete", ".19.compact.crc"), ("replace", "19.compact"),
    ]  # fmt: skip
    assert written(plan) == {name: before[name] for name in ("21", "19.compact")}


def test_of_a_task_that_ran_twice_the_later_file_is_taken_and_not_proven(table):
    table.attempt(21, number=7, second=1, tasks=1)
    before = table.forget("21")
    plan = table.repair()
    assert (plan.to_accept, written(plan)) == (("unknown",), {"21": before["21"]})
    assert "and not 1 of an earlier attempt" in plan.notes[0]


def test_the_task_of_a_killed_driver_that_writes_while_a_later_batch_runs_is_no_file_of_that_batch_by_right(table):
    """Its attempt has left another file in the batch that it was of."""
    table.attempt(20, number=7, second=1, tasks=1)
    table.data(part(21, 5, 9), 21, 6)
    table.forget("21")
    plan = table.repair()
    assert plan.to_accept == ("unknown",)
    assert f"{part(20, 0, 7)} is of an attempt that was not committed" in plan.effects[0].reason
    (table.output / part(20, 0, 7)).unlink()
    (table.output / part(21, 5, 9)).unlink()
    assert table.repair().sink_effect == "exact"


def test_what_somebody_adopts_is_of_no_other_attempt(table):
    table.data(part(21, 5, 9), 21, 1)
    table.forget("21", "22")
    assert (
        table.repair(parse_decisions([f"21={part(21, 5, 9)}"], []))
        .notes[1]
        .startswith("Batch 22 gets 2 data files that the")
    )


def test_a_file_before_that_of_the_first_task_may_be_of_an_attempt_that_failed(table):
    table.data(part(21, 5, 9), 21, 1)
    table.forget("21")
    plan = table.repair()
    assert plan.to_accept == ("unknown",)
    assert "their rows then come twice" in plan.effects[0].reason
    assert written(plan)["21"].count("part-") == 3


def test_files_of_killed_writers_and_of_no_task_are_left_out(table):
    table.data(part(21, 6), 21, 5, b"PAR1 and no end")
    table.data("notes.parquet", 21, 5)
    table.data("_temporary/part-00000-7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10-c000.parquet", 21, 5)
    before = table.forget("21")
    assert written(table.repair()) == {"21": before["21"]}


def test_a_batch_whose_files_are_gone_gets_none_and_says_so(table):
    table.forget("21")
    for task in (0, 1):
        (table.output / part(21, task)).unlink()
    plan = table.repair()
    assert (plan.to_accept, written(plan)) == (("skipped",), {"21": "v1"})
    assert "readers do not get them" in plan.effects[0].reason


def test_a_partitioned_table_proves_nothing(tmp_path):
    table = FakeTable(tmp_path)
    for batch_id in range(3):
        table.plan(batch_id)
        names = [table.data(f"day={task}/{part(batch_id, 0, task)}", batch_id, 2 + task) for task in (1, 2)]
        table.commit(batch_id, names)
    before = table.forget("1")
    plan = table.repair()
    assert (plan.to_accept, written(plan)) == (("unknown",), {"1": before["1"]})


def test_a_repartition_is_empty_by_right(tmp_path):
    table = FakeTable(tmp_path).run(3)
    table.plan(3, partitions=5)
    table.commit(3, [])
    table.plan(4, partitions=5)
    table.attempt(4)
    table.commit(4)
    before = table.forget("3")
    assert before["3"] == "v1"
    plan = table.repair()
    assert (plan.sink_effect, written(plan)) == ("exact", {"3": "v1"})


def test_the_batch_in_flight_is_spark_s_to_write(table):
    table.plan(24)
    table.attempt(24, number=1)
    before = table.forget("23")
    plan = table.repair()
    assert (plan.sink_effect, written(plan), plan.last_kept) == ("exact", {"23": before["23"]}, 24)


# --- what is not proven ----------------------------------------------------------------------------------------------


def copied_checkpoint(table: FakeTable) -> None:
    for path in (table.checkpoint / "commits").iterdir():
        os.utime(path, ns=(at_ms(500) * 1_000_000,) * 2)


def copied_output(table: FakeTable) -> None:
    for path in table.output.glob("part-*"):
        os.utime(path, ns=(at_ms(500) * 1_000_000,) * 2)


def purged(table: FakeTable) -> None:
    for batch_id in range(22):
        (table.checkpoint / f"offsets/{batch_id}").unlink()
        (table.checkpoint / f"commits/{batch_id}").unlink()


def shared_time(table: FakeTable) -> None:
    table.data(part(21, 9), 22, 0)
    os.utime(table.checkpoint / "commits/21", ns=(at_ms(22) * 1_000_000,) * 2)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (copied_checkpoint, "the checkpoint was copied or restored, for commits/20 was not written"),
        (copied_output, "the output directory was copied, for part-"),
        (purged, "the checkpoint does not have its entries any more"),
        (shared_time, "was written at a time at which the batches 21 and 22 may have run"),
    ],
)
def test_what_is_not_proven_is_asked(table, spoil, why):
    spoil(table)
    table.forget("21")
    with pytest.raises(PlanError, match="it is not proven which data files are theirs") as refused:
        table.repair()
    assert why in refused.value.message
    assert refused.value.batch_id == 21
    for option in ("--adopt 21", "--empty 21", "--copy", "--trim-sink-log"):
        assert option in (refused.value.hint or "")
    plan = table.repair(parse_decisions([], ["21"]))
    assert (plan.to_accept, written(plan)) == (("skipped",), {"21": "v1"})
    names = [part(21, task) for task in (0, 1)]
    plan = table.repair(parse_decisions([f"21={name}" for name in names], []))
    assert plan.to_accept == ("unknown",)
    assert [name in written(plan)["21"] for name in names] == [True, True]


def test_the_time_of_a_restored_commit_is_not_that_of_its_batch(table, tmp_path, monkeypatch):
    """It lies between the times of both batches all the same; other attempts may have written until the restore."""
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "restored"))
    sinks = [(Sink("file", str(table.output)), table.stores.sink)]
    plan = make_restore(root, take_backup(table.stores.checkpoint, root, commit_wait_s=0), target, sinks=sinks)
    restore(plan, root, target, by="somebody", accept_sink=plan.to_accept, sinks=sinks)
    table.checkpoint = tmp_path / "restored"
    monkeypatch.setattr(fake_table, "START_MS", time.time_ns() // 1_000_000)
    table.plan(24)
    table.attempt(24)
    table.commit(24)
    table.forget("23")
    with pytest.raises(PlanError, match=f"commits/23 was written by the restore {plan.plan_id}"):
        table.repair()


def test_files_of_one_task_by_name_come_twice(table):
    table.attempt(21, number=7, second=1, tasks=1)
    table.forget("21")
    names = [f"21={name}" for name in (part(21, 0), part(21, 0, 7), part(21, 1))]
    plan = table.repair(parse_decisions(names, []))
    assert plan.to_accept == ("duplicated",)
    assert "their rows come twice" in plan.effects[0].reason


def test_all_before_the_first_batch_that_the_checkpoint_has_are_decided_about_together(table):
    purged(table)
    before = table.forget()
    with pytest.raises(PlanError) as refused:
        table.repair()
    assert (refused.value.batch_id, "batches 0 to 21" in refused.value.message) == (21, True)
    plan = table.repair(parse_decisions(["21"], []))
    assert plan.to_accept == ("unknown",)
    assert table.repair(parse_decisions(["3"], [])).actions == plan.actions, "by any of them"
    with pytest.raises(PlanError, match="batches 0 to 21 are decided about together"):
        table.repair(parse_decisions(["3"], ["5"]))
    new = written(plan)
    assert list(new) == ["23", "22", "21", "20", "19.compact"]
    assert (new["20"], new["21"], new["22"]) == ("v1", "v1", before["22"])
    named = {line for data in new.values() for line in data.split("\n")}
    assert named == {line for name in ("19.compact", "20", "21", "22", "23") for line in before[name].split("\n")}


@pytest.mark.parametrize(
    ("adopt", "empty", "why"),
    [
        (["21=part-x.parquet"], [], "it is no whole data file"),
        ([f"21={part(20, 0)}"], [], "that no entry names"),
        ([], ["20"], "nothing is to be decided about batch 20"),
        (["3"], [], "nothing is to be decided about batch 3"),
    ],
)
def test_decisions_about_something_else_are_refused(table, adopt, empty, why):
    table.forget("21")
    with pytest.raises(PlanError, match=why):
        table.repair(parse_decisions(adopt, empty))


def test_two_batches_cannot_adopt_the_same_files(table):
    table.forget("21", "22")
    copied_checkpoint(table)
    with pytest.raises(PlanError, match="the batches 21 and 22 cannot both adopt"):
        table.repair(parse_decisions(["21", "22"], []))


# --- copies, other sinks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", [("21",), ("19.compact", "20"), ("19.compact",)], ids=" ".join)
def test_entries_come_from_a_copy(table, tmp_path, gone):
    copied_checkpoint(table)
    copy = table.copied(tmp_path / "copy")
    before = table.forget(*gone)
    plan = table.repair(copy=copy)
    assert (plan.sink_effect, written(plan)) == ("exact", {name: before[name] for name in reversed(gone)})
    assert plan.source == str(copy)
    stores = table.stores.for_plan(plan, type(table.stores.checkpoint).open)
    assert make_anew(RepairRequest.of(plan, stores), stores).actions == plan.actions


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda table, copy: (copy / "20").write_text("v1"), "is not a copy of this log"),
        (lambda table, copy: (table.output / part(21, 0)).unlink(), "which is not there"),
        (lambda table, copy: (copy / "21").write_text(""), "it is not proven"),
    ],
)
def test_another_copy_is_refused(table, tmp_path, spoil, why):
    copied_checkpoint(table)
    copy = table.copied(tmp_path / "copy")
    table.forget("21")
    spoil(table, copy)
    with pytest.raises(PlanError, match=why):
        table.repair(copy=copy)


def test_the_sink_of_another_query_is_refused(table, tmp_path):
    other = FakeTable(tmp_path / "other").run(3)
    other.output, other.log = table.output, table.log
    with pytest.raises(PlanError, match="does not fit the query"):
        other.repair()
    behind = FakeTable(tmp_path / "behind").run(30)
    behind.forget()
    behind.checkpoint.joinpath("commits/29").touch()  # the times prove nothing any more
    (behind.output / "notes.txt").write_text("of somebody else")
    for path in behind.output.glob("part-*"):
        path.unlink()
    with pytest.raises(PlanError, match="has no log of batches"):
        behind.repair()


def test_an_empty_directory_contradicts_nothing_and_proves_nothing(tmp_path):
    table = FakeTable(tmp_path).run(13)
    table.forget()
    for path in table.output.glob("part-*"):
        path.unlink()
    plan = table.repair()
    assert written(plan) == dict.fromkeys(("12", "11", "10", "9.compact"), "v1")
    assert plan.sink_effect == "unknown"
    (note,) = plan.notes
    assert note.startswith("Batches 0 to 12 get no file, because the directory is empty: ")


def forked(tmp_path, *, into: FakeTable | None = None) -> FakeTable:
    """A fork of a query after batch 12, whose sink was not declared; ``into`` is the directory of the original."""
    original = FakeTable(tmp_path / "original").run(13)
    fork = FakeTable(tmp_path / "fork")
    shutil.rmtree(fork.checkpoint)
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(fork.checkpoint))
    taken = take_backup(Store.open(str(original.checkpoint)), root)
    restore(make_restore(root, taken, target, fork_id(taken, target)), root, target, by="me", accept_sink="unknown")
    if into is None:
        return fork
    fork.output, fork.log = original.output, original.log
    original.forget()
    return fork


def test_what_a_fork_has_not_written_is_no_loss_of_its_sink(tmp_path):
    """The command of CKPT141: readers and the next compaction then find each entry that they search for."""
    fork = forked(tmp_path)
    plan = fork.repair()
    assert written(plan) == dict.fromkeys(("12", "11", "10", "9.compact"), "v1")
    assert plan.sink_effect == "exact"
    assert "this query began as a fork after batch 12" in plan.notes[0]
    apply(plan, fork.stores, query_is_stopped=True, quiet_s=0)
    (fork.log / "11").unlink()
    assert (written(again := fork.repair()), again.sink_effect) == ({"11": "v1"}, "exact")


def test_in_the_directory_of_the_original_nothing_is_taken_for_a_stranger_s(tmp_path):
    fork = forked(tmp_path, into=FakeTable(tmp_path / "unused"))
    with pytest.raises(PlanError):
        fork.repair()


def test_a_table_that_was_moved_is_refused(table, tmp_path):
    moved = table.output.rename(tmp_path / "moved")
    table.output, table.log = moved, moved / "_spark_metadata"
    table.forget("21")
    with pytest.raises(PlanError, match="the table was moved"):
        table.repair()


@pytest.mark.parametrize("sink", [Sink("kafka"), Sink("delta", "/x"), Sink("file", "/x")])
def test_only_a_file_sink_has_a_log(table, sink):
    stores = table.stores
    if sink.kind == "file":
        stores = type(stores)(stores.checkpoint)
    with pytest.raises(PlanError, match="has no log that ckpt can repair"):
        make_repair(stores, sink)


def test_entries_of_no_interval_are_refused(table):
    (table.log / "9.compact").rename(table.log / "8.compact")
    with pytest.raises(PlanError, match="fit no one interval") as refused:
        table.repair()
    assert "--compact-interval" in (refused.value.hint or "")


def test_another_interval_is_known_by_the_names_or_said(tmp_path):
    table = FakeTable(tmp_path, interval=4).run(10)
    before = table.forget("7.compact")
    assert written(table.repair()) == {"7.compact": before["7.compact"]}
    before |= table.forget()
    plan = table.repair(parse_decisions([], [], 4))
    assert list(written(plan)) == ["9", "8", "7.compact"]
    assert written(plan)["7.compact"] == before["7.compact"]


# --- carried out -----------------------------------------------------------------------------------------------------


def test_it_is_carried_out_once(table):
    before = table.forget("21", "19.compact")
    (table.log / ".21.crc").write_bytes(b"crc\0")
    plan = table.repair()
    receipt = apply(plan, table.stores, query_is_stopped=True, quiet_s=0)
    assert (receipt.status, receipt.actions) == ("applied", 3)
    assert table.entries == before
    assert apply(plan, table.stores, query_is_stopped=True, quiet_s=0).status == "already_applied"
    assert table.repair().actions == ()
