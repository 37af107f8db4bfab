"""Several actors on one storage, of which one goes on at a time: every interleaving of their calls, chosen by a seed.

An actor is a function that gets a store of its own. Before each call of that store it waits for its turn; it may be
killed there, before the call or after it was carried out, and its calls may fail. The clock of the storage is the
model's, and goes on with each turn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Condition, Lock, Thread
from typing import Any

from airflow_provider_ckpt.errors import ObjectExistsError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store

CALLS = ("find", "read", "create", "delete")
MINUTE_MS = 60_000
#: Nobody waits for more turns than this.
PATIENCE = 25


class Killed(BaseException):
    """The process of an actor is gone."""


class Actor:
    """One process: what it does, and where it is."""

    def __init__(self, turns: Turns, name: str, act: Callable[[Actor], None]) -> None:
        self.turns, self.name, self.act = turns, name, act
        self.one_call = Lock()  # its threads take turns among themselves
        self.state = "running"
        self.waits, self.killed = 0, False
        self.error: BaseException | None = None
        self.thread = Thread(target=self._run, daemon=True)

    def kill(self) -> None:
        """It makes no call any more."""
        self.killed = True

    def _run(self) -> None:
        try:
            self.act(self)
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        finally:
            with self.turns.changed:
                self.state = "done"
                self.turns.changed.notify_all()


class Turns:
    """Whose turn it is.

    Args:
        seed: Chooses.
        minutes: How far the clock goes on with a turn, at most.
    """

    def __init__(self, seed: int, now_ms: int, minutes: int = 20) -> None:
        self.random = random.Random(seed)
        self.minutes = minutes
        self.now_ms = now_ms
        self.changed = Condition()
        self.actors: list[Actor] = []
        self.created_ms: dict[str, int] = {}
        self.fail_share = 0.0

    def start(self, name: str, act: Callable[[Actor], None]) -> Actor:
        """Let one more begin."""
        actor = Actor(self, name, act)
        self.actors.append(actor)
        actor.thread.start()
        with self.changed:
            self.changed.wait_for(lambda: actor.state != "running", timeout=300)
        return actor

    def run(self, at_each_turn: Callable[[], None]) -> None:
        """Give turns until all have done what they do. Raises the first error of an actor."""
        while waiting := [actor for actor in self.actors if actor.state == "waiting"]:
            for actor in waiting:
                actor.waits += 1
            starving = [actor for actor in waiting if actor.waits > PATIENCE]
            chosen = (starving or [self.random.choice(waiting)])[0]
            self.now_ms += self.random.randrange(self.minutes) * MINUTE_MS
            self._let_go_on(chosen)
            at_each_turn()
        for actor in self.actors:
            assert actor.state == "done", f"{actor.name} does not go on"
            if actor.error:
                raise actor.error

    def _let_go_on(self, actor: Actor) -> None:
        with self.changed:
            actor.waits, actor.state = 0, "running"
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: actor.state != "running", timeout=300), f"{actor.name} hangs"

    def wait_for_turn(self, actor: Actor) -> None:
        """Called by an actor's thread before a call."""
        with self.changed:
            actor.state = "waiting"
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: actor.state == "running", timeout=900)
        if actor.killed:
            raise Killed


class TurnStore(Store):
    """The store of one actor; times are the model's."""

    actor: Actor

    @classmethod
    def of(cls, location: str, actor: Actor) -> TurnStore:
        store = cls.open(location)
        store.actor = actor
        return store

    def find(self, directory: str = "") -> Any:
        times = self.actor.turns.created_ms
        found = self._in_turn("find", directory)
        return {name: replace(item, modified_ms=times.get(name)) for name, item in found.items()}

    def read(self, name: str) -> Any:
        return self._in_turn("read", name)

    def create(self, name: str, data: bytes) -> None:
        turns = self.actor.turns
        if turns.random.random() < turns.fail_share:
            self._create_with_trouble(name, data)
        else:
            self._in_turn("create", name, data)

    def _create_with_trouble(self, name: str, data: bytes) -> None:
        """The driver asks twice, for the first answer was lost; or gives up a request that still arrives."""
        if self.actor.turns.random.random() < 0.5:
            self._in_turn("create", name, data)
            raise ObjectExistsError("exists already", name=name)

        def arrive(actor: Actor) -> None:
            with suppress(StoreError):
                TurnStore.of(self.location, actor)._in_turn("create", name, data)

        self.actor.turns.start(f"request {name}", arrive)
        raise StoreUnavailableError("no answer", name=name)

    def delete(self, name: str) -> None:
        self._in_turn("delete", name)

    def _in_turn(self, call: str, *arguments: Any) -> Any:
        actor, turns = self.actor, self.actor.turns
        with actor.one_call:
            turns.wait_for_turn(actor)
            fails = turns.random.random() < turns.fail_share
            if fails and turns.random.random() < 0.5:
                raise StoreUnavailableError(f"injected before {call}", name=arguments[0])
            answer = getattr(Store, call)(self, *arguments)
            if call == "create":
                turns.created_ms.setdefault(arguments[0], turns.now_ms)
            if fails:
                raise StoreUnavailableError(f"injected after {call}", name=arguments[0])
            return answer
