"""A query runs while its checkpoint is changed or backed up, and Spark removes files that were just listed.

Right before a call that reads a file, the file goes. Whatever the call, what was begun ends right without the file, or
is refused as that of a running query: nobody is told that a file was not found.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.take import plan_of_backup, take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.goal import ToBackup, ToTimestamp
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.damages import flip
from tests.fake_query import read_all, timestamp_ms
from tests.faults import Fault, FaultyStore, calls_to_fail

BATCHES, KEEP = 6, 4
DAMAGED = "state/0/1/5.delta"
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated skipped unknown"}
#: Of the reads of each action that find a file; all of them in `make exhaustive`.
SAMPLES = 7
#: The calls that ask for one object.
READING = frozenset({"read", "read_up_to", "stat", "copy", "keep"})
Read = tuple[str, int]


class Purge(Fault):
    """Removes one file of a place right before it is read for the k-th time, and notes what is read."""

    def __init__(self, place: Store, read: Read | None = None) -> None:
        super().__init__()
        self.place, self.read = place, read
        self.reads: Counter[str] = Counter()
        self.gone: set[str] = set()

    def hits_object(self, call: str, store: Store, name: str) -> bool:
        if call not in READING or store.location != self.place.location or name == layout.METADATA:
            return False
        with self._counting:
            if self.place.stat(name) is not None:
                self.reads[name] += 1
                if (name, self.reads[name]) == self.read:
                    self.place.delete(name)
                    self.gone.add(name)
        return False


@dataclass
class Case:
    """Copies of a checkpoint with a backup, each for one try."""

    home: Path

    @property
    def place(self) -> Store:
        return Store.open(str(self.home / "orders"))

    @property
    def root(self) -> Store:
        return Store.open(str(self.home / "backups"))

    def run_query(self) -> None:
        query = KafkaQuery(self.place, sidecars=True, stateful=True)
        for batch_id in range(BATCHES):
            query.commit(batch_id)
            if batch_id == KEEP:
                take_backup(self.place, self.root)
        query.plan(BATCHES)

    def stores(self, fault: Fault) -> Stores:
        return Stores(FaultyStore.of(self.place, fault), backups=self.root)

    def everything(self) -> set[tuple[str, bytes]]:
        """What is in the checkpoint or saved in a record."""
        left = set(read_all(self.place).items())
        for record in records_of(self.place).ls()[1]:
            left |= set(read_all(records_of(self.place).child(f"{record}/saved/checkpoint")).items())
        return left


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    made = Case(tmp_path_factory.mktemp("case") / "home")
    made.run_query()
    return made


# --- what is done -----------------------------------------------------------------------------------------------------


def roll_back(stores: Stores, case: Case) -> None:
    apply(make_rollback(stores, KEEP), stores, **STOPPED)


def roll_back_to_a_time(stores: Stores, case: Case) -> None:
    apply(make_rollback(stores, ToTimestamp(timestamp_ms(KEEP))), stores, **STOPPED)


def repair(stores: Stores, case: Case) -> None:
    (taken,) = list_backups(case.root)
    apply(make_rollback(stores, ToBackup(case.root.location, taken.backup_id)), stores, **STOPPED)


def reset(stores: Stores, case: Case) -> None:
    query = KafkaQuery.__new__(KafkaQuery)
    aim = KafkaAim(broker_of(query), ShiftBy(-5))
    apply(make_reset(stores, "0", aim, state_sees_rows_again=True), stores, **STOPPED)


def undo(stores: Stores, case: Case) -> None:
    apply(make_undo(stores), stores, **STOPPED)


def plan_a_repartition(stores: Stores, case: Case) -> None:
    make_repartition(stores, 4)


def back_up(stores: Stores, case: Case) -> None:
    take_backup(stores.checkpoint, case.root, full=True, threads=1, commit_wait_s=0)


def plan_a_backup(stores: Stores, case: Case) -> None:
    plan_of_backup(stores.checkpoint, case.root)


def restore_what_was_begun(stores: Stores, case: Case) -> None:
    (taken,) = list_backups(case.root)
    restore(make_restore(case.root, taken, stores.checkpoint), case.root, stores.checkpoint, threads=1, **ACCEPTED)


ACCEPTED = {"accept_sink": STOPPED["accept_sink"]}


def as_it_is(case: Case) -> None:
    """The last batch is planned and not committed."""


def damaged(case: Case) -> None:
    """A state file that the backup has is not what it was."""
    flip(case.home / "orders" / DAMAGED)


def rolled_back(case: Case) -> None:
    roll_back(Stores(case.place), case)


def half_restored(case: Case) -> None:
    """The files of the backup are there, but for one."""
    shutil.rmtree(case.home / "orders")
    restore_what_was_begun(Stores(case.place), case)
    case.place.delete(layout.METADATA)


Do = Callable[[Stores, Case], None]
ACTS: list[tuple[Do, Callable[[Case], None]]] = [
    (roll_back, as_it_is),
    (roll_back_to_a_time, as_it_is),
    (repair, damaged),
    (reset, as_it_is),
    (undo, rolled_back),
    (plan_a_repartition, as_it_is),
    (back_up, as_it_is),
    (plan_a_backup, as_it_is),
    (restore_what_was_begun, half_restored),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("act", "prepare"), ACTS, ids=[act.__name__.replace("_", " ") for act, _ in ACTS])
def test_a_file_goes_right_before_it_is_read(case, tmp_path, act, prepare):
    prepared = copied(case, tmp_path / "prepared")
    prepare(prepared)
    counted = Purge(prepared.place)
    undisturbed = copied(prepared, tmp_path / "counted")
    counted.place = undisturbed.place
    attempt(act, undisturbed, counted)
    reads = [(name, nth + 1) for name in sorted(counted.reads) for nth in range(counted.reads[name])]
    assert len(reads) > 5
    for number in calls_to_fail(len(reads), SAMPLES):
        read = reads[number - 1]
        tried = copied(prepared, tmp_path / f"try-{number}")
        purge = Purge(tried.place, read)
        before = tried.everything()
        refused = attempt(act, tried, purge)
        assert purge.gone == {read[0]}, f"{read} was not read"
        if refused is not None:
            assert refused.exit_code == 4, f"{read}: {refused}"
            assert "not found" not in str(refused), read
            assert refused.hint, read
        elif act in (roll_back, roll_back_to_a_time, repair, reset, undo):
            assert [found for found in inspect(tried.place, deep=True) if found.severity == "error"] == [], read
        lost = {name for name, _ in before - tried.everything()}
        assert lost <= purge.gone, f"{read}: {lost}"


def attempt(act: Do, case: Case, fault: Fault) -> CheckpointError | None:
    try:
        act(case.stores(fault), case)
    except CheckpointError as error:
        return error
    return None


def copied(case: Case, home: Path) -> Case:
    """The same once more, at another place."""
    return Case(Path(shutil.copytree(case.home, home)))
