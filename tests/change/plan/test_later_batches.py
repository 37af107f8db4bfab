"""What every change requires of the files that it leaves alone, and the order of an object and its sidecars."""

from __future__ import annotations

from airflow_provider_ckpt.change.plan.actions import Delete
from airflow_provider_ckpt.change.plan.facts import Facts
from airflow_provider_ckpt.change.plan.later_batches import deletes_of, peel, requirements_of
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from tests.views import QUERY_ID, listed, sink_of, view_of

LEFT_ALONE = ("metadata", "offsets/1", "commits/1")
LATER = ("offsets/2", "commits/2", "state/0/0/3.delta", "offsets/3")


def facts_of(view: CheckpointView, deleted: dict, sink: dict | None = None) -> Facts:
    objects = {"checkpoint": view.objects} if sink is None else {"checkpoint": view.objects, "sink": sink}
    return Facts(
        view.query_id, view.latest_committed, view.latest_planned, objects, deleted=deleted, writer_stopped=True
    )


def test_what_was_planned_for_a_checkpoint_holds_for_it_and_for_no_other():
    view = view_of(*LEFT_ALONE, *LATER)
    actions = peel(view, 1, {}, None)
    deleted = {action.spot: action.identity for action in actions}
    requirements = requirements_of(view, actions, None)
    assert [item.check(facts_of(view, deleted)) for item in requirements] == [None] * 5

    def broken_by(*names: str) -> set[str]:
        other = facts_of(view_of(*names), deleted)
        return {item.kind for item in requirements if item.check(other) is not None}

    assert broken_by(*LEFT_ALONE, *LATER, "offsets/4") == {"latest_planned", "kept_objects"}
    assert broken_by(*LEFT_ALONE, *LATER, "commits/3") == {"latest_committed", "kept_objects"}
    assert broken_by(*LEFT_ALONE[:-1], *LATER) == {"kept_objects"}
    assert requirements[0].expected == QUERY_ID


def test_a_trimmed_sink_log_is_required_as_well():
    view, sink = view_of(*LEFT_ALONE, *LATER), sink_of("1", "2")
    actions = peel(view, 1, {2: ["_spark_metadata/2"]}, sink)
    assert Delete("_spark_metadata/2", "sink", len("_spark_metadata/2"), "etag of _spark_metadata/2") in actions
    deleted = {action.spot: action.identity for action in actions}
    kept = requirements_of(view, actions, sink)[-1]
    assert kept.kind == "kept_sink_log"
    assert kept.check(facts_of(view, deleted, dict(sink.objects))) is None
    assert kept.check(facts_of(view, deleted, listed("_spark_metadata/2"))) is not None


def test_a_sidecar_goes_before_its_object_and_what_is_not_there_is_no_step():
    objects = listed("commits/7", "commits/.7.crc")
    assert [action.name for action in deletes_of(objects, ["commits/7", "commits/8"])] == [
        "commits/.7.crc",
        "commits/7",
    ]
