"""The planner of undos alone: what comes back, what goes first, and when nothing sure would come of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.actions import Copy, Delete
from airflow_provider_ckpt.change.plan.facts import Saved, kept_objects
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.errors import PlanError
from tests.change.undo.story import (
    BEFORE,
    KEEP,
    PUT_BACK,
    REMOVED,
    TABLES,
    Story,
    checkpoint,
    rolled_back,
    steps_of,
    written,
)
from tests.views import QUERY_ID


def test_what_was_removed_comes_back_in_the_reverse_order():
    assert [action.name for action in rolled_back().done.actions] == REMOVED
    assert steps_of(rolled_back().plan()) == PUT_BACK


@pytest.mark.parametrize("steps", range(1, len(REMOVED)))
def test_of_a_rollback_that_was_stopped_what_it_has_removed_so_far(steps):
    story = Story()
    story.apply(story.done.actions[:steps])
    assert steps_of(story.plan()) == PUT_BACK[len(REMOVED) - steps :]


def test_of_one_that_was_stopped_before_its_first_step_nothing():
    story = Story().write(written("notes.txt", "of a person"))
    undo = story.undo()
    assert undo.is_untouched and undo.plan("saved", 1).actions == ()


def test_each_step_says_where_from_and_what_it_must_be():
    (first, *_) = rolled_back().plan().actions
    assert first == Copy("offsets/3", size=9, sha256="sha of etag of offsets/3", source="checkpoint/offsets/3")


def test_what_the_plan_says_beside_its_steps():
    story = rolled_back()
    plan = story.plan()
    assert (plan.kind, plan.query_id, plan.batch_id) == ("undo", QUERY_ID, 3), "the newest batch that is committed then"
    assert (plan.source, plan.undoes) == ("saved", story.done.plan_id)
    assert plan.warnings == (
        f"Undoes the rollback to batch 2 ({story.done.plan_id}).",
        "Batch 4 comes back in flight (planned, not committed), as it was before the rollback: it runs again when the "
        "query is started.",
    )
    assert {item.kind for item in plan.requirements} >= {"query_id", "kept_objects", "writer_stopped"}
    known = replace(plan, actions=tuple(replace(act, sha256="ab" * 32) for act in plan.actions))
    assert plan_from_dict(json.loads(json.dumps(known.to_dict()))) == known


# --- a query has run since ------------------------------------------------------------------------------------------


def closed(*steps: str, by: str = "offsets/5") -> list[str]:
    """Steps around which the checkpoint is closed, by the entry after all that are there or come back."""
    return [f"closed by {by}", *steps, f"opened by removing {by}"]


AGAIN = {
    "a batch was planned": (
        [written("offsets/3", "new")],
        closed("- offsets/3", *PUT_BACK),
        (3,),
    ),
    "batches were committed: peeled as in a rollback, newest first": (
        [
            written("offsets/3", "new"),
            written("state/0/0/4.delta", "new"),
            written("commits/3", "new"),
            written("offsets/4", "new"),
        ],
        closed("- offsets/4", "- commits/3", "- state/0/0/4.delta", "- offsets/3", *PUT_BACK),
        (3, 4),
    ),
    "later ones than there were": (
        [written("offsets/3", "new"), written("commits/3", "new"), written("offsets/9", "new")],
        closed("- offsets/9", "- commits/3", "- offsets/3", *PUT_BACK, by="offsets/10"),
        (3, 9),
    ),
    "a commit with the bytes that it had goes with its batch": (
        [written("offsets/3", "new"), written("commits/3", "again: etag of commits/3")],
        closed("- commits/3", "- offsets/3", *PUT_BACK),
        (3,),
    ),
    "one that the store calls what it was cannot be told from it, and stays": (
        [written("offsets/3", "new"), written("commits/3", "etag of commits/3")],
        closed("- offsets/3", *(step for step in PUT_BACK if step != "+ commits/3")),
        (3,),
    ),
}


@pytest.mark.parametrize(("files", "steps", "batches"), AGAIN.values(), ids=AGAIN)
def test_what_a_query_has_written_since_goes_first(files, steps, batches):
    story = rolled_back()
    for file in files:
        story.write(file)
    undo = story.undo()
    assert (steps_of(undo.plan("saved", 1)), undo.foreign_batches) == (steps, batches)
    assert "A query has written batch" in undo.plan("saved", 1).warnings[-1]


@pytest.mark.parametrize("identity", ["etag of offsets/3", "again: etag of offsets/3"])
def test_a_file_that_an_undo_has_put_back_before_it_was_stopped_is_left_where_it_is(identity):
    story = rolled_back().write(written("offsets/3", identity))
    assert steps_of(story.plan()) == PUT_BACK[1:]


def test_state_beside_the_batches_is_no_batch_of_a_query():
    story = rolled_back().write(written("state/0/0/9.delta", "new"))
    undo = story.undo()
    assert undo.foreign_batches == ()
    assert steps_of(undo.plan("saved", 1)) == ["- state/0/0/9.delta", *PUT_BACK]


def test_the_log_of_a_sink_is_put_back_with_the_batches_and_what_came_since_goes():
    story = rolled_back(sink=("2", "3"), trims=True)
    story.write(written("offsets/3", "new")).write(written("_spark_metadata/3", "new"), "sink")
    assert steps_of(story.plan()) == closed(
        "- sink: _spark_metadata/3",
        "- offsets/3",
        "+ offsets/3",
        "+ sink: _spark_metadata/3",
        "+ state/0/0/4.delta",
        "+ commits/3",
        "+ offsets/4",
    )


# --- what a batch that was stopped leaves ---------------------------------------------------------------------------

LEFT_BEHIND = {
    "tables that no zip names yet: left as they are": (TABLES, []),
    "tables of a batch that was finished: its zip goes": (
        (*TABLES, "offsets/3", "state/0/0/4.zip", "commits/3"),
        ["- commits/3", "- state/0/0/4.zip", "- offsets/3"],
    ),
    "what was being written under another name: left as it is": (
        ("offsets/.3.8a1b.tmp", "state/0/0/.4.zip.8a1b.TID9.tmp", "state/0/0/..4.zip.8a1b.TID9.tmp.crc"),
        [],
    ),
    "checksum files before their object": (
        ("state/0/0/.4_u.zip.crc.crc", "state/0/0/4_u.zip.crc", "offsets/.3.crc"),
        ["- state/0/0/.4_u.zip.crc.crc", "- state/0/0/4_u.zip.crc", "- offsets/.3.crc"],
    ),
    "an object before its checksum file": (("state/0/0/4_u.changelog",), ["- state/0/0/4_u.changelog"]),
    "what an operator says of itself from the next batch on": (
        ("state/0/_metadata/v2/3", "state/0/_stateSchema/default/3_u"),
        ["- state/0/_metadata/v2/3", "- state/0/_stateSchema/default/3_u"],
    ),
}


@pytest.mark.parametrize(("names", "steps"), LEFT_BEHIND.values(), ids=LEFT_BEHIND)
def test_what_a_batch_that_was_stopped_leaves_does_not_refuse_the_undo(names, steps):
    story = rolled_back()
    for name in names:
        story.write(written(name, "new"))
    all_steps = [*steps, *PUT_BACK]
    assert steps_of(story.plan()) == (closed(*all_steps) if "- offsets/3" in steps else all_steps)


def test_tables_that_stay_are_named_and_must_stay_as_they_are():
    story = rolled_back()
    for name in TABLES:
        story.write(written(name, "new"))
    plan = story.plan()
    assert plan.warnings[-1] == (
        f"3 RocksDB files that Spark has uploaded since the rollback are not removed: {TABLES[0]}, "
        f"{TABLES[1]}, {TABLES[2]}. No state version after the undo uses them, so Spark does not read them and "
        "its maintenance deletes them later."
    )
    (kept,) = (item.expected for item in plan.requirements if item.kind == "kept_objects")
    assert kept == kept_objects(story.objects["checkpoint"], ())


# --- a change that brought files ------------------------------------------------------------------------------------


def exchanged() -> Story:
    """A rollback that put state of a backup in the place of its own, and brought a file that was lost."""
    story = Story()
    brought = ("state/0/0/3.delta", "state/0/0/2.delta")
    steps = (
        Delete("state/0/0/3.delta", "checkpoint", 17, "etag of state/0/0/3.delta"),
        *(Copy(name, size=len(name), sha256="sha of the backup's", source=f"b/{name}") for name in brought),
    )
    view = checkpoint(*BEFORE)
    done = plan_rollback(view, RestartSet(KEEP, (), ()), 5_000)
    left = {name: stored for name, stored in view.objects.items() if name not in {*REMOVED, *brought}}
    requirements = [item for item in done.requirements if item.kind != "kept_objects"]
    kept = replace(
        next(item for item in done.requirements if item.kind == "kept_objects"), expected=kept_objects(left, ())
    )
    story.done = replace(done, actions=(*done.actions, *steps), requirements=(*requirements, kept), source="root")
    return story


def test_what_came_from_a_backup_goes_and_what_it_replaced_comes_back():
    story = exchanged()
    story.apply(story.done.actions)
    assert steps_of(story.plan()) == [
        "- state/0/0/2.delta",
        "- state/0/0/3.delta",
        "+ state/0/0/3.delta",
        *PUT_BACK,
    ]


def test_stopped_between_removing_and_bringing_only_what_is_gone_comes_back():
    story = exchanged()
    story.apply(story.done.actions[: len(REMOVED) + 1])
    assert steps_of(story.plan()) == ["+ state/0/0/3.delta", *PUT_BACK]


def test_what_an_undo_has_put_back_of_the_batch_itself_before_it_was_stopped_is_left_where_it_is():
    """The entries of the batch that was rolled back to were there before: they do not tell of a query."""
    story = exchanged()
    story.apply(story.done.actions)
    del story.objects["checkpoint"]["state/0/0/2.delta"]
    story.write(written("state/0/0/3.delta", "again: etag of state/0/0/3.delta"))
    assert steps_of(story.plan()) == PUT_BACK


# --- refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("saved", "problem"), [(None, "is missing"), (Saved(1, "cut"), "is not what was saved")])
def test_nothing_is_done_where_what_was_saved_is_lost(saved, problem):
    story = rolled_back()
    del story.saved["checkpoint", "commits/3"]
    if saved is not None:
        story.saved["checkpoint", "commits/3"] = saved
    with pytest.raises(PlanError, match=problem) as refused:
        story.plan()
    assert refused.value.name == "commits/3"
