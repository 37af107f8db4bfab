"""Finding a change that was killed on its way, to be completed instead of a new one that leads to the same end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Close
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.validate import find_facts, validate
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.query.sink import NOT_DECLARED, Sink
from airflow_provider_ckpt.times import time_text


@dataclass(frozen=True, slots=True)
class Said:
    """Arguments of a change besides its target; an absent one agrees with everything.

    Args:
        sink: The sink of the query.
        trigger: Its trigger.
        trim_sink_log: True if the log of a file sink is to be trimmed.
    """

    sink: Sink | None = None
    trigger: str | None = None
    trim_sink_log: bool = False


def find_interrupted(
    stores: Stores, kind: Kind, leads_there: Callable[[Plan], bool], said: Said | None = None
) -> Plan | None:
    """A change to the same end that was killed on its way and can still be completed; no later one took a step.

    Its ``completes`` says so.

    Raises:
        PlanError: Its arguments of now are not those that its plan was judged with; the error has the words of both.
        StalePlanError: It has closed the checkpoint and cannot be completed any more as things are.
    """
    newest = journal.newest_acted(stores.checkpoint, stores.undo)
    if newest is None or newest.state != "interrupted" or newest.plan.kind != kind:
        return None
    plan = newest.plan
    if not leads_there(plan):
        return None
    facts = find_facts(plan, stores, resuming=True)
    try:
        validate(plan, replace(facts, writer_stopped=True))  # the word is asked for when it is applied
    except StalePlanError as error:
        if not any(isinstance(step, Close) and step.is_done(facts) for step in plan.actions):
            return None  # the query has run since; every prefix is a sound checkpoint, so a new plan is right
        error.hint = (
            "Nothing was done. The checkpoint is closed by this change, which is not complete. Move what has come "
            "since out of the checkpoint, then run the same command again."
        )
        raise
    _require_same(plan, stores, said or Said())
    return replace(plan, completes=_sentence(newest))


def _sentence(record: journal.Record) -> str:
    plan, by = record.plan, f" by {record.by}" if record.by else ""
    at = "" if record.begun_at_ms is None else f" at {time_text(record.begun_at_ms)}"
    return (
        f"This is no new plan: it completes the {plan.called} to {plan.aim} that was begun{at}{by} and was interrupted."
    )


def _require_same(plan: Plan, stores: Stores, said: Said) -> None:
    for then, now in _differences(plan, stores, said):
        raise PlanError(
            f"this {plan.called} was begun with the {then}, was killed on its way, and cannot be completed with the "
            f"{now}.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint="Nothing was done. Say the same as then, or nothing, to complete it"
            + ("; or take it back (ckpt undo) and plan it again." if plan.rules.can_be_undone else "."),
        )


def _differences(plan: Plan, stores: Stores, said: Said) -> Iterator[tuple[str, str]]:
    """Arguments at the making of a plan and arguments of now, where they differ."""
    sink = stores.declared(said.sink)
    name = sink.at(stores.sink if sink.directory else None).name
    sinks = {item.sink for item in plan.effects}
    if sink.kind and sinks != {name}:
        yield f"sink {' and '.join(sorted(sinks)) or NOT_DECLARED}", f"sink {name}"
    if said.trigger and plan.trigger != said.trigger:
        yield f"trigger {plan.trigger or NOT_DECLARED}", f"trigger {said.trigger}"
    if said.trim_sink_log and not plan.sink:
        yield "log of the sink left as it is", "log of the sink trimmed"
    root = stores.backups
    if root is not None and plan.rules.takes_from_backups and plan.source and plan.source != root.location:
        yield f"backups in {plan.source}", f"backups in {root.location}"
