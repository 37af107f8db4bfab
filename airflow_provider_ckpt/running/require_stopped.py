"""The proof that an application is stopped, asked for again right before what relies on it."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.checkpoint.observe import observe, without_closing
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.engines.engine import Engine
from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.errors import CheckpointBusyError, EngineError
from airflow_provider_ckpt.running.ask_engine import see
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StoppedQuery, StopReceipt
from airflow_provider_ckpt.running.record_runs import Event, known_runs, read_events


def require_stopped(unit: Unit, engine: Engine, events: tuple[Event, ...] | None = None) -> StopReceipt:
    """The receipt of the newest stop, since which nothing has changed but by ckpt.

    Args:
        unit: The application.
        engine: Where it runs.
        events: Its stops and starts; None for all that are recorded.

    Raises:
        CheckpointBusyError: The application was not stopped by ckpt, or was started since, or a batch was planned.
        EngineUnknownError: The engine does not say which runs there are.
    """
    events = read_events(unit) if events is None else events
    receipt = events[-1].stopped if events else None
    if receipt is None:
        what = "nobody has stopped it by ckpt" if not events else f"its newest {events[-1].verb} is no completed stop"
        raise _refused(unit, f"there is no proof that {unit.name} is stopped: {what}")
    if live := see(unit, engine, known_runs(events)).of(Presence.LIVE):
        raise _refused(unit, f"the run {live[0].id} of {unit.name} is {live[0].native or 'there'}")
    stopped = {query.query: query for query in receipt.queries}
    for member in unit.members:
        if member.query.name not in stopped:
            raise _refused(unit, f"{member.query.name} was not of the application when it was stopped")
        if problem := _change_since(member, stopped[member.query.name], receipt.stopped_at_ms):
            raise _refused(unit, f"{member.query.name} has gone on since it was stopped: {problem}")
    return receipt


def stopped_word(unit: Unit, engine: Engine) -> Callable[[], bool]:
    """What is asked for the word that a query is stopped: it raises what :func:`require_stopped` raises."""

    def ask() -> bool:
        require_stopped(unit, engine)
        return True

    return ask


def said_word(unit: Unit, engine: Engine) -> Callable[[], bool]:
    """A person's word that a query is stopped: against it counts a run alone that the engine shows."""

    def ask() -> bool:
        try:
            live = engine.look(known_runs(read_events(unit))).of(Presence.LIVE)
        except EngineError:  # a person may know more than an engine that is silent
            return True
        if live:
            raise _refused(unit, f"the run {live[0].id} of {unit.name} is {live[0].native or 'there'}")
        return True

    return ask


def batches_of(view: CheckpointView) -> tuple[int | None, int | None]:
    """The newest planned and the newest committed batch, without an entry that closes the checkpoint."""
    view = without_closing(view)
    return view.latest_planned, view.latest_committed


def _change_since(member: Member, stopped: StoppedQuery, stopped_at_ms: int) -> str | None:
    """What shows that a batch was planned since, also since a change of ckpt; None where nothing does."""
    fence = find_fence(member.stores)
    planned, committed = batches_of(observe(member.checkpoint))
    since = [
        record
        for record in journal.history(member.checkpoint, member.stores.undo)
        if record.state in ("applied", "undone", "interrupted") and (record.begun_at_ms or 0) >= stopped_at_ms
    ]
    if since and since[-1].state == "interrupted":  # it has closed the checkpoint, and is to be completed
        return None
    if since:
        left = since[-1].plan
        in_flight = {_batch_of(name) for name in left.writes()} | {stopped.in_flight, left.batch_id, left.last_kept}
        if committed == left.batch_id and (fence is not None or planned in in_flight):
            return None
        return f"its newest batches are {planned} and {committed}, and the {left.called} has left {left.batch_id}"
    if stopped.fence:
        return None if fence is not None and fence.plan_id == stopped.fence else "its fence is not there any more"
    newest = stopped.batch_id if stopped.in_flight is None else stopped.in_flight
    if (planned, committed) == (newest, stopped.batch_id):
        return None
    return f"its newest batches are {planned} and {committed}"


def _batch_of(name: str) -> int | None:
    """The batch of an entry of the offset log; None for another file."""
    log, _, batch_id = name.rpartition("/")
    return int(batch_id) if log == layout.OFFSETS and batch_id.isdecimal() else None


def _refused(unit: Unit, problem: str) -> CheckpointBusyError:
    return CheckpointBusyError(
        f"{problem}.", location=unit.location, hint=f"Nothing was done. Stop it first: ckpt stop {unit.name} --execute"
    )
