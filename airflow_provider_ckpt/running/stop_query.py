"""Stopping an application between two batches: fence it, end it at once, and see that it has ended.

The fence comes first, because no ordinary stop of Spark falls between two batches; the end comes at once, because an
engine that restarts would run the batch of the fence and go on. Where it does, all is repeated, and at last the
checkpoint is closed. Killed anywhere, the same command goes on: what was done is in the engine and in the checkpoint.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.fence.plan import is_closing
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.change.lock import locked_runs
from airflow_provider_ckpt.changes.fence.make import make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.engines.engine import Engine
from airflow_provider_ckpt.engines.run import MAY_RESTART, Presence, Run, Seen
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointError,
    CheckpointLockedError,
    EngineError,
    EngineUnknownError,
    NotBetweenBatchesError,
    PlanError,
)
from airflow_provider_ckpt.running.ask_engine import Patience, end_all, never, see
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StoppedQuery, StopReceipt
from airflow_provider_ckpt.running.record_runs import Event, begin, finish, known_runs, next_number, read_events
from airflow_provider_ckpt.running.require_stopped import batches_of, require_stopped

#: How often an application is fenced and ended, when its engine restarts it faster, before its checkpoint is closed.
TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """How an application is stopped.

    Args:
        hold: Close its checkpoint, which no restart passes, in place of a fence.
        interrupt_batch: End it also where no fence is possible, which leaves a batch in flight.
        wait_for_batch: Seconds to wait for the commit of a batch in flight; None for what is declared.
    """

    hold: bool = False
    interrupt_batch: bool = False
    wait_for_batch: float | None = None


def stop_query(
    unit: Unit,
    engine: Engine,
    request: StopRequest | None = None,
    *,
    by: str = "",
    break_lock: bool = False,
    patience: Patience | None = None,
    settle_s: float | None = None,
    tell: Tell = silent,
) -> StopReceipt:
    """Stop an application, or find that it is stopped.

    Args:
        unit: The application.
        engine: Where it runs.
        request: How.
        by: Who does it.
        break_lock: Remove the lock of another run of ckpt, which the user knows has ended.
        patience: How long is waited.
        settle_s: Seconds after which a fence is read again; None for what the storage needs.
        tell: Told what is being waited for.

    Returns:
        The receipt. It says as well that a batch is in flight: then a run had ended by itself, or was interrupted.

    Raises:
        EngineUnknownError: The engine does not say which runs there are, or they have not ended in time.
        NotBetweenBatchesError: No fence is possible, and ``interrupt_batch`` was not said; the application goes on.
    """
    request = request or StopRequest()
    request = replace(request, interrupt_batch=interrupts(unit, request))
    with ExitStack() as stack:
        for member in unit.members:
            stack.enter_context(
                locked_runs(member.checkpoint, "stop", by, undo=member.stores.undo, break_lock=break_lock)
            )
        stop = _Stop(
            unit=unit,
            engine=engine,
            request=request,
            by=by,
            break_lock=break_lock,
            patience=patience or Patience(),
            settle_s=settle_s,
            tell=tell,
        )
        return stop.stop()


def interrupts(unit: Unit, request: StopRequest) -> bool:
    """True if a run is ended also where no fence is possible: that is said, or declared."""
    return request.interrupt_batch or unit.declared.stop.otherwise == "interrupt"


@dataclass(slots=True, kw_only=True)
class _Stop:
    """One run of the command; see :func:`stop_query`."""

    unit: Unit
    engine: Engine
    request: StopRequest
    by: str
    break_lock: bool
    patience: Patience
    settle_s: float | None
    tell: Tell
    has_ended_runs: bool = False
    is_disarmed: bool = False

    def stop(self) -> StopReceipt:
        """The whole."""
        events = read_events(self.unit)
        known = known_runs(events)
        seen = see(self.unit, self.engine, known)
        if events and events[-1].stopped is not None and not self.request.hold:
            try:
                return require_stopped(self.unit, self.engine)
            except CheckpointBusyError:
                pass  # it was started again, by somebody else
        self._require_a_run(seen)
        self._require_fences(seen)
        event = self._begin(events, seen)
        try:
            runs = self._end(tuple(dict.fromkeys((*known, *(run.id for run in seen.runs)))), seen)
        except CheckpointError:
            if event.disarmed and not self.has_ended_runs:  # it goes on, as before
                with suppress(EngineError):
                    self.engine.arm()
            raise
        receipt = self._receipt(event, runs)
        finish(self.unit, event, receipt)
        return receipt

    def _require_a_run(self, seen: Seen) -> None:
        """Raise EngineUnknownError where the engine knows no run at all: that is no proof that none is there."""
        if not seen.runs:
            raise EngineUnknownError(
                f"the engine {self.unit.declared.name} knows no run of {self.unit.name}, which does not prove that "
                "none is there: it may run under another name, or have been started by other means.",
                location=self.unit.location,
                hint="Nothing was done. A run that ckpt starts is marked, and found again; what you know "
                f"to be stopped is started by `ckpt start {self.unit.name} --execute --i-know-it-is-stopped`.",
            )

    def _require_fences(self, seen: Seen) -> None:
        """Before anything is done: refuse where no fence is possible, unless the batch may be interrupted."""
        if self.request.hold or self.request.interrupt_batch or not seen.of(Presence.LIVE):
            return
        for member in self.unit.members:
            try:
                make_fence(member.stores, trigger=member.query.deploy.trigger, state=False)
            except CheckpointLockedError:
                raise
            except PlanError as error:
                raise self._no_fence(member, error) from error

    def _begin(self, events: tuple[Event, ...], seen: Seen) -> Event:
        """Write the intent, and then keep the engine from restarting; a stop that was begun goes on."""
        begun = events[-1] if events and events[-1].verb == "stop" and events[-1].stopped is None else None
        was_disarmed = begun is not None and begun.disarmed
        may_restart = seen.restarts in MAY_RESTART
        event = Event(
            number=begun.number if begun else next_number(self.unit),
            verb="stop",
            by=self.by,
            begun_at_ms=now_ms(),
            runs=tuple(run.id for run in seen.runs),
            disarmed=was_disarmed or may_restart,
        )
        begin(self.unit, event)
        self.is_disarmed = self.engine.disarm() if may_restart else was_disarmed
        if may_restart and not self.is_disarmed:
            self.tell(f"The engine may start {self.unit.name} again by itself while it is stopped.")
        return event

    def _end(self, known: tuple[str, ...], seen: Seen) -> tuple[Run, ...]:
        """Fence and end, until the fence is there and every run has ended; returns the runs."""
        runs = seen.runs
        for attempt in range(TRIES + 1):
            is_live = bool(seen.of(Presence.LIVE))
            is_closed = False
            if is_live or self.request.hold:
                is_closed = self._close(is_held=self.request.hold or attempt == TRIES)
            is_fenced = is_live and is_closed
            self.has_ended_runs = True
            runs = end_all(
                self.unit,
                self.engine,
                known,
                self.patience,
                in_vain=self._is_passed if is_fenced else never,
                tell=self.tell,
            )
            known = tuple(dict.fromkeys((*known, *(run.id for run in runs))))
            is_over = all(run.presence is not Presence.LIVE for run in runs)  # no receipt has a run that is there
            if is_over and not (is_fenced and self._is_passed()):
                return runs
            self.tell(f"{self.unit.name} was started again meanwhile, and has run the batch of the fence.")
            seen = see(self.unit, self.engine, known)
        raise EngineUnknownError(
            f"{self.unit.name} was started again after each of {TRIES + 1} ends, and is past its closed checkpoint.",
            location=self.unit.location,
            hint="It is not stopped. Keep what starts it from doing so, and run the same command again.",
        )

    def _close(self, *, is_held: bool) -> bool:
        """A fence, or an entry that closes it, in the checkpoint of each query; False where one has none."""
        if is_held:
            for member in self.unit.members:
                self._put(member, hold=True)
            return True
        is_closed = True
        for member in self.unit.members:
            try:
                self._put(member, hold=False)
            except CheckpointLockedError:
                raise
            except PlanError as error:
                if self.request.interrupt_batch:
                    self.tell(f"No fence: {error.message}")
                    is_closed = False
                elif isinstance(error, CheckpointBusyError) and self._has_ended():
                    return True
                else:
                    raise self._no_fence(member, error) from error
        return is_closed

    def _has_ended(self) -> bool:
        """True if the application has ended by itself while its batch was waited for."""
        known = known_runs(read_events(self.unit))
        return not see(self.unit, self.engine, known).of(Presence.LIVE)

    def _put(self, member: Member, *, hold: bool) -> None:
        declared, said = self.unit.declared.stop, self.request.wait_for_batch
        put_fence(
            member.stores,
            by=self.by,
            trigger=member.query.deploy.trigger,
            wait_s=declared.wait_for_batch_s if said is None else said,
            settle_s=self.settle_s,
            break_lock=self.break_lock,
            tell=self.tell,
            hold=hold,
        )

    def _no_fence(self, member: Member, error: CheckpointError) -> NotBetweenBatchesError:
        fenced = [each for each in self.unit.members if find_fence(each.stores) is not None]
        left = (
            f" {fenced[0].query.name} is fenced, and stops: {fenced[0].stores.undo_command} takes that back."
            if fenced
            else ""
        )
        return NotBetweenBatchesError(
            f"{member.query.name} cannot be stopped between two batches: {error.message}",
            location=member.checkpoint.location,
            batch_id=error.batch_id,
            hint="It goes on. Run the same command again with a longer --wait-for-batch if its batch takes longer, or "
            f"with --interrupt-batch, which ends it inside a batch; the next start runs that batch again.{left}",
        )

    def _is_passed(self) -> bool:
        """True if a query has run past what was put into its checkpoint."""
        return any(find_fence(member.stores) is None for member in self.unit.members)

    def _receipt(self, event: Event, runs: tuple[Run, ...]) -> StopReceipt:
        return StopReceipt(
            name=self.unit.name,
            number=event.number,
            queries=tuple(map(_stopped, self.unit.members)),
            runs=runs,
            disarmed=self.is_disarmed,
            by=self.by,
            stopped_at_ms=now_ms(),
        )


def _stopped(member: Member) -> StoppedQuery:
    """Where a query is now that it has ended."""
    fence = find_fence(member.stores)
    planned, committed = batches_of(observe(member.checkpoint))
    is_held = fence is not None and is_closing(fence)
    if fence is not None and not is_held:  # its entry is the newest one, and that of no batch
        planned = fence.batch_id
    return StoppedQuery(
        query=member.query.name,
        location=member.checkpoint.location,
        batch_id=committed,
        in_flight=None if planned is None or planned == committed else planned,
        fence="" if fence is None else fence.plan_id,
        held=is_held,
    )
