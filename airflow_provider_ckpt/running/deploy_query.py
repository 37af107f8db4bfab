"""Deploying a new version of an application, with the way back.

Gate, backup, stop, start, first commit; and where that does not come: stop, rollback to the batch before it, start of
the recorded version before. A deploy is written down before it stops anything, and when it has ended. Killed anywhere,
the same command goes on from what the records, the engine and the checkpoint say.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.change.plan.acceptance import require_accepted
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.engines.engine import Application, Engine
from airflow_provider_ckpt.errors import (
    CheckpointError,
    EngineError,
    EngineUnknownError,
    NotBetweenBatchesError,
    PlanError,
)
from airflow_provider_ckpt.running.ask_engine import Patience
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StartReceipt, StopReceipt
from airflow_provider_ckpt.running.record_runs import Event, begin, finish, newest_deploy, next_number, read_events
from airflow_provider_ckpt.running.require_stopped import batches_of, stopped_word
from airflow_provider_ckpt.running.start_query import StartRequest, judge, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, interrupts, stop_query


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployRequest:
    """How a new version is deployed.

    Args:
        stop: How the old one is stopped.
        start: How the new one is started.
        accept_sink: Effects on a sink that are accepted of the rollback, should it be needed.
    """

    stop: StopRequest = field(default_factory=StopRequest)
    start: StartRequest = field(default_factory=StartRequest)
    accept_sink: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deployed:
    """What became of a deploy.

    Args:
        stopped: The receipt of the stop before it; None where that was done before.
        started: The receipt of the start of the new version.
        back: The receipt of the start of the version before, where the new one has failed; None otherwise.
    """

    stopped: StopReceipt | None
    started: StartReceipt
    back: StartReceipt | None = None


def deploy_query(
    unit: Unit,
    engine: Engine,
    application: Application,
    request: DeployRequest | None = None,
    *,
    by: str = "",
    break_lock: bool = False,
    patience: Patience | None = None,
    settle_s: float | None = None,
    tell: Tell = silent,
    back_up: Callable[[], None] | None = None,
) -> Deployed:
    """Deploy a version, or go on with a deploy that was interrupted.

    Args:
        unit: The application.
        engine: Where it runs.
        application: The new version.
        request: How.
        by: Who does it.
        break_lock: Remove the lock of another run of ckpt, which the user knows has ended.
        patience: How long is waited.
        settle_s: Seconds after which a fence is read again; None for what the storage needs.
        tell: Told what is being waited for.
        back_up: Makes the backups, before anything is stopped.

    Raises what the stop, the rollback and the start raise.
    """
    request = request or DeployRequest()
    deploy = _Deploy(
        unit=unit,
        engine=engine,
        application=application,
        request=request,
        by=by,
        break_lock=break_lock,
        patience=patience or Patience(),
        settle_s=settle_s,
        tell=tell,
    )
    return deploy.deploy(back_up)


@dataclass(slots=True, kw_only=True)
class _Deploy:
    """One run of the command; see :func:`deploy_query`."""

    unit: Unit
    engine: Engine
    application: Application
    request: DeployRequest
    by: str
    break_lock: bool
    patience: Patience
    settle_s: float | None
    tell: Tell

    def deploy(self, back_up: Callable[[], None] | None) -> Deployed:
        """The whole."""
        begun = newest_deploy(self.unit)
        if begun is not None and (begun.ended or begun.application != self.application):
            begun = None
        events = read_events(self.unit)
        failed = None if begun is None else _failed_of(events, begun)
        if begun is not None and failed is not None and failed.started is not None:
            return self._ended(begun, Deployed(None, failed.started, self._go_back(failed)))
        newest, stopped = newest_start(events), None
        is_new = newest is None or newest.application != self.application
        if is_new:
            for member in self.unit.members if self.request.start.gate else ():
                if member.checkpoint.exists():
                    judge(self.unit, member)
            self._require_way_back(newest)
            if back_up is not None:
                back_up()
        begun = begun or self._begin()
        stopped = self._stop() if is_new else None
        started = self._start_new(begun, newest if is_new else None)
        if started.is_good or self.unit.declared.start.on_failure == "leave":  # what is left may commit yet
            return self._ended(begun, Deployed(stopped, started))
        failed = next(event for event in read_events(self.unit) if event.number == started.number)
        finish(self.unit, failed, started)  # from here on the way leads back
        return self._ended(begun, Deployed(stopped, started, self._go_back(failed)))

    def _begin(self) -> Event:
        event = Event(next_number(self.unit), "deploy", self.by, now_ms(), application=self.application)
        begin(self.unit, event)
        return event

    def _ended(self, begun: Event, done: Deployed) -> Deployed:
        finish(self.unit, begun, None)
        return done

    def _require_way_back(self, before: Event | None) -> None:
        """Raise PlanError where the rollback of the way back would be refused for its effect on a sink."""
        if before is None or self.unit.declared.start.on_failure != "rollback":
            return
        for member in self.unit.members:
            plan = None
            with suppress(CheckpointError):  # a batch that cannot be come back to says nothing of the next ones
                committed = batches_of(observe(member.checkpoint))[1]
                plan = _rollback(member, committed - 1) if committed else None
            try:
                if plan is not None:
                    require_accepted(plan, self.request.accept_sink)
            except PlanError as error:
                raise PlanError(
                    f"the way back of {self.unit.name} would be refused: {error.message}",
                    location=error.location,
                    hint=f"{error.hint} Or declare start: {{on_failure: stop}}.",
                ) from error

    def _start_new(self, begun: Event, before: Event | None) -> StartReceipt:
        """Start the new version; where the engine refuses it, the one before is started again."""
        try:
            return self._start(self.application)
        except EngineUnknownError:
            raise
        except EngineError as error:
            what = self.unit.declared.start.on_failure
            if before is not None and before.application is not None and what == "rollback":
                with suppress(CheckpointError):
                    back = self._start(before.application, gate=False)
                    error.hint = f"{error.hint or ''} The version before was started again as {back.token}.".lstrip()
                    finish(self.unit, begun, None)
            raise

    def _stop(self) -> StopReceipt:
        receipt = stop_query(
            self.unit,
            self.engine,
            self.request.stop,
            by=self.by,
            break_lock=self.break_lock,
            patience=self.patience,
            settle_s=self.settle_s,
            tell=self.tell,
        )
        if not receipt.between_batches and not interrupts(self.unit, self.request.stop):
            raise NotBetweenBatchesError(
                f"{self.unit.name} has ended with a batch in flight, which the new version would run.",
                location=self.unit.location,
                hint="It is stopped, and nothing else was done. With --interrupt-batch the deploy goes on.",
            )
        return receipt

    def _start(self, application: Application, *, gate: bool = True) -> StartReceipt:
        asked = self.request.start if gate else replace(self.request.start, gate=False)
        return start_query(
            self.unit,
            self.engine,
            application,
            asked,
            by=self.by,
            break_lock=self.break_lock,
            patience=self.patience,
            tell=self.tell,
        )

    def _go_back(self, failed: Event) -> StartReceipt | None:
        """Stop the version that has failed, drop its batches, and start the one before."""
        what = self.unit.declared.start.on_failure
        if what == "leave":
            return None
        events = read_events(self.unit)
        before, newest = previous_application(events, failed), newest_start(events)
        if before is not None and newest is not None and newest.number > failed.number:  # it was begun already
            return self._start(before, gate=False)
        self.tell(
            f"{self.unit.name} is stopped again: {failed.started.problem if failed.started else 'it has failed'}."
        )
        stop_query(
            self.unit,
            self.engine,
            StopRequest(interrupt_batch=True, wait_for_batch=self.request.stop.wait_for_batch),
            by=self.by,
            break_lock=self.break_lock,
            patience=self.patience,
            settle_s=self.settle_s,
            tell=self.tell,
        )
        if what == "stop" or before is None:
            return None
        self._drop_batches(failed)
        return self._start(before, gate=False)

    def _drop_batches(self, failed: Event) -> None:
        """Roll each query back to the batch before the deploy, where it has come further."""
        for member in self.unit.members:
            batch_id = (failed.from_batches or {}).get(member.query.name)
            planned, committed = batches_of(observe(member.checkpoint))
            if batch_id is None or (planned, committed) == (batch_id, batch_id):
                continue
            apply(
                _rollback(member, batch_id),
                member.stores,
                by=self.by,
                query_is_stopped=stopped_word(self.unit, self.engine),
                break_lock=self.break_lock,
                tell=self.tell,
                accept_sink=self.request.accept_sink,
                quiet_s=0.0,
            )


def _rollback(member: Member, batch_id: int) -> Plan:
    deploy = member.query.deploy
    return make_rollback(
        member.stores,
        batch_id,
        sink=deploy.sink,
        trigger=deploy.trigger,
        trim_sink_log=deploy.sink is not None and deploy.sink.kind == "file",
    )


def _failed_of(events: tuple[Event, ...], begun: Event) -> Event | None:
    """The start of a deploy that has failed, behind which nothing but its way back was started; None without one."""
    own = [event for event in events if event.verb == "start" and event.application == begun.application]
    failed = own[-1] if own else None
    if failed is None or failed.started is None or failed.started.is_good:
        return None
    is_of = failed.number > begun.number or failed.started.at_ms >= begun.begun_at_ms
    later = [event for event in events if event.verb == "start" and event.number > failed.number]
    before = previous_application(events, failed)
    return failed if is_of and all(event.application == before for event in later) else None


def newest_start(events: tuple[Event, ...]) -> Event | None:
    """The newest start that was begun; None without one."""
    return next((event for event in reversed(events) if event.verb == "start"), None)


def previous_application(events: tuple[Event, ...], failed: Event) -> Application | None:
    """What ran before a start that has failed: of the newest start before it that has committed; None without one."""
    earlier = [
        event
        for event in events
        if event.verb == "start" and event.number < failed.number and event.started is not None
    ]
    return next((event.application for event in reversed(earlier) if event.started and event.started.is_good), None)


def application_before(events: tuple[Event, ...], is_own: Callable[[str], bool]) -> Application | None:
    """What ran before the newest start of those by whom it was begun; without one of theirs, what was started last.

    Args:
        events: The stops and starts.
        is_own: Whether somebody by whom a start was begun is one of them.
    """
    own = next((event for event in reversed(events) if event.verb == "start" and is_own(event.by)), None)
    if own is not None:
        return previous_application(events, own)
    return next((event.application for event in reversed(events) if event.started and event.started.is_good), None)
