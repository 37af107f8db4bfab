"""A wait ends exactly when its condition's definition says, whatever the query goes through."""

from __future__ import annotations

import json
from functools import reduce
from operator import or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.storage.requests import answer_from, drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import Condition, Start
from airflow_provider_ckpt.waiting.poll import Poller
from airflow_provider_ckpt.waiting.wait import Lost, Pending, Reached, Waiting, read_wait
from tests.waiting.histories import Step, World, histories, sound_histories, world
from tests.waiting.meanings import KINDS, Begun, Ends, Meaning, meanings, meant, monotone_meanings


class Somebody:
    """Somebody who waits, and begins anew when a wait has ended."""

    def __init__(self, world: World, meaning: Meaning) -> None:
        self.world, self.meaning = world, meaning
        self.store = Store.open(str(world.root))
        self.poller = Poller(self.store.location)
        self.wait = self.begin()

    def begin(self, condition: Condition | None = None, start: Start | None = None) -> Waiting:
        return Waiting(self.store.location, condition or self.meaning.condition, start, Ends(self.world))

    def poll(self) -> str:
        """How one poll is judged."""
        progress = drive(self.poller.poll(self.wait.condition.needs), answer_from(self.store))
        step = self.wait.step(progress, self.world.now_ms)
        if not isinstance(step, Pending):
            self.wait = self.begin()
        return NAMES[type(step)]

    def restart(self) -> None:
        """The process dies, and another takes the wait up: all it has is JSON."""
        self.poller = Poller(self.store.location)
        if self.wait.start is not None:
            self.wait = self.begin(*read_wait(json.loads(json.dumps(self.wait.to_dict()))))


NAMES = {Reached: "reached", Pending: "open", Lost: "lost"}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), history=histories, restarts=st.sets(st.integers(0, 40)))
def test_each_poll_ends_the_wait_exactly_when_the_definition_says(kind, data, history: list[Step], restarts):
    meaning = data.draw(KINDS[kind])
    with world() as query:
        steady, restarted = Somebody(query, meaning), Somebody(query, meaning)
        begun = None
        for number, step in enumerate(history):
            step.on(query)
            if not step.looked_at:
                continue
            if number in restarts:
                restarted.restart()
            begun = begun or Begun.of(query)
            verdict = meant(meaning, query, begun)
            assert steady.poll() == verdict, f"poll after step {number}"
            assert restarted.poll() == verdict, f"poll after step {number}, taken up by another process"
            if verdict != "open":
                begun = None


@given(sound_histories, monotone_meanings)
def test_it_fires_at_the_first_poll_at_or_after_the_first_moment_and_never_early(history: list[Step], meaning):
    with world() as query:
        waiting = Somebody(query, meaning)
        begun = Begun.of(query)
        fired = waiting.poll() == "reached"
        held = meaning.holds(query, begun)
        assert fired == held
        for step in history:
            step.on(query)
            held = held or meaning.holds(query, begun)
            if step.looked_at and not fired:
                fired = waiting.poll() == "reached"
                assert fired == held


@given(histories, meanings)
def test_what_is_planned_and_not_committed_never_counts(history: list[Step], meaning):
    with world() as query:
        waiting = Somebody(query, meaning)
        for step in history:
            step.on(query)
        query.commit()
        wait = waiting.begin()
        steps = []
        for _ in range(2):
            poller = Poller(waiting.store.location)
            progress = drive(poller.poll(meaning.condition.needs), answer_from(waiting.store))
            steps.append(wait.step(progress, query.now_ms))
            query.plan(0, 1.0, 10**9)
        before, after = (isinstance(step, Reached) for step in steps)
        assert after <= before


@given(histories, st.lists(meanings, min_size=2, max_size=4))
def test_a_poll_that_is_shared_says_the_same_as_one_of_its_own(history: list[Step], shared):
    with world() as query:
        waits = [Somebody(query, meaning) for meaning in shared]
        poller = Poller(str(query.root))
        for step in history:
            step.on(query)
            if not step.looked_at:
                continue
            needs = reduce(or_, (meaning.condition.needs for meaning in shared))
            together = drive(poller.poll(needs), answer_from(waits[0].store))
            for waiting in waits:
                own = Poller(str(query.root)).poll(waiting.meaning.condition.needs)
                by_both = waiting.begin(), waiting.begin()
                steps = [
                    wait.step(progress, query.now_ms)
                    for wait, progress in zip(by_both, (together, drive(own, answer_from(waiting.store))), strict=True)
                ]
                assert type(steps[0]) is type(steps[1])
                assert by_both[0].to_dict() == by_both[1].to_dict()
