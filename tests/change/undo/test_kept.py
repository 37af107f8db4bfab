"""When nothing sure would come of an undo, because what the change left alone is not as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.errors import PlanError
from tests.change.undo.story import BEFORE, KEEP, PUT_BACK, TABLES, Story, checkpoint, rolled_back, steps_of, written
from tests.views import QUERY_ID


def young(name: str) -> Story:
    return rolled_back().write(written(name, "other"))


def gone(name: str) -> Story:
    story = rolled_back()
    del story.objects["checkpoint"][name]
    return story


def of_another_query() -> Story:
    story = rolled_back()
    story.query_id = "other"
    return story


def without_its_sink() -> Story:
    story = rolled_back(sink=("2", "3"), trims=True)
    story.objects["sink"].clear()
    return story


REFUSED = {
    "a file that it left alone was rewritten": (
        young("state/0/0/3.delta"),
        "in c the files state/0/0/3.delta were written",
    ),
    "a file of a source came that no batch has": (
        young("sources/0/rocksdb/1.sst"),
        "sources/0/rocksdb/1.sst were written",
    ),
    "so did one of state": (young("state/0/notes.txt"), "in c the files state/0/notes.txt were written since"),
    "a file that it left alone is gone": (
        gone("commits/2"),
        "in c files were removed, or files were added that are older",
    ),
    "it is another query": (of_another_query(), f"belonged to query {QUERY_ID}, and now belongs to query none"),
    "the log of the sink is gone": (without_its_sink(), "the log of the sink out was removed or emptied"),
}


@pytest.mark.parametrize(("story", "problem"), REFUSED.values(), ids=REFUSED)
def test_where_what_the_rollback_left_alone_has_changed_it_is_refused(story, problem):
    with pytest.raises(
        PlanError, match="cannot be undone in place, because files that it did not change are no longer the same"
    ) as refused:
        story.undo()
    assert problem in refused.value.message and (refused.value.location, refused.value.batch_id) == ("c", KEEP)
    assert "Nothing was done." in refused.value.hint


def test_a_refusal_names_three_files_and_counts_the_rest():
    story = rolled_back()
    for number in range(5):
        story.write(written(f"state/notes{number}", "other"))
    with pytest.raises(PlanError, match="state/notes0, state/notes1, state/notes2 and 2 more were written since"):
        story.undo()


def test_a_copy_of_the_checkpoint_is_told_from_one_that_ran_on():
    story = young("state/0/0/3.delta")
    with pytest.raises(PlanError) as ran_on:
        story.undo()
    story.location = "elsewhere"
    with pytest.raises(PlanError) as moved:
        story.undo()
    assert "A query has run since" in ran_on.value.hint
    assert "The change was made at c, and this is a copy with other files." in moved.value.hint


@pytest.mark.parametrize("name", ["notes.txt", "offsets/.DS_Store", "commits/README", "team/owner.json"])
def test_a_file_that_nothing_of_spark_reads_stays_and_is_named(name):
    plan = young(name).plan()
    assert steps_of(plan) == PUT_BACK
    said = "1 files that ckpt does not know have come since the rollback and are left as they are"
    assert plan.warnings[2:] == (f"{said}: {name}.",)


def test_such_a_file_that_was_there_before_and_changed_is_refused():
    story = Story().write(written("notes.txt", "before", 4_000))
    view = replace(checkpoint(*BEFORE), objects=dict(story.objects["checkpoint"]))
    story.done = plan_rollback(view, RestartSet(KEEP, (), ()), 5_000)
    story.apply(story.done.actions).write(written("notes.txt", "other"))
    with pytest.raises(PlanError, match="because files that it did not change are no longer the same"):
        story.undo()


# --- tables of RocksDB that came since -------------------------------------------------------------------------------

OLD_TABLE = "state/0/0/SSTs/000001-a.sst"


def with_a_table(modified_ms: int) -> Story:
    """A rollback of a checkpoint that has a table; it was planned at 5,000 ms."""
    story = Story()
    story.write(written(OLD_TABLE, "old", modified_ms))
    view = replace(checkpoint(*BEFORE), objects=dict(story.objects["checkpoint"]))
    story.done = plan_rollback(view, RestartSet(KEEP, (), ()), 5_000)
    return story.apply(story.done.actions)


def with_old_and_new_tables() -> Story:
    story = with_a_table(4_000)
    for name in TABLES:
        story.write(written(name, "new"))
    return story


def test_new_tables_do_not_hide_that_an_older_one_is_gone():
    story = with_old_and_new_tables()
    assert steps_of(story.plan()) == PUT_BACK
    del story.objects["checkpoint"][OLD_TABLE]
    with pytest.raises(
        PlanError, match="in c files were removed, or files were added that are older than the rollback"
    ):
        story.undo()


def test_new_tables_do_not_hide_that_an_older_one_was_rewritten():
    story = with_old_and_new_tables().write(written(OLD_TABLE, "other"))
    with pytest.raises(PlanError, match="because files that it did not change are no longer the same"):
        story.undo()


def test_new_tables_do_not_hide_another_file():
    story = with_old_and_new_tables().write(written("state/0/notes.txt", "of a person"))
    with pytest.raises(PlanError, match="in c the files state/0/notes.txt were written since"):
        story.undo()


def test_where_the_clock_of_the_storage_is_ahead_a_table_from_before_is_no_new_one():
    plan = with_a_table(6_000).plan()
    assert steps_of(plan) == PUT_BACK and len(plan.warnings) == 2
