"""A query is started while a rollback or an undo runs: at every storage call, on disk and over HTTP.

Whatever the moment, the change is refused or stopped and nothing is lost, or it was over by then. Undo gives every byte
back afterwards, and the files of the query that came in between are kept in a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from airflow_provider_ckpt.change import guard
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.change.undo.put_back import Executor
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError, StalePlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, after_rollback, read_all
from tests.faults import Fault, FaultyStore, calls_to_fail

BATCHES, KEEP = 4, 1
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
Files = dict[str, bytes]


class Supervisor(Fault):
    """Starts a query right before a storage call: it plans a batch, and commits it some calls later."""

    def __init__(self, place: Store, at: int, commits_after: int | None) -> None:
        super().__init__()
        self.place, self.starts_at, self.commits_after = place, at, commits_after
        self.wrote: Files = {}
        self.last_look = 0
        self._steps: Iterator[None] = iter(())

    def hits(self, call: str, store: Store) -> bool:
        super().hits(call, store)
        if call == "find" and store.location == self.place.location:
            self.last_look = self.calls
        if self.calls == self.starts_at:
            self._steps = self._run()
            next(self._steps)
        elif self.commits_after is not None and self.calls == self.starts_at + self.commits_after:
            next(self._steps)
        return False

    def _run(self) -> Iterator[None]:
        """As Spark: the batch that is planned and not committed, else the one after the newest."""
        query = FakeQuery.__new__(FakeQuery)
        query.store, query.files, query.written = self.place, read_all(self.place), 1_000_000
        query.watermark_ms = lambda batch_id: 0
        planned, committed = (
            max((int(name[8:]) for name in query.files if name.startswith(log)), default=-1)
            for log in ("offsets/", "commits/")
        )
        batch_id = planned if planned > committed else planned + 1
        before = dict(query.files)
        if batch_id > planned:
            query.plan(batch_id)
        self.wrote = {name: data for name, data in query.files.items() if before.get(name) != data}
        yield
        query.commit(batch_id, "s")
        self.wrote = {name: data for name, data in query.files.items() if before.get(name) != data}
        yield


@dataclass
class Story:
    """One checkpoint, one change, one supervisor."""

    place: Store
    before: Files = field(default_factory=dict)

    @classmethod
    def of(cls, place: Store, act: str) -> Story:
        query = FakeQuery(place)
        for batch_id in range(BATCHES):
            query.commit(batch_id)
        story = cls(place, dict(query.files))
        if act == "undo":
            story.roll_back()
        return story

    def roll_back(self, store: Store | None = None) -> None:
        plan = make_rollback(Stores(self.place), KEEP)
        apply(plan, Stores(store or self.place), **STOPPED)

    def undo(self, store: Store | None = None) -> None:
        plan = make_undo(Stores(self.place))
        apply(plan, Stores(store or self.place), **STOPPED)

    @property
    def after(self) -> Files:
        return after_rollback(self.before, KEEP)

    def everything(self) -> set[tuple[str, bytes]]:
        """What is in the checkpoint or saved in a record."""
        left = set(read_all(self.place).items())
        for record in records_of(self.place).ls()[1]:
            left |= set(read_all(records_of(self.place).child(f"{record}/saved/checkpoint")).items())
        return left


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nobody waits for a batch in flight: the query of these tests runs in the calls of the change."""
    monkeypatch.setattr(guard, "MIN_QUIET_S", 0)
    monkeypatch.setattr(guard, "MIN_WATCH_S", 0)


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.exhaustive])])
def opened(request, tmp_path) -> tuple[Callable[[str], Store], int]:
    """Opens locations, and at how many calls to start a query there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), 1
    return (lambda name: Store.open(str(tmp_path / name))), 6


@pytest.mark.parametrize("commits_after", [0, 4, None], ids=["commits at once", "commits later", "plans alone"])
@pytest.mark.parametrize("act", ["roll back", "undo"])
def test_a_query_that_starts_at_any_call(opened, act, commits_after):
    start_at_any_call(*opened, act, commits_after)


@pytest.mark.s3
def test_a_query_that_starts_at_a_call_over_http(s3_store):
    start_at_any_call(s3_store, 1, "roll back", 0)


def start_at_any_call(open_at: Callable[[str], Store], samples: int, act: str, commits_after: int | None) -> None:
    """Start a query at some of the calls of a change: it is noticed, nothing is lost, and undo takes all back."""
    for at in calls_to_fail(calls_of(open_at, act), samples):
        story = Story.of(open_at(f"{act}-{at}/orders"), act)
        supervisor = Supervisor(story.place, at, 1 if commits_after == 0 else commits_after)
        wanted = story.after if act == "roll back" else story.before
        try:
            (story.roll_back if act == "roll back" else story.undo)(FaultyStore.of(story.place, supervisor))
        except (CheckpointBusyError, StalePlanError, PlanError) as refused:
            assert story.place.location in str(refused), at
            assert refused.hint, at
        else:
            left = read_all(story.place)
            assert supervisor.last_look <= at or left == {**wanted, **supervisor.wrote}, f"not noticed at call {at}"
        assert story.everything() >= {*story.before.items(), *supervisor.wrote.items()}, f"lost at call {at}"
        back_to_the_beginning(story, supervisor.wrote, at)


def test_a_query_that_starts_right_before_the_first_step_finds_nothing_done(tmp_path):
    """Between the last look at everything and the look at the logs: the hint and the history say the same."""
    story = Story.of(Store.open(str(tmp_path / "orders")), "roll back")
    counted = Looks(story.place, None)
    story.roll_back(FaultyStore.of(story.place, counted))
    story = Story.of(Store.open(str(tmp_path / "late/orders")), "roll back")
    with pytest.raises(CheckpointBusyError, match="while the rollback was prepared") as refused:
        story.roll_back(FaultyStore.of(story.place, Looks(story.place, counted.before_first_delete)))
    assert refused.value.hint.startswith("No step was done.")
    assert [change.state for change in history(story.place)] == ["refused"]


class Looks(Fault):
    """Notes the last look at everything before the first removal; commits a batch right after that look."""

    def __init__(self, place: Store, starts_after: int | None) -> None:
        super().__init__()
        self.place, self.starts_after = place, starts_after
        self.finds, self.before_first_delete = 0, 0

    def hits(self, call: str, store: Store) -> bool:
        if store.location == self.place.location:
            if call == "ls" and self.finds == self.starts_after:
                self.starts_after = None
                self.place.create(f"offsets/{BATCHES}", b"v1\n{}\n0")
            self.finds += call == "find"
            if call == "delete_if" and not self.before_first_delete:
                self.before_first_delete = self.finds
        return False


@pytest.mark.parametrize("change", [lambda data: data + b"x", lambda data: data[:-1] + b"x"], ids=["longer", "as long"])
def test_what_a_query_has_put_in_the_place_of_a_copy_is_not_taken_for_it(tmp_path, change):
    story = Story.of(Store.open(str(tmp_path / "orders")), "undo")
    undoing = Executor(make_undo(Stores(story.place)), Stores(story.place), mine=lambda: None)
    copy = next(action for action in undoing.plan.actions if isinstance(action, Copy))
    foreign = change(story.before[copy.name])
    story.place.create(copy.name, foreign)
    with pytest.raises(CheckpointBusyError, match="a query started"):
        undoing.put(copy)
    assert story.place.read(copy.name) == foreign
    story.place.delete(copy.name)
    for _ in range(2):  # a repeated step finds its own copy
        undoing.put(copy)
    assert story.place.read(copy.name) == story.before[copy.name]


def calls_of(open_at: Callable[[str], Store], act: str) -> int:
    """How many storage calls the undisturbed change takes."""
    story, counted = Story.of(open_at("counted/orders"), act), Fault()
    (story.roll_back if act == "roll back" else story.undo)(FaultyStore.of(story.place, counted))
    return counted.calls


def back_to_the_beginning(story: Story, wrote: Files, at: int) -> None:
    """Undo, as often as there is something to undo; then what was there at first is there."""
    kept = story.everything()
    states = [record.state for record in history(story.place) if record.plan.kind == "rollback"]
    if {"applied", "interrupted"} & set(states):
        story.undo()
        left = read_all(story.place)
        on_top = {**story.before, **{name: data for name, data in wrote.items() if name not in story.before}}
        assert left in (story.before, on_top), f"undone after call {at}: {states}"
    else:
        assert states in ([], ["planned"], ["refused"], ["undone"]), f"call {at}: {states}"
        assert read_all(story.place).items() >= story.before.items(), f"refused at call {at}: {states}"
    assert story.everything() >= kept, f"lost by the undo after call {at}"
    story.roll_back()
    assert read_all(story.place) == story.after, f"rolled back at last after call {at}"
