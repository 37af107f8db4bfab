"""Somebody else acts while a reset runs, at every storage call: a query, another change, a backup, a prune.

Whatever the moment, each of the two is refused with a hint or right, nothing is lost, and what was done can be undone
until the first bytes are back.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.prune import prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.forget import forget
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import A_BATCH, KafkaQuery, broker_of
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore, calls_to_fail

pytestmark = pytest.mark.sweep

LAST = 2
#: Where the query is, where the reset leads, and the end of the batch in flight.
OLD, NEW, PLANNED = 30, 25, 40
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated skipped unknown"}
Actor = Callable[[Store], None]
Files = dict[str, bytes]


class Meanwhile(Fault):
    """Before one storage call somebody else acts, and it is kept what came of it."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        super().__init__()
        self.acts_at, self.act = at, act
        self.refused: CheckpointError | None = None

    def hits(self, call: str, store: Store) -> bool:
        super().hits(call, store)
        if self.calls == self.acts_at:
            try:
                self.act()
            except CheckpointError as error:
                self.refused = error
        return False


# --- the others -----------------------------------------------------------------------------------------------------


def runs_on(*, commit: bool) -> Actor:
    """A query that starts as Spark does: with the batch in flight, or with the one after the newest."""

    def act(store: Store) -> None:
        query = KafkaQuery.__new__(KafkaQuery)
        query.version, query.sources, query.sidecars, query.stateful = 1, 1, False, False
        query.store, query.files, query.written = store, read_all(store), 1_000_000
        planned = max(int(name[8:]) for name in query.files if name.startswith("offsets/"))
        committed = max(int(name[8:]) for name in query.files if name.startswith("commits/"))
        batch_id = planned if planned > committed else planned + 1
        if batch_id > planned:
            end = position(store) + A_BATCH
            query.plan(batch_id, {"orders": {"0": end, "1": end}})
        if commit:
            query.commit(batch_id)

    return act


def reset_by(offsets: int) -> Actor:
    def act(store: Store) -> None:
        query = KafkaQuery.__new__(KafkaQuery)
        plan = make_reset(Stores(store), "0", KafkaAim(broker_of(query), ShiftBy(offsets)), sink=parse_sink("kafka"))
        apply(plan, Stores(store), by="somebody else", **STOPPED)

    return act


def roll_back(store: Store) -> None:
    apply(
        make_rollback(Stores(store), LAST - 1, sink=parse_sink("kafka")), Stores(store), by="somebody else", **STOPPED
    )


def back_up(store: Store) -> None:
    take_backup(store, store.sibling("backups"), commit_wait_s=0)


def prune_all(store: Store) -> None:
    root = store.sibling("backups")
    prune(make_prune(root, RetentionPolicy(keep_last=1), grace_ms=0), root)


def forget_all(store: Store) -> None:
    for record in history(store):
        forget(record.plan.plan_id, Stores(store))
        assert position(store) == NEW, "what a change that is not complete needs was deleted"


ACTORS: dict[str, Actor] = {
    "a query that commits": runs_on(commit=True),
    "a query that plans a batch": runs_on(commit=False),
    "another reset": reset_by(-20),
    "a rollback": roll_back,
    "a backup": back_up,
    "a prune": prune_all,
    "saved files are given up": forget_all,
}


# --- what is right --------------------------------------------------------------------------------------------------


def position(store: Store) -> int:
    """Where the query is."""
    view = observe(store)
    return offsets_of(view.offset_seq(view.latest_committed or 0).offset("0"))["orders", 0]


def prepared(place: Store) -> Files:
    """Three committed batches, and one in flight; and a backup of when it was not."""
    query = KafkaQuery(place)
    for batch_id in range(LAST + 1):
        query.commit(batch_id)
    back_up(place)
    query.plan(LAST + 1)
    return dict(query.files)


def everything(place: Store) -> set[tuple[str, bytes]]:
    left = set(read_all(place).items())
    for record in records_of(place).ls()[1]:
        left |= set(read_all(records_of(place).child(f"{record}/saved/checkpoint")).items())
    return left


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.exhaustive])])
def opened(request, tmp_path) -> tuple[Callable[[str], Store], int]:
    """Opens locations, and at how many calls somebody acts there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), 1
    return (lambda name: Store.open(str(tmp_path / name))), 1


@pytest.mark.parametrize("who", ACTORS)
def test_somebody_acts_at_any_call(opened, who):
    open_at, samples = opened
    counted = Fault()
    place = open_at("counted/orders")
    prepared(place)
    reset_by(NEW - OLD)(FaultyStore.of(place, counted))
    for at in calls_to_fail(counted.calls, samples):
        place = open_at(f"call-{at}/orders")
        before = prepared(place)
        wrote: Files = {}

        def act(place=place, before=before, wrote=wrote) -> None:
            held = read_all(place)
            ACTORS[who](place)
            wrote.update({name: data for name, data in read_all(place).items() if held.get(name) != data})

        meanwhile = Meanwhile(at, act)
        stopped = False
        try:
            reset_by(NEW - OLD)(FaultyStore.of(place, meanwhile))
        except CheckpointError as error:
            stopped = "steps were done" in str(error) or "started during" in str(error)
            assert place.location in str(error) and error.hint, f"call {at}: {error}"
            assert who not in ("a backup", "a prune"), f"call {at}: {error}"
        else:
            assert meanwhile.refused is None or meanwhile.refused.hint, f"call {at}: {meanwhile.refused}"
        errors = [finding for finding in inspect(place, deep=True) if finding.severity == "error"]
        # A query that commits the very batch that goes has what no order of steps can prevent; it is told, and undone.
        assert errors == [] or stopped, f"after call {at}"
        assert_backups_are_sound(place, open_at(f"call-{at}/restored"), at)
        if not any(change.forgotten for change in history(place)):
            assert everything(place) >= {*before.items(), *wrote.items()}, f"lost at call {at}"
            back_to_the_beginning(place, before, wrote, at)


def assert_backups_are_sound(place: Store, target: Store, at: int) -> None:
    """Each backup is of one moment: at the old position, with the batch in flight or not, or at a later one without."""
    root = place.sibling("backups")
    for number, backup in enumerate(list_backups(root)):
        restored = target.child(str(number))
        restore(make_restore(root, backup, restored), root, restored, accept_sink="unknown duplicated skipped exact")
        assert [finding for finding in inspect(restored, deep=True) if finding.severity == "error"] == []
        if position(restored) != OLD:
            view = observe(restored)
            assert view.in_flight is None, f"moved, and a batch is in flight in the backup of call {at}"


def back_to_the_beginning(place: Store, before: Files, wrote: Files, at: int) -> None:
    """Undo as often as there is something to undo; then what was there at first is there."""
    for _ in range(4):
        kept = everything(place)
        try:
            plan = make_undo(Stores(place))
        except CheckpointError as error:
            assert "no change that can be undone" in str(error), f"after call {at}: {error}"
            break
        apply(plan, Stores(place), **STOPPED)
        assert everything(place) >= kept, f"lost by an undo after call {at}"
    else:
        raise AssertionError(f"no end of undoing after call {at}")
    left = read_all(place)
    on_top = {**before, **{name: data for name, data in wrote.items() if name not in before}}
    assert [finding for finding in inspect(place, deep=True) if finding.severity == "error"] == []
    assert left in (before, on_top), f"undone after call {at}: {[(c.plan.kind, c.state) for c in history(place)]}"


def test_a_second_reset_waits_for_the_first(tmp_path):
    """While the one has the lock, the other one is told who has it, and nothing is mixed."""
    place = Store.open(str(tmp_path / "orders"))
    prepared(place)
    told: list[str] = []

    class AtTheReplace(Fault):
        def hits(self, call: str, store: Store) -> bool:
            if call == "write" and store.location == place.location and not told:
                with pytest.raises(CheckpointBusyError) as busy:
                    reset_by(-20)(place)
                told.append(str(busy.value))
            return False

    reset_by(NEW - OLD)(FaultyStore.of(place, AtTheReplace()))
    assert told and position(place) == NEW
