"""What is known of an application at one moment, and what a stop or a start would do; nothing is changed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.fence.plan import is_closing
from airflow_provider_ckpt.changes.fence.make import make_fence
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.engines.engine import Engine
from airflow_provider_ckpt.engines.run import MAY_RESTART, Presence, Restarts, Run, Seen
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointNotFoundError, EngineError, PlanError
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StopReceipt
from airflow_provider_ckpt.running.record_runs import known_runs, read_events
from airflow_provider_ckpt.running.require_stopped import batches_of, require_stopped
from airflow_provider_ckpt.running.stop_query import StopRequest, interrupts

_KNOWS_NO_RUN = "the engine knows no run"


@dataclass(frozen=True, slots=True)
class QueryStatus(Documented):
    """Where a query of an application is."""

    query: Annotated[str, "name of the query"]
    location: Annotated[str, "URI of its checkpoint"]
    batch_id: Annotated[int | None, "newest committed batch, or null"]
    in_flight: Annotated[int | None, "batch that is planned and not committed, or null"]
    fenced: Annotated[str | None, "`fence` or `held` where ckpt has closed the way, or null"]


@dataclass(frozen=True, slots=True)
class Status(Documented):
    """What is known of an application."""

    name: Annotated[str, "the query, or the group of queries of one application"]
    engine: Annotated[str, "name of the engine"]
    state: Annotated[str, "`live`, `stopped` (with a proof), `ended` (without one) or `unknown`"]
    runs: Annotated[tuple[Run, ...], "the runs that the engine knows"]
    restarts: Annotated[Restarts, "whether it starts a run again: `none`, `armed`, `suspended` or `unknown`"]
    complete: Annotated[bool, "whether no other run can be"]
    unknown: Annotated[str | None, "why it is not known which runs there are, or null"]
    queries: Annotated[tuple[QueryStatus, ...], "its queries"]
    stopped: Annotated[StopReceipt | None, "the proof that it is stopped, or null"]


def find_status(unit: Unit, engine: Engine) -> Status:
    """What is known of an application. Raises CheckpointError for a checkpoint or a record that cannot be read."""
    known = known_runs(read_events(unit))
    try:
        seen = engine.look(known)
        why = seen.unknown(known)
    except EngineError as error:
        seen, why = Seen(), error.message
    live, proof = seen.of(Presence.LIVE), None
    if why is None and not live:
        with suppress(CheckpointBusyError):
            proof = require_stopped(unit, engine)
    if why is None and not seen.runs and proof is None:
        why = f"{_KNOWS_NO_RUN} of {unit.name}"
    state = "unknown" if why is not None else "live" if live else "stopped" if proof is not None else "ended"
    return Status(
        name=unit.name,
        engine=unit.declared.name,
        state=state,
        runs=seen.runs,
        restarts=seen.restarts,
        complete=seen.complete,
        unknown=why,
        queries=tuple(map(_status, unit.members)),
        stopped=proof,
    )


def may_be_first(status: Status) -> bool:
    """True if the engine has answered, and knows no run yet: a start may be the first one."""
    return status.unknown is not None and status.unknown.startswith(_KNOWS_NO_RUN)


def stop_steps(unit: Unit, status: Status, *, hold: bool = False, interrupt_batch: bool = False) -> tuple[str, ...]:
    """What a stop would do, a sentence for each step.

    Raises PlanError where no fence is possible, unless the batch may be interrupted.
    """
    if status.state == "stopped" and not hold:
        return (f"{unit.name} is stopped: nothing is left to do.",)
    steps = []
    is_live = status.state == "live"
    if status.restarts in MAY_RESTART:
        steps.append(f"Keep the engine {unit.declared.name} from starting {unit.name} again.")
    for member in unit.members if is_live or hold else ():
        if hold:
            steps.append(f"Close the checkpoint of {member.query.name}: no Spark starts from it until ckpt start.")
        else:
            try:
                plan = make_fence(member.stores, trigger=member.query.deploy.trigger, state=False)
            except PlanError as error:
                if not interrupts(unit, StopRequest(interrupt_batch=interrupt_batch)):
                    raise
                steps.append(f"Put no fence into {member.query.name}, whose batch is interrupted: {error.message}")
                continue
            steps.append(f"Fence {member.query.name} behind batch {plan.batch_id}, or a later one.")
    steps += [
        f"End the run {run.id} ({run.native or run.presence.value})."
        for run in status.runs
        if run.presence is Presence.LIVE
    ]
    steps.append("Ask twice whether every run has ended, as far apart as the engine's restart.")
    return tuple(steps)


def start_steps(unit: Unit, status: Status) -> tuple[str, ...]:
    """What a start would do, a sentence for each step."""
    steps = [f"Judge the restart of {member.query.name} (ckpt gate)." for member in unit.members]
    steps += [f"Take back the fence of {query.query}." for query in status.queries if query.fenced]
    within_s = unit.declared.start.commit_within_s
    return (
        *steps,
        f"Start {unit.name} on the engine {unit.declared.name}.",
        f"Wait up to {within_s:g} seconds for a commit of {'each query' if len(unit.members) > 1 else unit.name}.",
    )


def _status(member: Member) -> QueryStatus:
    planned = committed = fenced = None
    with suppress(CheckpointNotFoundError):
        fence = find_fence(member.stores)
        planned, committed = batches_of(observe(member.checkpoint))
        if fence is not None:
            fenced = "held" if is_closing(fence) else "fence"
            planned = fence.batch_id if fenced == "fence" else planned
    return QueryStatus(
        query=member.query.name,
        location=member.checkpoint.location,
        batch_id=committed,
        in_flight=None if planned is None or planned == committed else planned,
        fenced=fenced,
    )
