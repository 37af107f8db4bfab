"""The ways in which a walk carries a change out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.changes.sources.real_query import Spark
from tests.dying import KILLED as DIED
from tests.walk import command
from tests.walk.command import Answer

PLAIN, BY_PLAN, KILLED, TWICE = "plain", "by plan", "killed", "second operator"
BESIDE = "supervised"
_OF_A_PLAN = (PLAIN, BY_PLAN, KILLED, TWICE)
#: In which ways each change is carried out. Those with BESIDE can fence a query, or do not mind that it runs.
WAYS_OF: dict[str, tuple[str, ...]] = {
    "rollback": (*_OF_A_PLAN, BESIDE),
    "before-deploy": (*_OF_A_PLAN, BESIDE),
    "sources": (*_OF_A_PLAN, BESIDE),
    "reset-offsets": (*_OF_A_PLAN, BESIDE),
    "fence": (PLAIN, KILLED, TWICE, BESIDE),
    "salvage": _OF_A_PLAN,
    "repair": _OF_A_PLAN,
    "repartition": _OF_A_PLAN,
    "undo": _OF_A_PLAN,
    "backup": (PLAIN, KILLED, TWICE, BESIDE),
    "restore": _OF_A_PLAN,
}
DONE, REFUSED = 0, 4


@dataclass(frozen=True, slots=True)
class Change:
    """A command, in its parts.

    Args:
        place: Its name and what it works on.
        words: What it is to do; a plan in a file says that itself.
        consent: What lets it be carried out.
        stopped: What says that the query is stopped.
        fenced: What it says in place of that where the query may run.
        again: What a second run says after a kill.
    """

    place: tuple[str, ...]
    words: tuple[str, ...] = ()
    consent: tuple[str, ...] = ("--execute",)
    stopped: tuple[str, ...] = ("--i-know-it-is-stopped", "--quiet-period", "0")
    fenced: tuple[str, ...] = ("--fence", "--wait-for-batch", "60", "--quiet-period", "0")
    again: tuple[str, ...] = ("--break-lock",)


@dataclass(slots=True)
class Hand:
    """Who carries changes out.

    Args:
        random: What is drawn from.
        home: The directory of the walk.
        notes: What is told of each kill.
        plans: How many plans were written to files.
    """

    random: Random
    home: Path
    note: Callable[[str], None]
    plans: int = field(default=0)

    def run(self, *words: str) -> Answer:
        """Run a command to its end."""
        return command.ckpt(words, self.home / "commands")

    def carry_out(self, way: str, change: Change, spark: Spark, query: dict[str, Any]) -> tuple[Answer, Any]:
        """The answer, and what came of a query that was started beside the change."""
        words = (*change.place, *change.words, *change.consent, "--json")
        match way:
            case "plain":
                return self.run(*words, *change.stopped), None
            case "by plan":
                return self._by_plan(change), None
            case "killed":
                return self._killed((*words, *change.stopped), change.again), None
            case "second operator":
                return self._twice((*words, *change.stopped)), None
        spark.begin(query)
        time.sleep(self.random.random() * 2)
        answer = self.run(*words, *change.fenced)
        return answer, spark.end()

    def _killed(self, words: tuple[str, ...], again: tuple[str, ...]) -> Answer:
        """Killed before one of its first writes, then the same command again."""
        answer = command.ckpt(words, self.home, dies_at=self.random.randint(1, 40))
        if answer.code == DIED:
            self.note("killed")
            return self.run(*words, *again)
        return answer

    def _twice(self, words: tuple[str, ...]) -> Answer:
        """The same command by two people at once: one of them makes the change."""
        begun = [command.start(words, self.home / "commands") for _ in range(2)]
        first, second = sorted((command.finish(each) for each in begun), key=lambda answer: answer.code)
        self.note(f"two operators: {first.code} and {second.code}")
        return first

    def _by_plan(self, change: Change) -> Answer:
        """A plan that is written to a file, and carried out from it."""
        self.plans += 1
        plan = str(self.home / f"plan{self.plans}.json")
        accepted = [word for word in change.consent if word != "--execute"]
        answer = self.run(*change.place, *change.words, *accepted, "--json", "--plan-out", plan)
        if answer.code != DONE or not Path(plan).exists():
            return answer
        return self.run(*change.place, "--plan", plan, *change.consent, *change.stopped, "--json")
