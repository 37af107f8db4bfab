"""A simulated engine with its drivers and its time: it restarts, takes its time, and tells lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of
from airflow_provider_ckpt.errors import EngineUnknownError, ObjectExistsError
from airflow_provider_ckpt.query.engine import DeclaredEngine, StartRule
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.running.ask_engine import Patience
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

#: Batches that each query has before anything begins.
BATCHES = 3
GOOD, BAD = Application("command", {"start": ("good",)}), Application("command", {"start": ("bad",)})


class Killed(BaseException):
    """The command was killed."""


@dataclass
class Driver:
    """One query in one attempt of a run: plans a batch exclusively, as Spark does, takes its time, commits it."""

    store: Store
    batch_s: float = 2.0
    commits: bool = True
    planned: int | None = None
    committed: int | None = None
    due: float = 0.0
    has_died: bool = False

    def begin(self, now: float) -> None:
        """Start where the checkpoint is, as Spark does."""
        offsets, commits = (self._newest(log) for log in ("offsets", "commits"))
        self.planned, self.committed, self.due = offsets, commits, now + self.batch_s
        if offsets is not None and self.store.read(f"offsets/{offsets}").startswith(b"v2147483647"):
            self.has_died = True

    def go_on(self, now: float) -> None:
        """One step, when it is due."""
        if self.has_died or now < self.due:
            return
        self.due = now + self.batch_s
        query = FakeQuery.__new__(FakeQuery)
        query.store, query.files, query.written, query.watermark_ms = self.store, {}, 0, lambda batch_id: 0
        if self.planned is not None and self.planned != self.committed:
            if self.commits:
                query.files[f"offsets/{self.planned}"] = b""
                query.commit(self.planned)
                self.committed = self.planned
            return
        number = 0 if self.planned is None else self.planned + 1
        query.store = _Exclusive(self.store)
        try:
            query.plan(number)
            self.planned = number
        except ObjectExistsError:
            self.has_died = True

    def _newest(self, log: str) -> int | None:
        names = [name.rpartition("/")[2] for name in self.store.ls(log)[0]]
        return max((int(name) for name in names if name.isdecimal()), default=None)


class _Exclusive:
    def __init__(self, store: Store) -> None:
        self.write = store.create


@dataclass
class _Run:
    id: str
    token: str
    drivers: list[Driver]
    state: str = "RUNNING"
    ends_at: float = float("inf")
    fails_at: float = float("inf")
    begins_at: float = float("inf")


@dataclass
class SimulatedEngine:
    """An engine.

    Args:
        stores: The checkpoints of the queries of its application.
        restarts: How often it starts a run again whose driver has died.
        restarts_killed: How often it starts a run again that was ended.
        can_disarm: Whether it can be kept from that.
        restart_s: After so long.
        end_s: How long a run takes to end.
        finds_tokens: Whether a start that was interrupted is found.
        dies_at: Calls of it, from 1, at which the command is killed, after the engine has done what was asked.
        silent_at: Calls that it does not answer.
        ends_with_one: Whether the application fails when one of its queries does (``awaitAnyTermination``).
    """

    stores: Sequence[Store]
    restarts: int = 0
    restarts_killed: int = 0
    can_disarm: bool = True
    restart_s: float = 1.0
    end_s: float = 3.0
    batch_s: float = 2.0
    finds_tokens: bool = True
    ends_with_one: bool = False
    settle_s: float = 2.0
    dies_at: frozenset[int] = frozenset()
    silent_at: frozenset[int] = frozenset()
    now: float = 0.0
    calls: int = 0
    runs: list[_Run] = field(default_factory=list)
    is_armed: bool = True
    log: list[str] = field(default_factory=list)

    @property
    def submit_s(self) -> float | None:
        return 5.0 if self.finds_tokens else None

    # --- what the command asks ---------------------------------------------------------------------------------

    def look(self, known: Sequence[str]) -> Seen:
        self._called("look")
        runs = {run.id: self._seen(run) for run in self.runs if self.finds_tokens or run.id in known}
        for each in known:
            runs.setdefault(each, Run(each, Presence.ABSENT))
        restarts = Restarts.NONE if not self.restarts else Restarts.ARMED if self.is_armed else Restarts.SUSPENDED
        return self._answered(Seen(tuple(runs.values()), restarts, complete=self.finds_tokens))

    def disarm(self) -> bool:
        self._called("disarm")
        self.is_armed = self.is_armed and not self.can_disarm
        return self._answered(self.can_disarm)

    def arm(self) -> None:
        self._called("arm")
        self.is_armed = True
        self._answered(None)

    def end(self, run: Run) -> None:
        self._called(f"end {run.id}")
        found = next(each for each in self.runs if each.id == run.id)
        if found.state in ("RUNNING", "RETRYING"):
            found.state, found.ends_at = "STOPPING", self.now + self.end_s
        self._answered(None)

    def start(self, application: Application, token: str) -> Run:
        self._called(f"start {token}")
        if not any(run.token == token for run in self.runs):
            drivers = [
                Driver(store, self.batch_s, commits=application.said["start"] != BAD.said["start"])
                for store in self.stores
            ]
            self.runs.append(_Run(f"app-{len(self.runs)}", token, drivers))
            for driver in drivers:
                driver.begin(self.now)
        return self._answered(self._seen(next(run for run in self.runs if run.token == token)))

    def _seen(self, run: _Run) -> Run:
        live = run.state not in ("KILLED", "FAILED")
        generation = generation_of("orders", run.token)
        return Run(run.id, Presence.LIVE if live else Presence.ENDED, run.state, generation)

    def _called(self, what: str) -> None:
        self.calls += 1
        self.log.append(what)
        if self.calls in self.silent_at:
            raise EngineUnknownError("the engine does not answer")

    def _answered(self, answer):
        if self.calls in self.dies_at:
            raise Killed
        return answer

    # --- time ----------------------------------------------------------------------------------------------------

    def sleep(self, seconds: float) -> None:
        """Time goes on, in small steps."""
        until = self.now + max(seconds, 0.1)
        while self.now < until:
            self.now = min(until, self.now + 0.1)
            for run in self.runs:
                self._go_on(run)

    def monotonic(self) -> float:
        """The clock, of which each reading takes a moment."""
        self.now += 0.001
        return self.now

    def _go_on(self, run: _Run) -> None:
        if run.state == "STOPPING" and self.now >= run.ends_at:
            run.state = "KILLED"
            if self.restarts_killed:
                self.restarts_killed -= 1
                run.state, run.begins_at = "RETRYING", self.now + self.restart_s
        if run.state == "RETRYING" and self.now >= run.begins_at:
            run.state = "RUNNING"
            run.drivers = [replace(driver, has_died=False) for driver in run.drivers]
            for driver in run.drivers:
                driver.begin(self.now)
        if run.state != "RUNNING":
            return
        if self.now >= run.fails_at:
            run.state = "FAILED"
            return
        for driver in run.drivers:
            driver.go_on(self.now)
        died = [driver.has_died for driver in run.drivers]
        if all(died) or (self.ends_with_one and any(died)):
            if self.restarts and self.is_armed:
                self.restarts -= 1
                run.state, run.begins_at = "RETRYING", self.now + self.restart_s
            else:
                run.state = "FAILED"


def patience(engine: SimulatedEngine, end_within_s: float = 60.0) -> Patience:
    """Time of the engine."""
    return Patience(end_within_s, 0.5, 5.0, engine.monotonic, engine.sleep)


def unit_of(*stores: Store, on_failure: str = "rollback") -> Unit:
    """The application of queries with these checkpoints."""
    declared = DeclaredEngine("command", start=StartRule(30.0, on_failure))
    members = tuple(Member(Query(store.base_name, store.location), Stores(store)) for store in stores)
    return Unit("orders", declared, members)


def with_batches(store: Store) -> Store:
    """A checkpoint with some batches, of no query that runs."""
    query = FakeQuery(store)
    for batch_id in range(BATCHES):
        query.commit(batch_id)
    return store


def newest(store: Store, log: str) -> int:
    """The newest batch of a log."""
    return max(int(name.rpartition("/")[2]) for name in store.ls(log)[0] if name.rpartition("/")[2].isdecimal())


def drive(store: Store, engine: SimulatedEngine) -> None:
    """Run the query by hand for some batches, where the engine does not see it."""
    driver = Driver(store)
    driver.begin(engine.now)
    for _ in range(6):
        engine.now += 3
        driver.go_on(engine.now)
