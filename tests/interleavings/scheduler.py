"""One run of several actors over one storage, of which one goes on at a time: the schedule says which.

An actor is a function with a stack of its own, a greenlet: a thread would cost a hundred times as much to change to.
Before each call of its storage it stops, and the schedule, a list of the numbers of actors, says who makes his call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from greenlet import getcurrent, greenlet

from tests.interleavings.world import Object, World


class Killed(BaseException):
    """The run is over, and with it whatever an actor would have done."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a storage.

    Args:
        kind: Such as ``list`` or ``create``.
        paths: What it is about.
        writes: Whether it may change anything.
    """

    kind: str
    paths: tuple[str, ...]
    writes: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {' -> '.join(self.paths)}"


@dataclass(frozen=True, slots=True)
class Reach:
    """The directories that an actor may read, and those that it may write as well."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def meets(self, call: Call) -> bool:
        """Whether the actor may ever make a call that does not commute with this one."""
        places = (*self.reads, *self.writes) if call.writes else self.writes
        return any(_overlap(path, place) for path in call.paths for place in places)


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


@dataclass(frozen=True, slots=True)
class Part:
    """An actor of a scenario: its name, what it does, where, and whether it is an operator or the query itself."""

    name: str
    act: Callable[[Actor], object]
    reach: Reach
    is_operator: bool = True
    #: How far its clock is ahead.
    ahead_ms: int = 0
    #: Does not begin before this one has been crashed.
    after_crash_of: str = ""
    #: The location that Spark must start from when it is done.
    makes: str = ""


class Actor:
    """An actor in one run."""

    def __init__(self, run: Run, number: int, part: Part) -> None:
        self.run, self.number, self.part, self.name = run, number, part, part.name
        self.is_operator = part.is_operator
        self.state = "ready"
        self.pending = Call("nothing", ())
        #: What it has asked and was answered, which decides what it does next.
        self.history = hash(part.name)
        self.writings = self.tokens = 0
        #: The location of which it holds the lock, or nothing.
        self.holds = ""
        #: What it has looked at last, and what was there.
        self.last_seen: tuple[str, object] = ("", None)
        self.outcome: object = None
        self.error: BaseException | None = None
        self.stack = _Stack(self)

    def note(self, *facts: object) -> None:
        """It has learnt something."""
        self.history = hash((self.history, facts))

    def live(self) -> None:
        """Do what it does, from its first call to its end."""
        try:
            self.note("begun")
            self.outcome = self.part.act(self)
        except Killed:
            return
        except Exception as error:
            self.error = error
        self.state = "done"
        self.note("done", type(self.error).__name__)


class _Stack(greenlet):
    """Where an actor has stopped."""

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor.live)
        self.actor = actor


def current() -> Actor | None:
    """Who is acting; none while a scenario is laid out and while it is judged."""
    return getattr(getcurrent(), "actor", None)


class Run:
    """One run.

    Args:
        world: The storage, which the run changes.
        checkpoint: The path of the checkpoint that is about to be changed.
        parts: Who acts.
        choose: Says who goes on; None ends the run. A negative number crashes an actor: -1 the first one.
    """

    def __init__(
        self, world: World, checkpoint: str, parts: tuple[Part, ...], choose: Callable[[Run], int | None]
    ) -> None:
        self.world, self.checkpoint, self._choose = world, f"{checkpoint}/", choose
        self.schedule: list[int] = []
        self.calls: list[tuple[str, Call]] = []
        self.actors = [Actor(self, number, part) for number, part in enumerate(parts)]
        #: What else ends with the process of an actor.
        self.on_crash: Callable[[Actor], None] = lambda actor: None
        #: The operator that has changed the checkpoint last, and those that did before.
        self.owner, self.displaced = "", frozenset[str]()
        #: What an operator has removed from the checkpoint that is not saved; the first one.
        self.lost = ""
        #: Operators that have changed the checkpoint since the query wrote last, so that they could have seen that.
        self.unaware: frozenset[str] = frozenset()
        #: What operators themselves have written to the checkpoint, which need not be saved.
        self.own: dict[str, Object] = {}
        self.main, self._killed = getcurrent(), False

    def carry_out(self) -> None:
        """Let the actors go on until nobody is chosen."""
        try:
            for actor in self.actors:
                actor.stack.switch()
            while (choice := self._choose(self)) is not None:
                self.schedule.append(choice)
                if choice >= 0:
                    self.actors[choice].stack.switch()
                    continue
                crashed = self.actors[-choice - 1]
                crashed.state = "crashed"
                self.on_crash(crashed)
        finally:
            self._killed = True
            for actor in self.actors:
                if actor.stack:  # it has begun, and has not ended
                    actor.stack.throw(Killed)

    @property
    def ready(self) -> list[Actor]:
        """Who can go on."""
        crashed = {actor.name for actor in self.actors if actor.state == "crashed"}
        return [
            actor for actor in self.actors if actor.state == "ready" and actor.part.after_crash_of in ("", *crashed)
        ]

    @property
    def key(self) -> int:
        """Equal for two runs that have come to the same: what is stored, and what each actor has done and seen."""
        actors = tuple((actor.state, actor.history) for actor in self.actors)
        return hash((self.world.key, actors, self.owner, self.displaced, self.lost, self.unaware))

    def changed(self, actor: Actor, path: str, new: Object | None) -> None:
        """An actor is about to change what is at a path, to something new or to nothing."""
        if not path.startswith(self.checkpoint):
            return
        if not actor.is_operator:
            self.unaware = frozenset()
            return
        self.unaware |= {actor.name}
        if actor.name != self.owner:
            self.displaced |= {self.owner} - {""}
            self.owner = actor.name
        stored = self.world.objects.get(path)
        changed_since = (
            actor.last_seen[0] == path and actor.last_seen[1] is not stored
        )  # nobody can delete on a condition
        is_own = self.own.get(path) is stored
        if stored is not None and not is_own and not changed_since and not self._is_saved(path, stored.data):
            self.lost = self.lost or path
        if new is not None:
            self.own[path] = new

    def _is_saved(self, path: str, data: bytes) -> bool:
        name = f"/saved/checkpoint/{path.removeprefix(self.checkpoint)}"
        return any(other.endswith(name) and item.data == data for other, item in self.world.objects.items())

    def perform(self, actor: Actor, call: Call, effect: Callable[[], Any]) -> Any:
        """Make a call of an actor when it is its turn."""
        if self._killed:
            raise Killed
        actor.pending = call
        self.main.switch()
        self.calls.append((actor.name, call))
        try:
            answer = effect()
        except OSError as error:
            if call.kind == "stat":
                actor.last_seen = (call.paths[0], None)
            actor.note(call, type(error).__name__)
            raise
        if call.kind == "stat":
            actor.last_seen = (call.paths[0], answer)
        actor.note(call, answer)
        return answer
