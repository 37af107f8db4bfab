"""Every interleaving, depth first: a run is repeated up to a choice, and there another actor goes on.

Two prefixes after which the same is stored, and each actor has done and seen the same, are one state, which is visited
once. A call that only reads, and that no call of another actor can ever meet, is made at once: its place in the order
does not show.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.interleavings.invariants import BrokenError, Invariants
from tests.interleavings.scheduler import Actor, Part, Run
from tests.interleavings.world import World

#: How many runs there are between two readings of the clock, each of which is a system call.
RUNS_A_LOOK = 8


@dataclass(frozen=True, slots=True)
class Scenario:
    """Who acts on what.

    Args:
        name: For people.
        kind: Of the storage.
        world: What is there before.
        parts: Who acts.
        invariants: Makes what must hold.
        crashes: Who may be crashed where others see that; anybody else may stop anywhere anyway.
    """

    name: str
    kind: str
    world: World
    checkpoint: str
    parts: tuple[Part, ...]
    invariants: Callable[[], Invariants]
    on_crash: Callable[[Actor], None]
    crashes: tuple[str, ...] = ()


@dataclass(slots=True)
class Covered:
    """What a search has visited.

    Args:
        states: Different ones.
        runs: How often the actors were run.
        depth: Calls of the longest run.
        bound: Most preemptions in a run; None when there was no bound.
        left: Prefixes that were not tried for want of time.
        was_bounded: Whether there was a schedule with more preemptions.
        seconds: CPU time.
        broken: The first invariant that did not hold.
        schedule: And how.
    """

    states: int = 0
    runs: int = 0
    depth: int = 0
    bound: int | None = None
    left: int = 0
    was_bounded: bool = False
    seconds: float = 0.0
    broken: BrokenError | None = None
    schedule: tuple[int, ...] = ()
    calls: list[str] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)


def explore(scenario: Scenario, *, bound: int | None = None, seconds: float = 600.0) -> Covered:
    """Visit every state, up to a number of preemptions, or until the time is over or an invariant is broken."""
    return _Search(scenario, bound, seconds).go()


class _Search:
    def __init__(self, scenario: Scenario, bound: int | None, seconds: float) -> None:
        self.scenario, self.bound = scenario, bound
        self.began, self.until = time.process_time(), time.process_time() + seconds
        self.invariants = scenario.invariants()
        self.todo: list[tuple[int, ...]] = [()]
        self.seen: dict[int, int] = {}
        self.covered = Covered(bound=bound)
        self.prefix: tuple[int, ...] = ()
        self.preemptions = 0

    def go(self) -> Covered:
        covered = self.covered
        while self.todo and (covered.runs % RUNS_A_LOOK or time.process_time() < self.until):
            self.prefix, self.preemptions = self.todo.pop(), 0
            scenario = self.scenario
            run = Run(scenario.world.copy(), scenario.checkpoint, scenario.parts, self.choose)
            run.on_crash = scenario.on_crash
            covered.runs += 1
            try:
                run.carry_out()
            except BrokenError as error:
                covered.broken, covered.schedule = error, tuple(run.schedule)
                covered.calls = [f"{name}: {call}" for name, call in run.calls]
                break
            finally:
                for actor in run.actors:  # what a run that is over still holds
                    scenario.on_crash(actor)
            covered.depth = max(covered.depth, len(run.schedule))
        covered.states, covered.left = len(self.seen), len(self.todo)
        covered.seconds = time.process_time() - self.began
        return covered

    def choose(self, run: Run) -> int | None:
        """Who goes on."""
        at, last = len(run.schedule), run.schedule[-1] if run.schedule else None
        ready = run.ready
        if at < len(self.prefix):
            choice = self.prefix[at]
            self._count(choice, last, ready)
            return choice
        if self._is_seen(run, last):
            return None
        self.invariants.judge(run)
        if not ready:
            self._note_end(run)
            return None
        first, *others = self._choices(run, ready, last)
        for other in others:
            if self.bound is None or self.preemptions + self._preempts(other, last, ready) <= self.bound:
                self.todo.append((*run.schedule, other))
            else:
                self.covered.was_bounded = True
        self._count(first, last, ready)
        return first

    def _is_seen(self, run: Run, last: int | None) -> bool:
        key = run.key if self.bound is None else hash((run.key, last))
        if self.seen.get(key, 1 << 30) <= self.preemptions:
            return True
        self.seen[key] = 0 if self.bound is None else self.preemptions
        return False

    def _choices(self, run: Run, ready: list[Actor], last: int | None) -> list[int]:
        """Who may go on here, whoever went on before first."""
        crashes = [-actor.number - 1 for actor in ready if actor.name in self.scenario.crashes]
        if not crashes:
            for actor in ready:
                if actor.number == last and _meets_nobody(actor, run):
                    return [actor.number]
        numbers = sorted((actor.number for actor in ready), key=lambda number: number != last)
        return [*numbers, *crashes]

    def _preempts(self, choice: int, last: int | None, ready: list[Actor]) -> int:
        return int(choice >= 0 and choice != last and last is not None and any(a.number == last for a in ready))

    def _count(self, choice: int, last: int | None, ready: list[Actor]) -> None:
        self.preemptions += self._preempts(choice, last, ready)

    def _note_end(self, run: Run) -> None:
        ends = ", ".join(
            f"{actor.name}: {type(actor.error).__name__ if actor.error else actor.state}" for actor in run.actors
        )
        self.covered.outcomes[ends] = self.covered.outcomes.get(ends, 0) + 1


def _meets_nobody(actor: Actor, run: Run) -> bool:
    """Whether the next call of an actor only reads, and commutes with all that anybody else may ever do."""
    others = (other.part.reach for other in run.actors if other is not actor and other.state == "ready")
    return not actor.pending.writes and not any(reach.meets(actor.pending) for reach in others)
