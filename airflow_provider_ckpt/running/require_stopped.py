"""The proof that an application is stopped, asked for again right before what relies on it."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.checkpoint.observe import observe, without_closing
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.engines.engine import Engine
from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.errors import CheckpointBusyError
from airflow_provider_ckpt.running.ask_engine import see
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StoppedQuery, StopReceipt
from airflow_provider_ckpt.running.record_runs import known_runs, read_events


def require_stopped(unit: Unit, engine: Engine) -> StopReceipt:
    """The receipt of the newest stop, of which nothing has changed since.

    Raises:
        CheckpointBusyError: The application was not stopped by ckpt, or was started since, or a batch was planned.
        EngineUnknownError: The engine does not say which runs there are.
    """
    events = read_events(unit)
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


def batches_of(view: CheckpointView) -> tuple[int | None, int | None]:
    """The newest planned and the newest committed batch, without an entry that closes the checkpoint."""
    view = without_closing(view)
    return view.latest_planned, view.latest_committed


def _change_since(member: Member, stopped: StoppedQuery, stopped_at_ms: int) -> str | None:
    """What shows that a batch was planned since; None where nothing does, or a change of ckpt came since."""
    for record in journal.history(member.checkpoint, member.stores.undo):
        began_ms = record.begun_at_ms or 0
        if record.state in ("applied", "undone", "interrupted") and began_ms >= stopped_at_ms:
            return None
    if stopped.fence:
        there = find_fence(member.stores)
        return None if there is not None and there.plan_id == stopped.fence else "its fence is not there any more"
    planned, committed = batches_of(observe(member.checkpoint))
    newest = stopped.batch_id if stopped.in_flight is None else stopped.in_flight
    if (planned, committed) == (newest, stopped.batch_id):
        return None
    return f"its newest batches are {planned} and {committed}"


def _refused(unit: Unit, problem: str) -> CheckpointBusyError:
    return CheckpointBusyError(
        f"{problem}.", location=unit.location, hint=f"Nothing was done. Stop it first: ckpt stop {unit.name} --execute"
    )
