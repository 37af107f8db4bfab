"""Checks that a plan still fits the places that it works on."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.facts import Facts, Place
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import KeptObjects, KeptSinkLog, WriterStopped
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_links
from airflow_provider_ckpt.checkpoint.own_files import MANIFEST
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError, StalePlanError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Files that a refusal names.
_NAMED = 3


def find_facts(plan: Plan, stores: Stores, *, resuming: bool) -> Facts:
    """Read everything that the requirements and the actions of a plan are judged by.

    Args:
        plan: The plan.
        stores: The checkpoint and the other places of the change.
        resuming: True if the plan may have changed something already.

    Raises:
        PlanError: The plan needs a sink or a backup root that was not given.
    """
    view = observe(stores.checkpoint, deep=True, batch_id=plan.batch_id if plan.rules.adds_batch else None)
    refuse_replaced(stores.checkpoint)
    refuse_links(view)
    backup_id = plan.backup_id
    if backup_id is not None and not resuming:  # once begun, all that comes from the backup is staged
        if stores.backups is None:
            raise PlanError(
                f"the plan takes files from {plan.source}, but no backup root was given", location=plan.location
            )
        if MANIFEST not in stores.backups.child(backup_id).ls()[0]:
            backup_id = None
    objects: dict[Place, Mapping[str, StoredObject]] = {"checkpoint": view.objects}
    if plan.sink:
        objects["sink"] = read_file_sink(stores.place("sink")).objects
    return Facts(
        query_id=view.query_id,
        latest_committed=view.latest_committed,
        latest_planned=view.latest_planned,
        objects=objects,
        deleted=plan.deleted,
        written=plan.written,
        resuming=resuming,
        backup_id=None if resuming else backup_id,
        sha256_of=lambda place, name: stores.place(place).sha256(name)[1],
        last_kept=plan.last_kept if plan.rules.adds_batch else None,
        partitions=view.partitions_of(plan.batch_id) if plan.rules.adds_batch else None,
        folders=frozenset(view.folders),
    )


def validate(plan: Plan, facts: Facts) -> None:
    """Require that every requirement holds and that each action finds what it was planned for.

    Raises:
        StalePlanError: The checkpoint is not what the plan was made for.
        CheckpointBusyError: Nobody said that the query is stopped.
    """
    hint = "Nothing was done. Plan again."
    for requirement in plan.requirements:
        problem = requirement.check(facts)
        if problem is None:
            continue
        if isinstance(requirement, WriterStopped):
            raise _no_word(plan)
        if isinstance(requirement, KeptObjects):
            problem = _what_changed(plan, facts, "checkpoint")
        elif isinstance(requirement, KeptSinkLog) and "sink" in facts.objects:
            problem = _what_changed(plan, facts, "sink")
        raise StalePlanError(
            f"the checkpoint has changed since the plan was made: {problem}.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint=hint,
        )
    for action in plan.actions:
        problem = action.problem(facts)
        if problem is not None:
            raise StalePlanError(
                f"the checkpoint has changed since the plan was made: {problem}.",
                location=plan.location,
                batch_id=plan.batch_id,
                name=action.name,
                hint=hint,
            )
    if not facts.writer_stopped and plan.fence is None:  # whatever the plan says
        raise _no_word(plan)


def _what_changed(plan: Plan, facts: Facts, place: Place) -> str:
    """The files that the plan does not change and that were written since it was made, as far as their dates tell."""
    touched = facts.touched(place)
    where = "" if place == "checkpoint" else " in the log of the sink"
    young = sorted(
        name
        for name, stored in facts.objects.get(place, {}).items()
        if name not in touched
        and (stored.modified_ms or 0) > plan.planned_at_ms
        and not isinstance(layout.parse(name), layout.Temporary)
    )
    if not young:
        return (
            f"files that it does not change{where} were removed, or files with an earlier date were added or replaced"
        )
    more = f" and {len(young) - _NAMED} more" if len(young) > _NAMED else ""
    return f"the files {', '.join(young[:_NAMED])}{more}{where} were written since"


def _no_word(plan: Plan) -> CheckpointBusyError:
    return CheckpointBusyError(
        f"this {plan.called} needs a statement that the query is stopped, because files cannot show that: an idle "
        "query writes nothing.",
        location=plan.location,
        hint="Stop the query, then add --i-know-it-is-stopped (query_is_stopped=True in a DAG). A query that cannot be "
        "reached is stopped by ckpt fence.",
    )
