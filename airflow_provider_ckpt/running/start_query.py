"""Starting an application: the proof that it is stopped, the gate, its fence withdrawn, the engine, its first commit.

A start is written down before the engine is asked. One whose answer was lost is found by its token, and where the
engine finds nothing by tokens, a person says what became of it: it is never asked for twice.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.change.fence.plan import is_closing
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.change.lock import locked, locked_runs
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.engines.engine import Application, Engine
from airflow_provider_ckpt.engines.run import Presence, Run, Seen, token_of
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointError,
    CheckpointNotFoundError,
    EngineError,
    EngineUnknownError,
    GateFailedError,
)
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.running.ask_engine import Patience, see
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StartReceipt
from airflow_provider_ckpt.running.record_runs import (
    Event,
    begin,
    finish,
    known_runs,
    next_number,
    note_run,
    read_events,
)
from airflow_provider_ckpt.running.require_stopped import batches_of, require_stopped
from airflow_provider_ckpt.running.withdraw_fence import withdraw_fence
from airflow_provider_ckpt.times import duration_text

#: What the lock of a change says is being done.
_LOCK = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """How an application is started.

    Args:
        query_is_stopped: Nobody asks for the proof: a person knows that no run is there.
        not_started: A person knows that the start that was interrupted has begun no run.
        commit_within: Seconds within which each query has to commit a batch; None for what is declared.
        gate: Judge the restart first.
    """

    query_is_stopped: bool = False
    not_started: bool = False
    commit_within: float | None = None
    gate: bool = True


def start_query(
    unit: Unit,
    engine: Engine,
    application: Application,
    request: StartRequest | None = None,
    *,
    by: str = "",
    break_lock: bool = False,
    patience: Patience | None = None,
    tell: Tell = silent,
) -> StartReceipt:
    """Start an application, or go on with a start that was interrupted.

    Args:
        unit: The application.
        engine: Where it runs.
        application: What is started.
        request: How.
        by: Who does it.
        break_lock: Remove the lock of another run of ckpt, which the user knows has ended.
        patience: How long is waited.
        tell: Told what is being waited for.

    Returns:
        The receipt; ``committed`` is false where a query has not committed a batch in time.

    Raises:
        CheckpointBusyError: There is no proof that the application is stopped.
        GateFailedError: Spark would not start, or would not do what is declared.
        EngineUnknownError: The engine does not say which runs there are.
    """
    with ExitStack() as stack:
        for member in unit.members:
            stack.enter_context(
                locked_runs(member.checkpoint, "start", by, undo=member.stores.undo, break_lock=break_lock)
            )
        start = _Start(
            unit=unit,
            engine=engine,
            application=application,
            request=request or StartRequest(),
            by=by,
            break_lock=break_lock,
            patience=patience or Patience(),
            tell=tell,
        )
        return start.start()


@dataclass(slots=True, kw_only=True)
class _Start:
    """One run of the command; see :func:`start_query`."""

    unit: Unit
    engine: Engine
    application: Application
    request: StartRequest
    by: str
    break_lock: bool
    patience: Patience
    tell: Tell

    def start(self) -> StartReceipt:
        """The whole."""
        events = read_events(self.unit)
        newest = events[-1] if events else None
        if newest is not None and newest.verb == "start":
            if newest.started is not None and (found := self._still_there(newest, events)) is not None:
                return found
            if newest.started is None:
                self._require_own(newest)
                event, run = (newest, newest.run) if newest.run else self._found_again(newest, events)
                return self._finished(event, run, events)
        self._require_stopped(events)
        self._gate()
        self._withdraw_fences(events)
        event = self._begin(events)
        return self._finished(event, self._submit(event, events), events)

    # --- before the engine is asked -------------------------------------------------------------------------------

    def _still_there(self, event: Event, events: tuple[Event, ...]) -> StartReceipt | None:
        """The receipt of the newest start, whose run is there; None where it has ended.

        Raises CheckpointBusyError where another application is there.
        """
        live = see(self.unit, self.engine, known_runs(events)).of(Presence.LIVE)
        if not live:
            return None
        if event.application != self.application or event.run is None or live[0].id != event.run.id:
            raise CheckpointBusyError(
                f"{self.unit.name} runs: {live[0].id} is {live[0].native or 'there'}, and is another one.",
                location=self.unit.location,
                hint=f"Nothing was done. Stop it first (ckpt stop {self.unit.name} --execute), or deploy over it "
                f"(ckpt deploy {self.unit.name} --execute).",
            )
        return event.started

    def _require_own(self, event: Event) -> None:
        """Raise CheckpointBusyError where a start that has not committed yet is that of another application."""
        if event.application != self.application:
            raise CheckpointBusyError(
                f"the start {self._token(event)} has not committed yet, and is one of another application than the one "
                "that is declared now.",
                location=self.unit.location,
                hint=f"Nothing was done. Stop it first (ckpt stop {self.unit.name} --execute), or deploy over it "
                f"(ckpt deploy {self.unit.name} --execute).",
            )

    def _see(self, events: tuple[Event, ...]) -> Seen:
        return see(self.unit, self.engine, known_runs(events), written_off=self.request.query_is_stopped)

    def _require_stopped(self, events: tuple[Event, ...]) -> None:
        if self.request.query_is_stopped or not any(_is_there(member) for member in self.unit.members):
            seen = self._see(events)
            if live := seen.of(Presence.LIVE):
                raise CheckpointBusyError(
                    f"the run {live[0].id} of {self.unit.name} is {live[0].native or 'there'}.",
                    location=self.unit.location,
                    hint=f"Nothing was done. Stop it first: ckpt stop {self.unit.name} --execute",
                )
            return
        require_stopped(self.unit, self.engine, events)

    def _gate(self) -> None:
        """Raise GateFailedError where the gate of a query is closed."""
        for member in self.unit.members if self.request.gate else ():
            if _is_there(member) and not _is_held(member):
                judge(self.unit, member)

    def _withdraw_fences(self, events: tuple[Event, ...]) -> None:
        """Take back the fence of each query that is there.

        One that cannot be taken back is told: its batch runs. Raises PlanError where it holds the checkpoint.
        """

        def word() -> bool:
            self._require_stopped(events)
            return True

        for member in self.unit.members:
            if _is_there(member):
                withdraw_fence(member, word, by=self.by, break_lock=self.break_lock, tell=self.tell)

    # --- the engine -----------------------------------------------------------------------------------------------

    def _begin(self, events: tuple[Event, ...]) -> Event:
        generations = [event.generation for event in events]
        seen = self._see(events)
        generations += [run.generation for run in seen.runs if run.generation is not None]
        event = Event(
            number=next_number(self.unit),
            verb="start",
            by=self.by,
            begun_at_ms=now_ms(),
            generation=1 + max(generations, default=0),
            runs=tuple(run.id for run in seen.runs),
            application=self.application,
            from_batches=self._batches(),
        )
        self._require_stopped(events)  # right before the intent: nothing was begun since
        begin(self.unit, event)
        return event

    def _submit(self, event: Event, events: tuple[Event, ...]) -> Run:
        """Ask the engine, while no change of a checkpoint can begin; what it refuses has not been begun."""
        with ExitStack() as stack:
            for member in self.unit.members:
                if _is_there(member):
                    stack.enter_context(
                        locked(member.checkpoint, _LOCK, self.by, undo=member.stores.undo, break_lock=self.break_lock)
                    )
            seen = self._see(events)
            if live := seen.of(Presence.LIVE):
                raise CheckpointBusyError(
                    f"the run {live[0].id} of {self.unit.name} came while it was started.", location=self.unit.location
                )
            try:
                run = self.engine.start(event.application or self.application, self._token(event))
            except EngineUnknownError:
                raise
            except EngineError as error:
                refused = Run("", Presence.ABSENT, "refused", event.generation)
                finish(self.unit, event, self._receipt(event, refused, self._batches(), error.message))
                raise
        note_run(self.unit, event, run)
        return run

    def _found_again(self, event: Event, events: tuple[Event, ...]) -> tuple[Event, Run]:
        """The run of a start whose answer was lost; it is asked for again where it has surely begun none.

        Then all that was asked before it is asked again: somebody may have driven the query meanwhile.

        Raises EngineUnknownError where nobody but a person knows.
        """
        token, submit_s = self._token(event), self.engine.submit_s
        while True:
            seen = self._see(events)
            if found := [run for run in seen.runs if run.generation == event.generation]:
                note_run(self.unit, event, found[0])
                return event, found[0]
            age_s = max(0.0, (now_ms() - event.begun_at_ms) / 1000)
            if self.request.not_started or (submit_s is not None and seen.complete and age_s >= submit_s):
                self._require_stopped(events[:-1])
                self._gate()
                event = replace(event, from_batches=self._batches())
                return event, self._submit(event, events)
            if submit_s is None or not seen.complete:
                raise EngineUnknownError(
                    f"the start {token} was interrupted, and the engine {self.unit.declared.name} does not say whether "
                    "it has begun a run.",
                    location=self.unit.location,
                    hint="Nothing was done. Search for the run in the engine itself. If there is none, run the same "
                    "command again with --not-started.",
                )
            self.patience.sleep(min(self.patience.poll_s, submit_s))

    def _token(self, event: Event) -> str:
        return token_of(self.unit.name, event.generation)

    # --- after it -------------------------------------------------------------------------------------------------

    def _finished(self, event: Event, run: Run, events: tuple[Event, ...]) -> StartReceipt:
        """Wait for the first commit of each query; a start that has not come so far stays begun, and goes on."""
        within_s = self.unit.declared.start.commit_within_s
        within_s = within_s if self.request.commit_within is None else self.request.commit_within
        self.tell(f"Waiting up to {duration_text(within_s * 1000)} for a commit of the run {run.id}.")
        until, ended_since = self.patience.now() + within_s, None
        while True:
            run, problem = self._seen_now(run)
            batches = self._batches()
            committed = _has_committed(event, batches)
            if (committed and run.presence is Presence.LIVE) or self.patience.now() >= until:
                break
            if run.presence is not Presence.ENDED:
                ended_since = None
            elif ended_since is None:
                ended_since = self.patience.now()
            elif self.patience.now() - ended_since >= self.engine.settle_s:  # with its commit, as availableNow does
                problem = "" if committed else f"the run {run.id} has ended ({run.native or 'ended'}) without a commit"
                break
            self.patience.sleep(self.patience.poll_s)
        waits = within_s > 0 and not committed and run.presence is Presence.LIVE and self._waits_for_data()
        if not committed and not problem and not waits:
            problem = f"no batch of every query was committed within {duration_text(within_s * 1000)}"
        receipt = replace(
            self._receipt(event, run, batches, problem, committed=committed), waits_for_data=waits and not problem
        )
        if receipt.is_good:
            if _was_disarmed(events):
                self.engine.arm()
            finish(self.unit, event, receipt)
        return receipt

    def _waits_for_data(self) -> bool:
        """True if no query has a batch in flight, or anything to read, as far as its sources are declared."""
        for member in self.unit.members:
            try:
                planned, committed = batches_of(observe(member.checkpoint))
                if planned is None or planned != committed:
                    return False
                if not forecast_restart(member.checkpoint, member.query.deploy, self.unit.opener)[1].waits_for_data:
                    return False
            except CheckpointError:
                return False
        return True

    def _receipt(
        self, event: Event, run: Run, batches: dict[str, int | None], problem: str, *, committed: bool = False
    ) -> StartReceipt:
        return StartReceipt(
            name=self.unit.name,
            number=event.number,
            token=self._token(event),
            run=run,
            from_batches=event.from_batches or {},
            batches=batches,
            committed=committed,
            by=self.by,
            at_ms=now_ms(),
            problem=problem,
        )

    def _seen_now(self, run: Run) -> tuple[Run, str]:
        """The run as the engine sees it now, or the one that it has begun in its place; and why nothing is known."""
        try:
            seen = self.engine.look((run.id,))
        except EngineUnknownError as error:
            return replace(run, presence=Presence.UNKNOWN), error.message
        now = next((each for each in seen.runs if each.id == run.id), replace(run, presence=Presence.UNKNOWN))
        again = [each for each in seen.of(Presence.LIVE) if each.generation in (None, run.generation)]
        return (again[0] if again and now.presence is not Presence.LIVE else now), ""

    def _batches(self) -> dict[str, int | None]:
        return {member.query.name: _newest_committed(member) for member in self.unit.members}


def judge(unit: Unit, member: Member) -> None:
    """Raise GateFailedError where a restart of a query would not do what is declared."""
    _, foretold = forecast_restart(member.checkpoint, member.query.deploy, unit.opener)
    if foretold.decision == "block":
        said = next((f"{item.message}" for item in foretold.findings), "the gate says block")
        raise GateFailedError(
            f"the gate of {member.query.name} is closed: {said}",
            findings=foretold.findings,
            location=member.checkpoint.location,
            hint=f"Nothing was started. ckpt gate {member.query.name} says all of it.",
        )


def _was_disarmed(events: tuple[Event, ...]) -> bool:
    """True if a stop since the newest start that has committed kept the engine from starting a run again."""
    for event in reversed(events):
        if event.verb == "start" and event.started is not None and event.started.is_good:
            return False
        if event.disarmed:
            return True
    return False


def _is_held(member: Member) -> bool:
    """True if the checkpoint is closed until the start: nothing can be judged before."""
    fence = find_fence(member.stores)
    return fence is not None and is_closing(fence)


def _is_there(member: Member) -> bool:
    return member.checkpoint.exists()


def _newest_committed(member: Member) -> int | None:
    with suppress(CheckpointNotFoundError):
        return batches_of(observe(member.checkpoint))[1]
    return None


def _has_committed(event: Event, batches: dict[str, int | None]) -> bool:
    before = event.from_batches or {}
    return all(
        now is not None and (before.get(name) is None or now > (before[name] or 0)) for name, now in batches.items()
    )
