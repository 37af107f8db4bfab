"""`make interleavings`: every pair of actors on both storages, as deep as the time allows, and what was covered.

Preemptions are moments at which an actor that could go on is interrupted. Schedules with one are tried first, then
those with two, and so on; a bound that was not completed is printed with a question mark, and does not count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import count

from tests.interleavings import seeded
from tests.interleavings.clock import decided
from tests.interleavings.groups import PAIRS, THREES
from tests.interleavings.search import Covered, explore
from tests.interleavings.stores import PAGE, ROOTS

SCENARIOS = (*PAIRS, *THREES)
#: Of CPU time, all searches together; and how many run side by side.
SECONDS, PROCESSES = 1_100, 2


def main(words: list[str]) -> int:
    """Search, print, and say by the exit code whether an invariant was broken or a bug was missed.

    With words the groups whose function has one of them in its name are searched alone, and no seeded bug.
    """
    wanted = [at for at, group in enumerate(SCENARIOS) if not words or any(word in group.__name__ for word in words)]
    todo = [(number, kind) for number in wanted for kind in ROOTS]
    each = SECONDS / len(todo)
    began = time.monotonic()
    with ProcessPoolExecutor(PROCESSES) as pool:
        failed = not words and _print_bugs(pool.map(_find, range(len(seeded.BUGS))))
        print(f"{'actors':44} {'storage':8} {'states':>8} {'runs':>7} {'depth':>6} {'preemptions':>12} {'seconds':>8}")
        states = 0
        for (_, kind), (name, found) in zip(todo, pool.map(_search, todo, [each] * len(todo)), strict=True):
            failed |= _print(name, kind, found)
            states += found[-1].states
    minutes = (time.monotonic() - began) / 60
    print(f"{len(wanted)} groups of actors on {len(ROOTS)} storages, {states:,} states in {minutes:.1f} minutes")
    return int(failed)


def _print_bugs(found: Iterable[Covered]) -> bool:
    """A row for each seeded bug as soon as it was searched for; whether one was missed."""
    missed = 0
    for bug, covered in zip(seeded.BUGS, found, strict=True):
        is_found = covered.broken is not None and covered.broken.invariant in bug.broken
        missed += not is_found
        said = f"found after {covered.runs} runs: {covered.broken}" if is_found else f"NOT FOUND ({covered.broken})"
        print(f"{bug.name}: {said}", flush=True)
    print(f"seeded bugs found: {len(seeded.BUGS) - missed} of {len(seeded.BUGS)}", flush=True)
    return missed > 0


def _search(which: tuple[int, str], seconds: float) -> tuple[str, list[Covered]]:
    """One scenario with one preemption, two, and so on, until the time is over, or no schedule has more."""
    number, kind = which
    found: list[Covered] = []
    with decided(PAGE):
        scenario = SCENARIOS[number](kind)
        for bound in count(1):
            covered = explore(scenario, bound=bound, seconds=seconds - sum(item.seconds for item in found))
            found.append(covered)
            if covered.broken or covered.left or not covered.was_bounded:
                return scenario.name, found
    raise AssertionError("there is a bound that bounds nothing")


def _find(number: int) -> Covered:
    bug = seeded.BUGS[number]
    with decided(PAGE), bug.patch():
        return explore(bug.scenario(bug.kind), bound=bug.bound)


def _print(name: str, kind: str, found: list[Covered]) -> bool:
    """A row for each bound; whether an invariant was broken."""
    for covered in found:
        bound = f"{covered.bound}?" if covered.left else str(covered.bound) if covered.was_bounded else "all"
        numbers = f"{covered.states:8} {covered.runs:7} {covered.depth:6} {bound:>12} {covered.seconds:8.1f}"
        print(f"{name:44} {kind:8} {numbers}", flush=True)
        if covered.broken:
            print(f"BROKEN: {covered.broken}", *covered.calls, sep="\n  ", flush=True)
    return any(covered.broken for covered in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
