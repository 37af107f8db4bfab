"""Back in place to a backup whose batch was purged since: what comes back, what is refused, and faults at every call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    BackupNotFoundError,
    BatchNotRestorableError,
    CheckpointError,
    PlanError,
    StalePlanError,
)
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, purge, read_all
from tests.faults import Fault, FaultyStore, calls_to_fail
from tests.soundness import assert_complete
from tests.stopping import stop_after

KEEP, BATCHES, PURGED_BELOW = 3, 10, 7
#: Steps and calls to stop at in `make test`.
SAMPLES = 5
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}

Files = dict[str, bytes]


@dataclass
class House:
    """A query that was backed up after batch KEEP and ran on, and what its files were then and are now."""

    query: FakeQuery
    root: Store
    backed_up: Files = field(default_factory=dict)

    @property
    def stores(self) -> Stores:
        return Stores(self.query.store, backups=self.root)

    @property
    def backup_id(self) -> str:
        return list_backups(self.root)[0].backup_id

    @property
    def now(self) -> Files:
        return read_all(self.query.store)

    def plan(self, backup_id: str = "") -> Plan:
        return make_rollback(self.stores, ToBackup(self.root.location, backup_id or self.backup_id))

    def apply(self, plan: Plan, **options: object) -> Receipt:
        return apply(plan, self.stores, **STOPPED, **options)

    def undo(self) -> None:
        apply(make_undo(self.stores), self.stores, **STOPPED)


def build(opened: Callable[[str], Store], below: int = PURGED_BELOW) -> House:
    query, root = FakeQuery(opened("orders")), opened("backups")
    for batch_id in range(KEEP + 1):
        query.commit(batch_id)
    taken = take_backup(query.store, root, threads=1)
    house = House(query, root, {item.name: query.files[item.name] for item in taken.objects})
    for batch_id in range(KEEP + 1, BATCHES):
        query.commit(batch_id)
    purge(query, below)
    return house


@pytest.fixture
def house(tmp_path) -> House:
    return build(lambda name: Store.open(str(tmp_path / name)))


def test_a_backup_that_was_never_judged_and_is_damaged_gives_nothing_back(house, tmp_path):
    """An earlier release took what it found: its manifest is right about a delta that Spark cannot read."""
    taken = list_backups(house.root)[0]
    path = tmp_path / "backups" / taken.backup_id / "manifest.json"
    fields = json.loads(path.read_bytes())
    fields["facts"].pop("judged", None)
    stored = next(item for item in fields["objects"] if item["name"].endswith(".delta"))
    data = (tmp_path / "backups" / stored["stored_at"]).read_bytes()[:-3]
    (tmp_path / "backups" / stored["stored_at"]).write_bytes(data)
    stored.update(size=len(data), sha256=sha256(data).hexdigest())
    path.write_text(json.dumps(fields))
    before = house.now
    with pytest.raises(BackupCorruptError):
        house.plan()
    assert house.now == before


# --- what comes back ------------------------------------------------------------------------------------------------


def test_afterwards_the_checkpoint_holds_what_the_backup_holds_and_undo_gives_every_byte_back(house):
    before = house.now
    assert not {f"offsets/{KEEP}", f"commits/{KEEP}"} & before.keys()
    plan = plan_from_dict(json.loads(json.dumps(house.plan().to_dict())))
    assert plan.batch_id == KEEP and plan.notes[-1].endswith(f"are copied from backup {house.backup_id}.")
    assert house.now == before, "a plan changes nothing"
    house.apply(plan)
    assert house.now == house.backed_up
    assert house.apply(plan).status == "already_applied"
    (change,) = history(house.query.store)
    assert Store.open(change.location).child("staged").find() == {}, "no third copy is kept"
    house.undo()
    assert house.now == before
    with pytest.raises(PlanError, match="no change that can be undone"):
        house.undo()


@pytest.mark.parametrize("below", range(KEEP, PURGED_BELOW + 1))
def test_however_much_was_purged(tmp_path, below):
    """The batch itself with only its predecessor gone; the batch after it; batches far away."""
    house = build(lambda name: Store.open(str(tmp_path / name)), below)
    before = house.now
    house.apply(house.plan())
    left = {name for name in house.now if name not in house.backed_up}
    assert {name: data for name, data in house.now.items() if name not in left} == house.backed_up
    assert not left or below <= KEEP, "what the query itself kept may stay"
    house.undo()
    assert house.now == before


def test_while_the_batch_is_kept_it_is_an_ordinary_rollback(tmp_path):
    house = build(lambda name: Store.open(str(tmp_path / name)), below=0)
    assert house.plan().actions == make_rollback(house.stores, KEEP).actions


def test_state_of_another_history_does_not_survive(house):
    """The query was rolled back and run anew since, and wrote a snapshot that the backup's chain does not have."""
    house.query._write(f"state/0/0/{KEEP + 1}.snapshot", b"of other data")
    house.apply(house.plan())
    assert house.now == house.backed_up


def test_a_checkpoint_that_lost_a_file_of_its_newest_batch_is_mended(tmp_path):
    house = build(lambda name: Store.open(str(tmp_path / name)))
    take_backup(house.query.store, house.root, threads=1)
    whole, newest = house.now, list_backups(house.root)[-1].backup_id
    house.query.store.delete(f"offsets/{BATCHES - 2}")
    plan = make_rollback(house.stores, ToBackup(house.root.location, newest))
    house.apply(plan)
    after = house.now
    assert after.items() <= whole.items() and after[f"offsets/{BATCHES - 2}"] == whole[f"offsets/{BATCHES - 2}"]
    assert_complete(house.query.store)


def test_the_log_of_the_sink_is_trimmed_and_undone_with_it(house, tmp_path):
    sink = Store.open(str(tmp_path / "out"))
    for batch_id in range(BATCHES):
        sink.create(f"_spark_metadata/{batch_id}", b"v1")
    stores = Stores(house.query.store, sink, backups=house.root)
    plan = make_rollback(stores, ToBackup(house.root.location, house.backup_id), trim_sink_log=True)
    assert [effect.effect for effect in plan.effects] == ["exact"]
    apply(plan, stores, **STOPPED)
    assert sorted(sink.find()) == [f"_spark_metadata/{batch_id}" for batch_id in range(KEEP + 1)]
    apply(make_undo(stores), stores, **STOPPED)
    assert len(sink.find()) == BATCHES


def test_a_checksum_file_that_was_left_behind_goes_before_its_object_comes(house):
    house.query._write(f"offsets/.{KEEP}.crc", b"crc\0")
    before = house.now
    house.apply(house.plan())
    assert house.now == house.backed_up
    house.undo()
    assert house.now == before


# --- what is refused ------------------------------------------------------------------------------------------------


def rewritten(house: House) -> None:
    house.query._write("metadata", house.backed_up["metadata"] + b" ")


def of_another_query(house: House) -> None:
    house.query._write("metadata", b'{"id":"00000000-0000-0000-0000-000000000000"}')


def gone_back_further(house: House) -> None:
    for name in list(house.query.files):
        if name.startswith(("offsets/", "commits/")):
            house.query.store.delete(name)
    for log in ("offsets", "commits"):
        house.query._write(f"{log}/{KEEP - 1}", house.backed_up[f"offsets/{KEEP - 1}"])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (rewritten, "another file has this name now"),
        (gone_back_further, "an earlier batch that Spark has purged"),
    ],
)
def test_what_cannot_be_done_in_place_is_refused_with_the_way_to_do_it_elsewhere(house, change, problem):
    change(house)
    before = house.now
    with pytest.raises(BatchNotRestorableError, match=problem) as refused:
        house.plan()
    assert refused.value.batch_id == KEEP
    assert f"ckpt restore {house.root.location} {house.backup_id} --to" in refused.value.hint
    assert house.now == before


def test_a_backup_of_another_query_is_refused_and_nobody_is_told_to_start_the_query_on_it(house):
    of_another_query(house)
    with pytest.raises(BatchNotRestorableError, match="belongs to query") as refused:
        house.plan()
    assert refused.value.batch_id == KEEP and "ckpt restore" not in refused.value.hint


def test_a_backup_that_is_not_there_is_not_found(house):
    with pytest.raises(BackupNotFoundError):
        make_rollback(house.stores, ToBackup(house.root.location, "20200101T000000.000Z-none"))


def drop_backup(house: House) -> None:
    for name in house.root.find():
        house.root.delete(name)


def test_a_backup_that_was_pruned_since_the_plan_is_refused_before_anything_is_removed(house):
    plan, before = house.plan(), house.now
    drop_backup(house)
    with pytest.raises(StalePlanError, match="was deleted after the plan was made"):
        house.apply(plan)
    assert house.now == before


def test_once_it_has_begun_the_backup_is_not_needed_any_more(house):
    plan = house.plan()
    with pytest.raises(KeyboardInterrupt):
        house.apply(plan, on_step=stop_after(1))
    target = ToBackup(house.root.location, house.backup_id)
    drop_backup(house)
    again = make_rollback(house.stores, target)
    assert again == plan, "the same command finds it"
    house.apply(again)
    assert house.now == house.backed_up


def test_what_was_staged_and_damaged_since_is_copied_again(house):
    """The rollback was killed after its first step; what it had laid ready is no longer what was backed up."""
    plan = house.plan()
    with pytest.raises(KeyboardInterrupt):
        house.apply(plan, on_step=stop_after(1))
    (change,) = history(house.query.store)
    staged = Store.open(change.location).child("staged")
    name = next(action.name for action in plan.actions if action.do == "copy" and action.name.endswith(".delta"))
    staged.write(name, bytes(reversed(staged.read(name))))
    house.apply(plan)
    assert house.now == house.backed_up


def test_a_damaged_backup_is_refused_before_anything_is_removed(house):
    plan, before = house.plan(), house.now
    stored = next(action for action in plan.actions if action.do == "copy" and action.name.endswith(".delta"))
    data = house.root.read(stored.source)
    house.root.write(stored.source, bytes(reversed(data)))
    with pytest.raises(BackupCorruptError, match="not what was backed up"):
        house.apply(plan)
    assert house.now == before


def change_manifest(house: House, change: Callable[[dict], None]) -> None:
    name = f"{house.backup_id}/manifest.json"
    fields = json.loads(house.root.read(name))
    change(fields)
    house.root.write(name, json.dumps(fields).encode())


def test_objects_that_the_restart_does_not_need_are_not_taken_from_a_backup(house):
    """A manifest may come from anywhere: state past its batch would be built upon without a word."""

    def add_later_state(fields: dict) -> None:
        state = next(item for item in fields["objects"] if item["name"].endswith(".delta"))
        fields["objects"].append({**state, "name": f"state/0/0/{KEEP + 5}.snapshot"})

    change_manifest(house, add_later_state)
    assert f"state/0/0/{KEEP + 5}.snapshot" not in house.plan().writes()


def test_a_backup_with_entries_past_its_batch_is_refused(house):
    def add_later_offsets(fields: dict) -> None:
        entry = next(item for item in fields["objects"] if item["name"] == f"offsets/{KEEP}")
        fields["objects"].append({**entry, "name": "offsets/99"})

    change_manifest(house, add_later_offsets)
    with pytest.raises(BackupCorruptError, match="says batch"):
        house.plan()


def test_a_link_out_of_the_checkpoint_is_not_followed(house, tmp_path):
    plan = house.plan()
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(house.query.store.location, "state", "0", "1").rename(tmp_path / "moved")
    Path(house.query.store.location, "state", "0", "1").symlink_to(outside)
    with pytest.raises(CheckpointError):
        house.apply(plan)
    with pytest.raises(PlanError, match="contains a link"):
        house.plan()
    assert list(outside.iterdir()) == []


def test_what_has_run_since_is_dropped_by_the_undo_and_kept_in_its_record(house):
    before = house.now
    house.apply(house.plan())
    house.query.files = house.now
    house.query.commit(KEEP + 1, "b")
    since = {name: data for name, data in house.now.items() if name not in house.backed_up}
    house.undo()
    assert house.now == before
    undo = history(house.query.store)[-1]
    assert read_all(Store.open(undo.location).child("saved/checkpoint")).items() >= since.items()


@pytest.mark.parametrize("moved", [False, True])
def test_operator_metadata_comes_back_only_to_the_place_that_its_paths_lead_to(goldens, tmp_path, moved):
    """Spark would read the schemas of the place that they name, of another checkpoint then."""
    old, root = (
        Store.open(str(goldens["4.3.0/transform-with-state"] / "checkpoint")),
        Store.open(str(tmp_path / "root")),
    )
    checkpoint = Store.open(str(tmp_path / "orders"))
    taken = take_backup(old, root, threads=1)
    restore(make_restore(root, taken, checkpoint), root, checkpoint, accept_sink="unknown")
    if not moved:
        taken = take_backup(checkpoint, root, threads=1)
    whole, lost = read_all(checkpoint), f"offsets/{taken.batch_id - 1}"
    metadata = next(name for name in sorted(whole) if "/_metadata/v2/" in name and "/." not in name)
    for name in (lost, metadata):
        checkpoint.delete(name)
    stores = Stores(checkpoint, backups=root)
    if moved:
        with pytest.raises(BatchNotRestorableError, match="at another location"):
            make_rollback(stores, ToBackup(root.location, taken.backup_id))
        return
    apply(make_rollback(stores, ToBackup(root.location, taken.backup_id)), stores, **STOPPED)
    assert read_all(checkpoint) == whole


# --- interruptions --------------------------------------------------------------------------------------------------


def test_stopped_after_any_step_it_is_completed_or_taken_back(tmp_path):
    """And wherever Spark would start, it finds a whole batch."""

    def built(where: object) -> House:
        return build(lambda name: Store.open(str(tmp_path / str(where) / name)))

    for step in calls_to_fail(len(built("counted").plan().actions) - 1, SAMPLES):
        house = built(step)
        before = house.now
        with pytest.raises(KeyboardInterrupt):
            house.apply(house.plan(), on_step=stop_after(step))
        assert_whole_or_refused(house.query.store, step)
        if step % 2:
            house.undo()
            assert house.now == before, step
        house.apply(house.plan("latest"))  # which is another plan, made from where the first one stopped
        assert house.now == house.backed_up, step


def assert_whole_or_refused(checkpoint: Store, where: object) -> None:
    """Spark refuses when the newest batch has no predecessor in the log; else all that it needs must be there."""
    view = observe(checkpoint, deep=True)
    if {view.latest_planned - 1, view.latest_committed - 1} <= set(view.planned):
        chosen = find_restart_set(checkpoint, view, view.latest_committed)
        assert chosen.missing == (), where


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.exhaustive])])
def opened(request, tmp_path) -> Callable[[str], Store]:
    """Opens locations of one storage."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store")
    return lambda name: Store.open(str(tmp_path / name))


@pytest.mark.parametrize(
    "after", [pytest.param(False, marks=pytest.mark.exhaustive, id="refused"), pytest.param(True, id="answer lost")]
)
@pytest.mark.parametrize("act", ["roll back", "undo"])
def test_a_fault_at_every_call(opened, act, after):
    def prepared(name: str) -> tuple[House, Fault, Files]:
        fault = Fault()
        house = build(lambda part: FaultyStore.of(opened(f"{name}/{part}"), fault))
        before = house.now
        if act == "undo":
            house.apply(house.plan())
        fault.calls = 0
        return house, fault, before

    def carry_out(house: House) -> None:
        if act == "roll back":
            house.apply(house.plan())
            return
        try:
            house.undo()
        except PlanError as error:
            assert "no change that can be undone" in str(error)

    house, counted, before = prepared("counted")
    carry_out(house)
    wanted = house.backed_up if act == "roll back" else before
    assert house.now == wanted
    for at in calls_to_fail(counted.calls, SAMPLES):
        house, fault, before = prepared(f"round-{at}")
        fault.at, fault.after = at, after
        try:
            carry_out(house)
        except CheckpointError as error:
            assert "injected" in str(error), f"call {at}: {error}"
        fault.at = None
        assert_whole_or_refused(house.query.store, at)
        assert_nothing_lost(house, before, at)
        carry_out(house)
        assert house.now == (house.backed_up if act == "roll back" else before), f"completed after call {at}"
        with locked(house.query.store, "the next one", ""):
            pass
        assert records_of(house.query.store).ls()[0] == {}, f"the lock of call {at} is no obstacle"


def assert_nothing_lost(house: House, files: Files, at: int) -> None:
    left = set(house.now.items())
    for record in records_of(house.query.store).ls()[1]:
        left |= set(read_all(records_of(house.query.store).child(f"{record}/saved/checkpoint")).items())
    assert set(files.items()) <= left, f"lost after call {at}"
