"""The protocols of changes and backups as they are, interleaved: what is never broken, and what finds the bugs.

`make interleavings` goes as deep as its time allows; here each schedule with one preemption is tried, which is every
pair of a moment of one actor and a moment at which another one begins or goes on, and a crash at each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interleavings import seeded
from tests.interleavings.clock import decided
from tests.interleavings.scenarios import PAIRS
from tests.interleavings.search import explore
from tests.interleavings.stores import PAGE, ROOTS


@pytest.fixture(autouse=True, scope="module")
def nothing_is_random() -> Iterator[None]:
    with decided(PAGE):
        yield


@pytest.mark.parametrize("kind", ROOTS)
@pytest.mark.parametrize("scenario", PAIRS, ids=lambda scenario: scenario.__name__)
def test_whatever_the_order_no_invariant_is_broken(scenario, kind):
    covered = explore(scenario(kind), bound=1)
    assert covered.broken is None, "\n".join([str(covered.broken), *covered.calls])
    assert not covered.left
    assert covered.states > covered.depth


@pytest.mark.parametrize("bug", seeded.BUGS, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_found(bug):
    with bug.patch():
        covered = explore(bug.scenario(bug.kind), bound=bug.bound)
    assert covered.broken is not None, f"{covered.states} states and {covered.outcomes}"
    assert covered.broken.invariant in bug.broken


def test_the_same_search_comes_to_the_same_states():
    scenario, kind = PAIRS[0], "disk"
    first, second = (explore(scenario(kind), bound=1) for _ in range(2))
    assert (first.states, first.runs, first.depth) == (second.states, second.runs, second.depth)
