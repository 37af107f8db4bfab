"""Plans as JSON: what one version wrote reads in the next, and nothing else passes for a plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ckpt.change.plan.actions import Close, Copy, Delete, Open, Replace
from airflow_provider_ckpt.change.plan.facts import Facts
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.change.plan.requirements import (
    EmptyLocation,
    FromBackup,
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    SameQuery,
    WriterStopped,
)
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.change.plans import CLOSED_UNDO, REPARTITION, RESET, RESTORE, ROLLBACK, SHA, UNDO


def test_a_plan_without_a_trigger_has_the_id_that_it_had_before_there_were_any():
    assert "trigger" not in ROLLBACK.to_dict()
    said = replace(ROLLBACK, trigger="realTime")
    assert said.plan_id != ROLLBACK.plan_id and plan_from_dict(said.to_dict()) == said


def test_a_reset_without_what_was_asked_has_the_id_that_it_had_before():
    assert "asked" not in RESET.to_dict()
    said = replace(RESET, asked="0123456789abcdef")
    assert said.plan_id != RESET.plan_id and plan_from_dict(said.to_dict()) == said


@pytest.mark.parametrize("plan", [ROLLBACK, UNDO, CLOSED_UNDO, RESTORE, REPARTITION, RESET], ids=lambda plan: plan.kind)
def test_what_was_written_reads_back_with_the_same_id(plan):
    again = plan_from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan and again.plan_id == plan.plan_id


Change = Callable[[dict[str, Any]], Any]


def having(**fields: Any) -> Change:
    return lambda plan: plan.update(fields)


def action(number: int, **fields: Any) -> Change:
    return lambda plan: plan["actions"][number].update(fields)


def requirement(number: int, **fields: Any) -> Change:
    return lambda plan: plan["requirements"][number].update(fields)


NO_PLANS: dict[str, tuple[Change, str]] = {
    "an unknown kind": (having(kind="purge"), "'kind' of the plan"),
    "a kind that is a list": (having(kind=["rollback"]), "'kind' of the plan"),
    "an unknown field": (having(force=True), "unknown field 'force'"),
    "a trigger that there is not": (having(trigger="realtime"), "'trigger' of the plan is 'realtime'"),
    "a field is missing": (lambda plan: plan.pop("notes"), "lacks 'notes'"),
    "a batch that is text": (having(batch_id="3"), "'batch_id' of the plan is '3'"),
    "a batch that is true": (having(batch_id=True), "'batch_id' of the plan is True"),
    "a batch that is 3.0": (having(batch_id=3.0), "'batch_id' of the plan is 3.0"),
    "a batch below zero": (having(batch_id=-1), "'batch_id'"),
    "a batch past Java's long": (having(batch_id=1 << 63), "too large"),
    "a batch of 5000 digits": (having(batch_id=10**4300), "too large"),
    "no location": (having(location=""), "no location"),
    "a location of a megabyte": (having(location="x" * 1_000_000), "at most 4096 characters"),
    "warnings that are one text": (having(warnings="abc"), "'warnings' of the plan"),
    "warnings that are numbers": (having(warnings=[1]), "list of texts"),
    "requirements that are an object": (having(requirements={}), "'requirements'"),
    "a requirement that is text": (lambda plan: plan["requirements"].append("x"), "a requirement is 'x'"),
    "an unknown requirement": (requirement(0, kind="no_such_requirement"), "'kind' of a requirement"),
    "a requirement without what it expects": (lambda plan: plan["requirements"][0].pop("expected"), "lacks 'expected'"),
    "a requirement that expects a number": (requirement(0, expected=3), "'expected' of a requirement is 3"),
    "the writer need not be stopped": (requirement(4, expected="no"), "not one of yes"),
    "the word that the writer is stopped is left out": (
        lambda plan: plan["requirements"].pop(4),
        "does not have the requirement writer_stopped",
    ),
    "what is left alone may change": (
        lambda plan: plan["requirements"].pop(3),
        "does not have the requirement kept_objects",
    ),
    "the same requirement twice": (
        lambda plan: plan["requirements"].append({"kind": "query_id", "expected": "other"}),
        "it has the requirement query_id twice",
    ),
    "a requirement of a restore": (
        lambda plan: plan["requirements"].append({"kind": "location", "expected": "empty"}),
        "cannot have the requirement location",
    ),
    "a sink log that need not be the same": (
        lambda plan: plan["requirements"].pop(5),
        "the log of the sink, or neither",
    ),
    "an unknown step": (action(0, do="move"), "'do' of an action is 'move'"),
    "a step that is null": (lambda plan: plan["actions"].append(None), "an action is None"),
    "a step with another field": (action(0, recursive=True), "unknown field 'recursive'"),
    "a step without its name": (lambda plan: plan["actions"][0].pop("name"), "lacks 'name'"),
    "a step in an unknown place": (action(0, place="backup"), "'place' of an action"),
    "a step that climbs": (action(0, name="../other/offsets/1"), "not a name inside"),
    "a step at the root": (action(0, name="/etc/passwd"), "not a name inside"),
    "a step without a name": (action(0, name=""), "not a name inside"),
    "a copy from outside": (action(2, source="b/../../secret"), "not a name inside"),
    "a copy from nowhere": (action(2, source=""), "does not say where"),
    "a hash that is none": (action(2, sha256="abc"), "SHA-256 in hex"),
    "a size below zero": (action(0, size=-1), "'size' of an action"),
    "a delete of anything that has the name": (action(0, identity=""), "does not say which content is to be deleted"),
    "a delete with content": (action(0, data="x"), "fields of another action"),
    "a create in a rollback": (
        action(2, do="create", data="x", size=1, sha256="", source=""),
        "a rollback cannot have a step of the type 'create'",
    ),
    "the same step twice": (lambda plan: plan["actions"].append(plan["actions"][0]), "it has the step delete"),
    "removed and written without a backup": (
        lambda plan: (action(2, name="commits/5")(plan), plan["requirements"].pop()),
        "it removes and writes",
    ),
    "and then removes it": (
        lambda plan: (action(2, name="commits/5")(plan), plan["actions"].reverse()),
        "and then removes it",
    ),
    "a step in a sink that is not named": (
        lambda plan: (plan.update(sink=""), plan["requirements"].pop(5)),
        "the plan has no sink",
    ),
    "a copy without a source of the plan": (having(source=""), "does not say where"),
    "a rollback that undoes": (having(undoes="0123456789abcdef"), "cannot undo another plan"),
    "an unknown effect": (lambda plan: plan["verdicts"][0].update(verdict="fine"), "'verdict' of a sink effect"),
}


@pytest.mark.parametrize(("change", "problem"), NO_PLANS.values(), ids=NO_PLANS)
def test_what_is_no_plan_is_refused(change, problem):
    fields = json.loads(json.dumps(ROLLBACK.to_dict()))
    change(fields)
    with pytest.raises(PlanError, match="not a plan:") as refused:
        plan_from_dict(fields)
    assert problem in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("value", [None, 7, "rollback", [], {}, {"kind": "rollback"}])
def test_anything_else_is_refused(value):
    with pytest.raises(PlanError, match="not a plan:"):
        plan_from_dict(value)


@pytest.mark.parametrize("field", ["identity", "sha256"])
def test_a_replace_says_which_content_it_replaces(field):
    fields = RESET.to_dict()
    fields["actions"][1][field] = ""
    with pytest.raises(PlanError, match="does not say which content is to be replaced"):
        plan_from_dict(fields)


def test_an_undo_names_what_it_undoes():
    with pytest.raises(PlanError, match="not an id of a plan"):
        plan_from_dict({**UNDO.to_dict(), "undoes": "../x"})


# --- requirements ---------------------------------------------------------------------------------------------------


def stored(name: str, identity: str = "etag", size: int = 4) -> StoredObject:
    return StoredObject(name, size, 1, identity)


FACTS = Facts("q", 5, 6, {"checkpoint": {"offsets/3": stored("offsets/3")}})
HOLDING = Facts(
    "q",
    5,
    6,
    {"checkpoint": {}, "sink": {}},
    writer_stopped=True,
    backup_id="b",
)
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
REQUIREMENTS = {
    SameQuery("q"): (replace(HOLDING, query_id=None), "expected q, found none"),
    LatestCommitted("5"): (replace(HOLDING, latest_committed=6), "expected 5, found 6"),
    LatestPlanned("6"): (replace(HOLDING, latest_planned=None), "expected 6, found none"),
    KeptObjects(EMPTY): (replace(HOLDING, objects=FACTS.objects), f"expected {EMPTY}, found "),
    KeptSinkLog(EMPTY): (replace(HOLDING, objects={"checkpoint": {}}), "found no sink"),
    WriterStopped(): (replace(HOLDING, writer_stopped=False), "expected yes, found no"),
    FromBackup("b"): (replace(HOLDING, backup_id=None), "was deleted after the plan was made"),
    EmptyLocation(): (replace(HOLDING, objects=FACTS.objects), "expected no file, found offsets/3"),
}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda item: item.kind)
def test_a_requirement_says_what_it_expected_and_what_it_found(requirement):
    other, problem = REQUIREMENTS[requirement]
    assert requirement.check(HOLDING) is None
    assert problem in requirement.check(other)


def test_a_plan_that_has_begun_has_moved_the_newest_batches_itself():
    begun = replace(HOLDING, resuming=True, latest_committed=3, latest_planned=3, backup_id=None)
    assert LatestCommitted("5").check(begun) is LatestPlanned("6").check(begun) is FromBackup("b").check(begun) is None


# --- actions --------------------------------------------------------------------------------------------------------

THERE, OTHER, NOTHING = "the object", "another object", "nothing"
DELETE, COPY = Delete("offsets/4", size=4, identity="etag"), Copy("offsets/4", size=4, sha256=SHA, source="s")


def facts_of(what: str, *actions: Delete | Copy, resuming: bool) -> Facts:
    """Facts where one object stands: the one to delete, the one that is written, another one, or none."""
    identity = {THERE: "etag", "what is written": "put"}.get(what, "other")
    objects = {} if what == NOTHING else {"offsets/4": stored("offsets/4", identity)}
    return Facts(
        "q",
        5,
        6,
        {"checkpoint": objects},
        {item.spot: item.identity for item in actions if isinstance(item, Delete)},
        {item.spot: item.sha256 for item in actions if isinstance(item, Copy)},
        resuming,
        sha256_of=lambda place, name: SHA if identity == "put" else "other",
    )


@pytest.mark.parametrize(
    ("actions", "what", "resuming", "done", "problem"),
    [
        ((DELETE,), THERE, False, [False], [None]),
        ((DELETE,), NOTHING, False, [True], ["expected etag, found no such object"]),
        ((DELETE,), NOTHING, True, [True], [None]),
        ((DELETE,), OTHER, True, [False], ["expected etag, found other"]),
        ((COPY,), NOTHING, False, [False], [None]),
        ((COPY,), OTHER, False, [True], ["expected no object, found other"]),
        ((COPY,), "what is written", True, [True], [None]),
        ((DELETE, COPY), THERE, False, [False, False], [None, None]),
        ((DELETE, COPY), NOTHING, True, [True, False], [None, None]),
        ((DELETE, COPY), "what is written", True, [True, True], [None, None]),
        ((DELETE, COPY), "what is written", False, [True, True], ["expected etag, found put", None]),
        ((DELETE, COPY), OTHER, True, [True, False], ["expected etag, found other", None]),
    ],
)
def test_an_action_knows_whether_it_is_done_and_whether_it_is_stale(actions, what, resuming, done, problem):
    """A delete and a copy of one name: what a query wrote since goes, and what had been there comes back."""
    facts = facts_of(what, *actions, resuming=resuming)
    assert [item.is_done(facts) for item in actions] == done
    assert [item.problem(facts) for item in actions] == problem


def test_what_is_to_be_deleted_is_not_what_is_to_come_though_it_has_its_bytes():
    """A batch that ran again has written the commit that it had before."""
    facts = replace(facts_of(THERE, DELETE, COPY, resuming=False), sha256_of=lambda place, name: SHA)
    assert (DELETE.is_done(facts), COPY.is_done(facts)) == (False, False)


REPLACE = Replace("offsets/4", size=4, identity="etag", sha256_before=SHA, data="v1")


@pytest.mark.parametrize(
    ("identity", "content", "resuming", "done", "problem"),
    [
        ("etag", "before", False, False, None),
        ("etag", "before", True, False, None),
        ("put", "after", True, True, None),
        ("put", "after", False, True, "expected etag, found put"),
        ("put", "other", True, False, "expected etag, found put"),
        ("", "", True, False, "expected etag, found no such object"),
    ],
)
def test_a_replace_finds_what_was_there_or_what_it_has_made_of_it(identity, content, resuming, done, problem):
    size = REPLACE.new_size if content != "before" else REPLACE.size
    objects = {"offsets/4": stored("offsets/4", identity, size)} if identity else {}
    facts = Facts(
        "q",
        5,
        6,
        {"checkpoint": objects},
        written={REPLACE.spot: REPLACE.sha256},
        resuming=resuming,
        sha256_of=lambda place, name: REPLACE.sha256 if content == "after" else SHA,
    )
    assert (REPLACE.is_done(facts), REPLACE.problem(facts)) == (done, problem)


def test_a_copy_that_cannot_be_verified_is_refused():
    copy = Copy("offsets/4", size=4, source="s")
    assert "SHA-256" in copy.problem(facts_of(NOTHING, copy, resuming=False))


# --- a checkpoint that is closed --------------------------------------------------------------------------------------

CLOSE, EDIT, REMOVE, OPEN = CLOSED_UNDO.actions


@pytest.mark.parametrize(
    "steps",
    [
        (CLOSE, EDIT, REMOVE),
        (EDIT, REMOVE, OPEN),
        (EDIT, CLOSE, OPEN),
        (CLOSE, OPEN, EDIT),
        (OPEN, EDIT, CLOSE),
        (CLOSE, EDIT, Open("offsets/8")),
        (CLOSE, EDIT, OPEN, Close("offsets/8"), REMOVE, Open("offsets/8")),
    ],
    ids=lambda steps: " ".join(step.do for step in steps),
)
def test_a_plan_closes_the_checkpoint_around_all_its_steps_or_not_at_all(steps):
    with pytest.raises(PlanError, match="must be the first step, and what opens it again the last"):
        plan_from_dict(replace(CLOSED_UNDO, actions=steps).to_dict())


@pytest.mark.parametrize("step", [Close("commits/7"), Open("state/0/0/7.delta"), Close("offsets/7", "sink")])
def test_only_an_offset_entry_closes_a_checkpoint(step):
    with pytest.raises(PlanError, match="not an offset entry"):
        plan_from_dict(replace(CLOSED_UNDO, actions=(step, EDIT, Open(step.name, step.place))).to_dict())


def facts_after(*done: object, closed: bool) -> Facts:
    """What is there when some steps of CLOSED_UNDO are done; the checkpoint is closed or not."""
    own = {"offsets/7": CLOSE.sha256, "offsets/5": EDIT.sha256}
    objects = {
        "offsets/5": StoredObject("offsets/5", 2 if EDIT in done else 4, None, "new" if EDIT in done else "etag")
    }
    if REMOVE not in done:
        objects["sources/1/0"] = StoredObject("sources/1/0", 0, None, "new")
    if closed:
        objects["offsets/7"] = StoredObject("offsets/7", CLOSE.size, None, "closing")
    return Facts(
        "q",
        5,
        6,
        {"checkpoint": objects},
        CLOSED_UNDO.deleted,
        CLOSED_UNDO.written,
        resuming=True,
        sha256_of=lambda place, name: own[name],
    )


@pytest.mark.parametrize(
    ("done", "closed", "left"),
    [
        ((), False, (CLOSE, EDIT, REMOVE, OPEN)),
        ((), True, (EDIT, REMOVE, OPEN)),
        ((EDIT,), True, (REMOVE, OPEN)),
        ((EDIT, REMOVE), True, (OPEN,)),
        ((EDIT, REMOVE), False, ()),
        ((EDIT,), False, (CLOSE, REMOVE, OPEN)),
    ],
    ids=["nothing", "closed", "one step", "all but the last", "all", "opened by hand"],
)
def test_a_checkpoint_is_closed_for_the_steps_that_are_left_and_opened_after_them(done, closed, left):
    facts = facts_after(*done, closed=closed)
    assert CLOSED_UNDO.steps_left(facts) == list(left)
    assert [step.problem(facts) for step in CLOSED_UNDO.actions] == [None] * 4


def test_an_entry_of_a_query_where_the_checkpoint_is_closed_is_a_problem():
    """A query has planned its next batch since the plan was made."""
    facts = facts_after(closed=True)
    facts = replace(facts, sha256_of=lambda place, name: "of a query")
    assert CLOSE.problem(facts) == "expected no object, found closing"
