"""Deploying a new version of an application, with the way back.

Gate, backup, stop, start, first commit; and where that does not come: stop, rollback to the batch before it, start of
the recorded version before. Killed anywhere, the same command goes on from what the records, the engine and the
checkpoint say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.engines.engine import Application, Engine
from airflow_provider_ckpt.errors import NotBetweenBatchesError
from airflow_provider_ckpt.running.ask_engine import Patience
from airflow_provider_ckpt.running.find_unit import Unit
from airflow_provider_ckpt.running.receipt import StartReceipt, StopReceipt
from airflow_provider_ckpt.running.record_runs import Event, finish, read_events
from airflow_provider_ckpt.running.require_stopped import batches_of, stopped_word
from airflow_provider_ckpt.running.start_query import StartRequest, judge, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query


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
        newest = newest_start(read_events(self.unit))
        if newest is not None and newest.application == self.application and _has_failed(newest):
            assert newest.started is not None
            return Deployed(None, newest.started, self._go_back(newest))
        stopped = None
        if newest is None or newest.application != self.application:
            for member in self.unit.members if self.request.start.gate else ():
                if member.checkpoint.exists():
                    judge(self.unit, member)
            if back_up is not None:
                back_up()
            stopped = self._stop()
        started = self._start(self.application)
        if started.committed:
            return Deployed(stopped, started)
        failed = next(event for event in read_events(self.unit) if event.number == started.number)
        finish(self.unit, failed, started)  # from here on the way leads back
        return Deployed(stopped, started, self._go_back(failed))

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
        if not receipt.between_batches and not self.request.stop.interrupt_batch:
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
        before = previous_application(read_events(self.unit), failed)
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
            deploy = member.query.deploy
            plan = make_rollback(
                member.stores,
                batch_id,
                sink=deploy.sink,
                trigger=deploy.trigger,
                trim_sink_log=deploy.sink is not None and deploy.sink.kind == "file",
            )
            apply(
                plan,
                member.stores,
                by=self.by,
                query_is_stopped=stopped_word(self.unit, self.engine),
                break_lock=self.break_lock,
                tell=self.tell,
                accept_sink=self.request.accept_sink,
                quiet_s=0.0,
            )


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
    return next((event.application for event in reversed(earlier) if event.started and event.started.committed), None)


def application_before(events: tuple[Event, ...], is_own: Callable[[str], bool]) -> Application | None:
    """What ran before the newest start of those by whom it was begun; without one of theirs, what was started last.

    Args:
        events: The stops and starts.
        is_own: Whether somebody by whom a start was begun is one of them.
    """
    own = next((event for event in reversed(events) if event.verb == "start" and is_own(event.by)), None)
    if own is not None:
        return previous_application(events, own)
    return next((event.application for event in reversed(events) if event.started and event.started.committed), None)


def _has_failed(event: Event) -> bool:
    return event.started is not None and not event.started.committed
