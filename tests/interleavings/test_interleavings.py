"""The protocols of changes and backups as they are, interleaved: what is never broken, and what finds the bugs.

`make interleavings` goes as deep as its time allows; here each schedule with one preemption is tried, which is every
pair of a moment of one actor and a moment at which another one begins or goes on, and a crash at each of them. Each
pair of actors meets on one storage, of two neighbours one on each; `CKPT_EXHAUSTIVE=1` has both, and long ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

import pytest

from tests.interleavings import seeded
from tests.interleavings.clock import decided
from tests.interleavings.groups import PAIRS, sample
from tests.interleavings.search import explore
from tests.interleavings.stores import PAGE, ROOTS

pytestmark = pytest.mark.usefixtures("unwatched")
EVERYTHING = bool(os.environ.get("CKPT_EXHAUSTIVE"))
SEARCHED = list(product(PAIRS, ROOTS)) if EVERYTHING else sample()
SEEDED = [bug for bug in seeded.BUGS if EVERYTHING or not bug.is_long]


@pytest.fixture(autouse=True, scope="module")
def nothing_is_random() -> Iterator[None]:
    with decided(PAGE):
        yield


@pytest.mark.parametrize(("scenario", "kind"), SEARCHED, ids=lambda item: getattr(item, "__name__", item))
def test_whatever_the_order_no_invariant_is_broken(scenario, kind):
    covered = explore(scenario(kind), bound=1)
    assert covered.broken is None, "\n".join([str(covered.broken), *covered.calls])
    assert not covered.left
    assert covered.states > covered.depth


@pytest.mark.parametrize("bug", SEEDED, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_found(bug):
    with bug.patch():
        covered = explore(bug.scenario(bug.kind), bound=bug.bound)
    assert covered.broken is not None, f"{covered.states} states and {covered.outcomes}"
    assert covered.broken.invariant in bug.broken


def test_the_same_search_comes_to_the_same_states():
    scenario, kind = PAIRS[0], "disk"
    first, second = (explore(scenario(kind), bound=1) for _ in range(2))
    assert (first.states, first.runs, first.depth) == (second.states, second.runs, second.depth)
