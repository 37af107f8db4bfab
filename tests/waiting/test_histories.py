"""A wait ends exactly when its target's definition says, whatever the query goes through."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_ckpt.errors import WaitLostError
from airflow_provider_ckpt.lifecycle import Wait, Watched, answer, begin, wait_from_dict, watching
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.store import Store
from tests.waiting.histories import Step, World, histories, sound_histories
from tests.waiting.meanings import KINDS, Begun, Ends, Meaning, is_lost, meanings, monotone_meanings


@contextmanager
def world() -> Iterator[World]:
    """A query in a directory of its own, and its clock as everybody's."""
    root = tempfile.mkdtemp(prefix="history-")
    made = World(Path(root))
    with mock.patch.object(watching, "now_ms", lambda: made.now_ms):
        yield made
    shutil.rmtree(root)


class Waiting:
    """Somebody who waits, and begins anew when a wait has ended."""

    def __init__(self, world: World, meaning: Meaning) -> None:
        self.world, self.meaning = world, meaning
        self.store, self.ends = Store.open(str(world.root)), Ends(world)
        self.watched = Watched(self.store.location)
        self.wait: Wait | None = None

    def look(self) -> str:
        """The verdict of one look."""
        target = self.wait.target if self.wait else self.meaning.target
        progress = answer(self.watched.look(target.needs), self.store)
        self.wait = self.wait or self.begin(progress)
        try:
            reached = self.wait.standing(progress).reached(progress)
        except WaitLostError:
            self.wait = None
            return "lost"
        if reached:
            self.wait = None
        return "reached" if reached else "open"

    def begin(self, progress: Progress) -> Wait:
        return begin(self.store.location, self.meaning.target, progress, at_ms=progress.looked_at_ms, ends=self.ends)

    def restart(self) -> None:
        """The process dies, and another takes the wait up: all it has is JSON."""
        self.watched = Watched(self.store.location)
        if self.wait is not None:
            self.wait = wait_from_dict(json.loads(json.dumps(self.wait.to_dict())), self.ends)


def meant(meaning: Meaning, world: World, begun: Begun) -> str:
    """The verdict that the definition gives."""
    if is_lost(begun, world):
        return "lost"
    return "reached" if meaning.holds(world, begun) else "open"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data(), history=histories, restarts=st.sets(st.integers(0, 40)))
def test_each_look_ends_the_wait_exactly_when_the_definition_says(kind, data, history: list[Step], restarts):
    meaning = data.draw(KINDS[kind])
    with world() as query:
        steady, restarted = Waiting(query, meaning), Waiting(query, meaning)
        begun = None
        for number, step in enumerate(history):
            step.on(query)
            if not step.looked_at:
                continue
            if number in restarts:
                restarted.restart()
            begun = begun or Begun.of(query)
            verdict = meant(meaning, query, begun)
            assert steady.look() == verdict, f"look after step {number}"
            assert restarted.look() == verdict, f"look after step {number}, taken up by another process"
            if verdict != "open":
                begun = None


@given(sound_histories, monotone_meanings)
def test_it_fires_at_the_first_look_at_or_after_the_first_moment_and_never_early(history: list[Step], meaning):
    with world() as query:
        waiting = Waiting(query, meaning)
        begun = Begun.of(query)
        fired = waiting.look() == "reached"
        held = meaning.holds(query, begun)
        assert fired == held
        for step in history:
            step.on(query)
            held = held or meaning.holds(query, begun)
            if step.looked_at and not fired:
                fired = waiting.look() == "reached"
                assert fired == held


@given(histories, meanings)
def test_what_is_planned_and_not_committed_never_counts(history: list[Step], meaning):
    with world() as query:
        waiting = Waiting(query, meaning)
        for step in history:
            step.on(query)
        query.commit()
        progress = answer(waiting.watched.look(meaning.target.needs), waiting.store)
        wait = waiting.begin(progress)
        before = wait.standing(progress).reached(progress)
        query.plan(0, 1.0, 10**9)
        again = answer(Watched(waiting.store.location).look(meaning.target.needs), waiting.store)
        assert wait.standing(again).reached(again) <= before


@given(histories, st.lists(meanings, min_size=2, max_size=4))
def test_a_look_that_is_shared_says_the_same_as_one_of_its_own(history: list[Step], shared):
    with world() as query:
        waits = [Waiting(query, meaning) for meaning in shared]
        watched = Watched(str(query.root))
        for step in history:
            step.on(query)
            if not step.looked_at:
                continue
            needs = shared[0].target.needs
            for meaning in shared[1:]:
                needs |= meaning.target.needs
            progress = answer(watched.look(needs), waits[0].store)
            for waiting in waits:
                alone = answer(Watched(str(query.root)).look(waiting.meaning.target.needs), waiting.store)
                wait = waiting.begin(progress)
                assert wait == waiting.begin(alone)
                assert wait.standing(progress).reached(progress) == wait.standing(alone).reached(alone)
