"""Prunes: what is dropped and swept, what stays, and what ends a prune with nothing done."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_provider_ckpt.backup import prune as prune_module
from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.retention import GRACE_MS, PrunePlan, PruneReceipt, RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.lock import locked_backups
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointBusyError
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import Query, assert_whole, files, make_older, unnamed

LAST = RetentionPolicy(keep_last=1)


@pytest.fixture
def orders(goldens, tmp_path) -> Query:
    return Query(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "checkpoint")


@pytest.fixture
def root(tmp_path) -> Store:
    return Store.open(str(tmp_path / "backups"))


def prune(root: Store, policy: RetentionPolicy = LAST, **options: int) -> PruneReceipt:
    return prune_module.prune(make_prune(root, policy, **options), root)


def ids(root: Store) -> list[str]:
    return [item.backup_id for item in list_backups(root)]


def test_what_a_backup_that_stays_refers_to_stays(orders, root):
    first = orders.back_up(root, 5)
    last = orders.back_up(root, 7)
    referred = {item.stored_at for item in last.objects if item.stored_at.startswith(first.backup_id)}
    plan = make_prune(root, LAST)
    receipt = prune_module.prune(plan, root)
    assert receipt.status == "applied" and receipt.dropped == (first.backup_id,)
    assert receipt.objects == len(first.objects) - len(referred) == sum(item.objects for item in plan.sweeps)
    assert receipt.bytes == first.total_bytes - last.reused_bytes and plan.referred_bytes == last.reused_bytes > 0
    assert ids(root) == [last.backup_id] and referred <= root.find().keys()
    assert_whole(root)
    verify_backup(root, last)
    assert unnamed(root) == {f"{first.backup_id}/dropped.json"}


def test_an_increment_after_a_prune_goes_on_referring(orders, root):
    orders.back_up(root, 5)
    orders.back_up(root, 6)
    prune(root)
    third = orders.back_up(root, 7)
    prune(root)
    assert third.reused_bytes > 0
    assert ids(root) == [third.backup_id]
    verify_backup(root, third)


def test_what_was_kept_for_a_reference_goes_with_the_last_one(orders, root, tmp_path):
    first = orders.back_up(root)
    second = orders.back_up(root)
    prune(root)
    third = orders.back_up(root, full=True)
    receipt = prune(root)
    assert receipt.dropped == (second.backup_id,)
    assert receipt.bytes == second.own_bytes + second.reused_bytes
    assert [path.name for path in (tmp_path / "backups").iterdir()] == [third.backup_id], "not even an empty directory"
    assert first.backup_id not in str(list(root.find()))


def test_a_second_prune_has_nothing_to_do(orders, root):
    orders.back_up(root, 5)
    orders.back_up(root, 7)
    prune(root)
    before = root.find()
    receipt = prune(root)
    assert (receipt.status, receipt.dropped, receipt.objects, receipt.bytes) == ("already_applied", (), 0, 0)
    assert root.find() == before


def test_a_manifest_that_cannot_be_read_ends_it_with_nothing_done(orders, root, tmp_path):
    orders.back_up(root, 5)
    plan = make_prune(root, LAST)
    broken = orders.back_up(root, 6)
    orders.back_up(root, 7)
    (tmp_path / "backups" / broken.backup_id / "manifest.json").write_text("{}")
    before = files(tmp_path / "backups")
    for act in (lambda: make_prune(root, LAST), lambda: prune_module.prune(plan, root)):
        with pytest.raises(BackupCorruptError):
            act()
    assert files(tmp_path / "backups") == before


def test_a_plan_never_takes_more_than_the_policy_allows_now(orders, root):
    """Another prune, with another policy, ran in between."""
    first = orders.back_up(root, 5)
    second = orders.back_up(root, 6)
    plan = make_prune(root, LAST)
    assert plan.dropped == (first.backup_id,)
    for name in [name for name in root.find() if name.startswith(second.backup_id)]:
        root.delete(name)
    assert prune_module.prune(plan, root).dropped == ()
    assert ids(root) == [first.backup_id]


def killed(orders: Query, root: Store) -> str:
    """A backup that was killed right before its manifest."""
    taken = orders.back_up(root, full=True)
    root.delete(f"{taken.backup_id}/manifest.json")
    root.create(f"{taken.backup_id}/intent.json", b'{"base": ""}')
    return taken.backup_id


def test_leftovers_of_a_killed_backup_go_after_the_grace_period(orders, root, tmp_path):
    left = killed(orders, root)
    last = orders.back_up(root)
    assert prune(root).status == "already_applied", "it may still be under way"
    make_older(tmp_path / "backups" / left, days=0.9)
    assert prune(root).status == "already_applied"
    make_older(tmp_path / "backups" / left, days=0.2)
    receipt = prune(root)
    assert receipt.objects == len(last.objects) and receipt.dropped == ()
    assert [path.name for path in (tmp_path / "backups").iterdir()] == [last.backup_id]


def test_the_grace_period_can_be_chosen(orders, root, tmp_path):
    left = killed(orders, root)
    make_older(tmp_path / "backups" / left, days=0.1)
    assert make_prune(root, LAST, grace_ms=GRACE_MS).sweeps == ()
    assert prune(root, grace_ms=3_600_000).objects > 0


def test_one_young_object_shows_that_a_slow_backup_lives(orders, root, tmp_path):
    left = killed(orders, root)
    make_older(tmp_path / "backups" / left, days=30)
    root.create(f"{left}/checkpoint/state/0/0/99.delta", b"x")
    assert prune(root).status == "already_applied"


class Undated(Store):
    """A storage that does not date one object."""

    def find(self, directory=""):
        found = super().find(directory)
        return {
            name: replace(item, modified_ms=None) if name.endswith("/metadata") else item
            for name, item in found.items()
        }


def test_an_object_of_no_known_age_does_not_count_as_old(orders, root, tmp_path):
    left = killed(orders, root)
    orders.back_up(root)
    make_older(tmp_path / "backups" / left, days=30)
    before = root.find()
    assert prune(Undated.open(root.location)).status == "already_applied"
    assert root.find() == before


class Finishing(Store):
    """A backup that was taken for a killed one puts its manifest right before its intent is removed."""

    manifest: tuple[str, bytes]

    def delete(self, name):
        if name.endswith("/intent.json"):
            self.create(*self.manifest)
        super().delete(name)


def test_a_slow_backup_that_ends_after_it_was_listed_is_whole(orders, root, tmp_path):
    taken = orders.back_up(root, full=True)
    store = Finishing.open(root.location)
    name = f"{taken.backup_id}/manifest.json"
    store.manifest = name, root.read(name)
    root.delete(name)
    root.create(f"{taken.backup_id}/intent.json", b'{"base": ""}')
    orders.back_up(root, full=True)
    make_older(tmp_path / "backups" / taken.backup_id, days=30)
    plan = make_prune(store, LAST)
    assert [item.directory for item in plan.sweeps] == [taken.backup_id], "it passes for a killed one"
    assert prune_module.prune(plan, store).objects == 0
    assert taken.backup_id in ids(root)
    verify_backup(root, taken)


def test_a_slow_backup_that_a_prune_counts_on_keeps_its_intent(orders, root, tmp_path):
    """It looks for the intent after it has written its manifest, and takes that away again when there is none."""
    orders.back_up(root, 5)
    slow = orders.back_up(root, 7)
    root.create(f"{slow.backup_id}/intent.json", b'{"base": ""}')
    make_older(tmp_path / "backups", 2)
    prune(root)
    assert ids(root) == [slow.backup_id]
    assert f"{slow.backup_id}/intent.json" in root.find()


def test_the_base_of_a_backup_under_way_stays(orders, root):
    """Dropped, but in use: the backup under way has read its manifest already."""
    base, under_way = orders.back_up(root, 5), killed(orders, root)
    root.write(f"{under_way}/intent.json", json.dumps({"base": base.backup_id}).encode())
    orders.back_up(root, 7, full=True)
    before = {item.stored_at for item in base.objects}
    assert prune(root).dropped == (base.backup_id,)
    assert before <= root.find().keys()
    assert prune(root).status == "already_applied", "still in use"
    root.delete(f"{under_way}/intent.json")
    assert prune(root).objects == len(before)


def test_an_intent_that_cannot_be_read_ends_it(orders, root):
    under_way = killed(orders, root)
    root.write(f"{under_way}/intent.json", b"[]")
    with pytest.raises(BackupCorruptError, match="intent"):
        make_prune(root, LAST)


def test_a_prune_that_was_killed_between_drop_and_sweep_is_completed_at_once(orders, root):
    first = orders.back_up(root, 5)
    orders.back_up(root, 7, full=True)
    root.create(f"{first.backup_id}/dropped.json", root.read(f"{first.backup_id}/manifest.json"))
    assert prune(root).dropped == (first.backup_id,), "it was still a backup"
    assert unnamed(root) == set()

    orders.back_up(root, full=True)
    dropped = ids(root)[0]
    root.create(f"{dropped}/dropped.json", root.read(f"{dropped}/manifest.json"))
    root.delete(f"{dropped}/manifest.json")
    assert prune(root).objects > 0, "no grace period for what a prune has dropped"
    assert unnamed(root) == set()


#: Every how many calls the two are made to meet.
STRIDE = 1 if os.environ.get("CKPT_EXHAUSTIVE") else 17


@pytest.mark.sweep
def test_an_increment_that_is_taken_at_any_call_of_a_prune_is_whole(orders, root):
    """Its base may just have been dropped, or its base's objects swept."""
    for at in itertools.count(1, STRIDE):
        orders.back_up(root, 5)
        orders.back_up(root, 6)
        busy = Interrupted.over(root, at, lambda: orders.back_up(root, 7))
        prune_module.prune(make_prune(busy, LAST), busy)
        for taken in assert_whole(root):
            verify_backup(root, taken)
        if busy.calls_left > 0:
            break
    assert at > STRIDE


@pytest.mark.sweep
def test_an_increment_is_whole_whenever_a_prune_runs(orders, root):
    """The base is dropped by a prune that keeps a tagged backup alone."""
    policy = RetentionPolicy(keep_tags=("kept",))
    orders.back_up(root, 7, full=True, tags=["kept"])
    for at in itertools.count(1, STRIDE):
        orders.back_up(root, 5)
        orders.commit_up_to(7)
        busy = Interrupted.over(root, at, lambda: prune(root, policy))
        taken = take_backup(orders.store, busy, tags=["kept"], threads=1)
        assert taken.backup_id in ids(root)
        assert_whole(root)
        verify_backup(root, taken)
        prune(root, policy)
        if busy.calls_left > 0:
            break
    assert at > STRIDE


@pytest.mark.parametrize("first_tagged", [True, False], ids=["tag first", "tag last"])
@pytest.mark.sweep
def test_a_second_prune_at_any_call_of_a_first_one_leaves_a_backup(orders, root, tmp_path, first_tagged):
    """Each counts on the backup that the other one drops."""
    rules = [RetentionPolicy(keep_tags=("kept",)), LAST]
    outer, inner = rules if first_tagged else reversed(rules)
    outcomes = set()
    for at in itertools.count(1, STRIDE):
        shutil.rmtree(tmp_path / "backups", ignore_errors=True)
        orders.back_up(root, 5, full=True, tags=["kept"])
        orders.back_up(root, 7, full=True)
        second = make_prune(root, inner)
        busy = Interrupted.over(root, at, lambda second=second: outcomes.add(attempted(second, root)))
        first = make_prune(busy, outer)
        outcomes.add(attempted(first, busy))
        (left,) = assert_whole(root)
        verify_backup(root, left)
        assert unnamed(root) == set(), "nor a lock"
        if busy.calls_left > 0:
            break
    assert at > STRIDE
    assert outcomes == {"done", "ckpt has the lock of this location"}, "a lock is met, and no failure that comes later"


def attempted(plan: PrunePlan, root: Store) -> str:
    try:
        prune_module.prune(plan, root, threads=1)
    except CheckpointBusyError as error:
        return error.message[error.message.index("ckpt has the lock") :].partition(":")[0]
    return "done"


def test_of_prunes_at_once_one_works_and_the_others_are_told(orders, root):
    orders.back_up(root, 5, full=True)
    orders.back_up(root, 7, full=True)
    plan = make_prune(root, LAST)
    with locked_backups(root, "p1", "ann@host"), pytest.raises(CheckpointBusyError, match="ann@host") as refused:
        prune_module.prune(plan, root)
    assert len(ids(root)) == 2 and "--break-lock" in str(refused.value)
    assert len(prune_module.prune(plan, root).dropped) == 1


class Losing(Store):
    """Somebody who knows no lock drops the backup that is kept, after the prune has dropped the other one."""

    kept: str

    def flush(self):
        super().flush()
        name = f"{self.kept}/manifest.json"
        if self.kept and name in self.ls(self.kept)[0]:
            self.create(f"{self.kept}/dropped.json", self.read(name))
            self.delete(name)


def test_nothing_is_swept_when_the_backup_that_is_kept_is_none_any_more(orders, root):
    first, last = orders.back_up(root, 5, full=True), orders.back_up(root, 7, full=True)
    store = Losing.open(root.location)
    store.kept = last.backup_id
    with pytest.raises(CheckpointBusyError, match=last.backup_id) as stopped:
        prune_module.prune(make_prune(store, LAST), store)
    assert "rename its dropped.json" in str(stopped.value)
    assert {item.stored_at for taken in (first, last) for item in taken.objects} <= root.find().keys()


def test_a_prune_of_a_root_that_is_not_there_makes_none(root, tmp_path):
    assert prune(root, allow_empty=True).status == "already_applied"
    assert not (tmp_path / "backups").exists()


class Interrupted(Store):
    """Does something else right before its n-th call."""

    calls_left: int
    interrupt: Callable[[], object]

    @classmethod
    def over(cls, store: Store, at: int, interrupt: Callable[[], object]) -> Interrupted:
        found = cls.open(store.location)
        found.calls_left, found.interrupt = at, interrupt
        return found

    def _errors(self, name):
        calls_left = getattr(self, "calls_left", 0)
        self.calls_left = calls_left - 1
        if calls_left == 1:
            self.interrupt()
        return super()._errors(name)


@pytest.mark.parametrize("name", ["lake", "20261121T100000.000Z-0a3c26f7-not-ours", "tables.d"])
def test_directories_that_are_not_ours_are_left_alone(orders, root, tmp_path, name):
    foreign = tmp_path / "backups" / name / "data"
    foreign.mkdir(parents=True)
    (foreign / "part-0.parquet").write_bytes(b"x")
    make_older(foreign, days=300 if name[0].isalpha() else 0)
    orders.back_up(root, 5)
    orders.back_up(root, 7)
    prune(root)
    assert (foreign / "part-0.parquet").exists()


def test_a_manifest_of_something_else_ends_it(orders, root, tmp_path):
    """A directory of dbt, say: whoever prunes the wrong place loses nothing."""
    (tmp_path / "backups" / "dbt").mkdir(parents=True)
    (tmp_path / "backups" / "dbt" / "manifest.json").write_text('{"metadata": {}, "nodes": {}}')
    orders.back_up(root, 5)
    orders.back_up(root, 7)
    with pytest.raises(BackupCorruptError):
        make_prune(root, LAST)


def test_redundancy_is_counted_for_each_query(orders, root, goldens, tmp_path):
    other = Query(goldens["4.3.0/agg-rocksdb"] / "checkpoint", tmp_path / "other")
    for query in (orders, other):
        query.back_up(root, 3)
        query.back_up(root, 4)
    prune(root)
    assert len({item.query_id for item in assert_whole(root)}) == len(ids(root)) == 2
