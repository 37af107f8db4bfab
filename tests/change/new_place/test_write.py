"""Carrying out what writes a checkpoint to a new place, a restore and a seed alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointLockedError, ObjectExistsError, PlanError


class Killed(BaseException):
    """No handler of the program sees it."""


def killed_after(steps):
    def on_step(done, total, name):
        if done == steps:
            raise Killed

    return on_step


@pytest.mark.parametrize("part", [0.01, 0.5, 1], ids=["the first", "half", "the last"])
def test_a_change_that_was_killed_after_a_step_is_completed(writing, part):
    plan = writing.make()
    total = len(plan.actions)
    steps = max(1, int(total * part))
    with pytest.raises(Killed):
        writing.write(plan, on_step=killed_after(steps))
    assert [record.state for record in journal.history(writing.target)] == ["planned"]
    assert writing.make() == plan
    receipt = writing.write(plan)
    assert (receipt.status, receipt.actions) == ("applied" if steps < total else "already_applied", total - steps)
    assert [record.state for record in journal.history(writing.target)] == ["applied"]
    assert writing.target.find().keys() == plan.writes()


def test_what_was_done_is_said_to_be_done_whatever_its_query_has_written_since(writing):
    plan = writing.make()
    done = writing.write(plan)
    writing.target.write("offsets/77", b"of the query")
    receipt = writing.write(plan, by="ben")
    assert (receipt.status, receipt.actions, receipt.record) == ("already_applied", 0, done.record)


def test_who_says_no_name_leaves_no_record(writing):
    assert writing.write(writing.make(), by="").record == ""
    assert journal.history(writing.target) == ()


def test_two_runs_that_begin_at_the_same_moment_do_not_both_write(writing, monkeypatch):
    plan = writing.make()
    other = replace(plan, planned_at_ms=plan.planned_at_ms + 1)
    real = journal.begin

    def both(record, *args, **how):
        real(Stores(writing.target).record(other.plan_id), other, by="ben", at_ms=1, from_batch=None, number=1)
        real(record, *args, **how)

    monkeypatch.setattr(journal, "begin", both)
    with pytest.raises(CheckpointLockedError, match=f"another run began the same {writing.kind} at the same moment"):
        writing.write(plan)
    assert {record.plan.plan_id: record.state for record in journal.history(writing.target)} == {
        plan.plan_id: "refused",
        other.plan_id: "planned",
    }
    assert not writing.target.exists()


def overtaken(writing, monkeypatch, other) -> None:
    """Make the next call stop after its record is begun, until ``other`` has been carried out."""
    real = journal.begin

    def stopped(record, *args, **how):
        monkeypatch.setattr(journal, "begin", real)
        real(record, *args, **how)
        other()

    monkeypatch.setattr(journal, "begin", stopped)


def test_who_loses_the_place_to_another_plan_is_told_that_it_has_completed_here(writing, monkeypatch):
    """The files that are there are those of the other one, whose query can start from them."""
    plan, other = writing.make_another(), writing.make()
    overtaken(writing, monkeypatch, lambda: writing.write(other, by="ben"))
    said = f"the {writing.kind} {other.plan_id} \\(by ben\\) has completed here meanwhile"
    with pytest.raises(ObjectExistsError, match=said) as lost:
        writing.write(plan)
    assert lost.value.hint.startswith(f"Nothing of this {writing.kind} was written.")
    assert "start no query" not in lost.value.hint
    assert {record.plan.plan_id: record.state for record in journal.history(writing.target)} == {
        plan.plan_id: "refused",
        other.plan_id: "applied",
    }


def test_who_loses_the_place_to_the_same_plan_finds_it_carried_out(writing, monkeypatch):
    plan = writing.make()
    overtaken(writing, monkeypatch, lambda: writing.write(plan, by="ben"))
    assert writing.write(plan).status == "already_applied"
    assert [record.state for record in journal.history(writing.target)] == ["applied"]


def test_another_writer_is_noticed_and_the_error_says_what_is_left_and_how_to_go_on(writing):
    plan = writing.make()

    def on_step(done, total, name):
        writing.target.write("offsets/99", b"of a query")

    with pytest.raises(CheckpointBusyError, match=f"another process wrote this file during the {writing.kind}") as busy:
        writing.write(plan, on_step=on_step)
    assert busy.value.name == "offsets/99"
    assert f"of {len(plan.actions)} files are in {writing.target.location}: start no query from it" in busy.value.hint
    assert ("ckpt restore " if writing.kind == "restore" else "run the same command again") in busy.value.hint


def test_what_is_between_log_entries_is_on_the_disk_before_the_next_one_is(writing, monkeypatch):
    events = []
    real = type(writing.target).flush
    monkeypatch.setattr(type(writing.target), "flush", lambda store: (events.append("flush"), real(store)))
    plan = writing.make()
    writing.write(plan, by="", on_step=lambda done, total, name: events.append(name))
    before = events[: events.index(f"commits/{plan.batch_id}")]
    assert before[-1] == "flush" and "metadata" in before
    assert events[-1] == "flush"


def test_a_plan_of_another_kind_or_place_is_refused(writing):
    plan = writing.make()
    with pytest.raises(PlanError, match=f"this is the plan of a rollback, not of a {writing.kind}"):
        writing.write(replace(plan, kind="rollback"))
    with pytest.raises(PlanError, match="to s3://lake/elsewhere, not to this location"):
        writing.write(replace(plan, location="s3://lake/elsewhere"))
    assert not writing.target.exists()


def test_a_location_that_is_not_empty_any_more_is_refused(writing):
    plan = writing.make()
    writing.target.write("note.txt", b"mine")
    with pytest.raises(ObjectExistsError, match="the location is not empty"):
        writing.write(plan)
    assert writing.target.find().keys() == {"note.txt"}
