"""Who took away what is missing, and what has it: said by each command that misses it, as long as an undo has it."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.find_removed import find_removed, with_removed
from airflow_provider_ckpt.change.record.journal import survey
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.damage import cut, drop


def roll_back(checkpoint, *targets: int) -> list[str]:
    """The ids of the changes of one rollback after the other."""
    stores = Stores(Store.open(str(checkpoint)))
    plans = []
    for target in targets:
        plan = make_rollback(stores, target)
        apply(plan, stores, by="t", query_is_stopped=True, accept_sink=("unknown", "skipped", "duplicated"), quiet_s=0)
        plans.append(plan.plan_id)
    return plans


@pytest.fixture
def checkpoint(golden):
    return golden("file-to-parquet-5")


def test_commands_that_miss_a_batch_say_which_rollback_removed_it(checkpoint, capsys):
    (plan,) = roll_back(checkpoint, 2)
    said = f"offsets/4 was removed by the rollback {plan}; ckpt undo {checkpoint} has it."
    for command in (["log", str(checkpoint), "--batch", "4"], ["rollback", str(checkpoint), "--to-batch", "4"]):
        assert run(command) != 0
        assert said in " ".join(capsys.readouterr().err.split()), command
    run(["explain", f"FileNotFoundException: File file:{checkpoint}/offsets/4 does not exist", str(checkpoint)])
    assert f"; ckpt undo {checkpoint} has it.".replace(" ", "") in "".join(capsys.readouterr().out.split())


def test_an_undo_reaches_it_after_the_later_changes(checkpoint):
    first, _ = roll_back(checkpoint, 3, 2)
    store = Store.open(str(checkpoint))
    assert find_removed(store, ["offsets/4"]) == (
        f"offsets/4 was removed by the rollback {first}; ckpt undo {checkpoint} has it, after 1 later change."
    )


def test_what_came_back_and_what_was_never_removed_are_not_told(checkpoint):
    roll_back(checkpoint, 3)
    stores = Stores(Store.open(str(checkpoint)))
    assert find_removed(stores.checkpoint, ["offsets/1", "offsets/9"]) == ""
    apply(make_undo(stores), stores, by="t", query_is_stopped=True, accept_sink=("unknown", "skipped"), quiet_s=0)
    assert find_removed(stores.checkpoint, ["offsets/4"]) == ""


def test_saved_files_that_were_deleted_for_good_are_not_promised(checkpoint):
    (plan,) = roll_back(checkpoint, 3)
    store = Store.open(str(checkpoint))
    run(["history", str(checkpoint), "--forget", plan, "--execute"])
    assert find_removed(store, ["offsets/4"]) == (
        f"offsets/4 was removed by the rollback {plan}, and no undo has it any more (ckpt history --forget)."
    )


def test_records_that_cannot_be_read_say_nothing(checkpoint):
    roll_back(checkpoint, 3)
    ((record,), _) = survey(Store.open(str(checkpoint)))
    shutil.copytree(record.location, f"{record.location}x")
    shutil.rmtree(record.location)
    assert find_removed(Store.open(str(checkpoint)), ["offsets/4"]) == ""


def test_a_finding_on_a_file_that_is_there_stays_as_it_is(checkpoint):
    (plan,) = roll_back(checkpoint, 3)
    found = [Finding("CKPT110", "error", "m", 4, name, "Hint.") for name in ("offsets/4", "offsets/3", None)]
    told = with_removed(found, Store.open(str(checkpoint)), {"offsets/3"})
    assert [item.hint for item in told] == [
        f"offsets/4 was removed by the rollback {plan}; ckpt undo {checkpoint} has it. Hint.", "Hint.", "Hint.",
    ]  # fmt: skip


def test_what_an_undo_has_put_back_damaged_was_not_removed_by_it(checkpoint):
    """The salvage has replaced a commit that was cut off, and its undo gives back every byte."""
    drop(checkpoint / "commits/4")
    cut(checkpoint / "commits/3")
    stores = Stores(Store.open(str(checkpoint)))
    accepted = ("unknown", "skipped", "duplicated")
    apply(make_salvage(stores), stores, by="t", query_is_stopped=True, accept_sink=accepted, quiet_s=0)
    undo = make_undo(stores)
    apply(undo, stores, by="t", query_is_stopped=True, accept_sink=accepted, quiet_s=0)
    assert "commits/3" in undo.writes()
    assert find_removed(stores.checkpoint, ["commits/3"]) == f"commits/3 was put back by the undo {undo.plan_id}."
