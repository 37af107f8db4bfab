"""A damaged checkpoint with a good backup is mended in place: whatever file, whatever damage; and undone to the byte."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import is_offset_entry
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.damages import DAMAGES, cut, flip
from tests.fake_query import read_all
from tests.stopping import stop_after

#: Every file in every way; else each once, of the newest batch or of an older one, in one of them in turn.
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
#: State of each kind, file sources and others.
CASES = (
    "agg-hdfs",
    pytest.param("agg-rocksdb", marks=pytest.mark.exhaustive),
    "agg-rocksdb-changelog-v2",
    pytest.param("transform-with-state", marks=pytest.mark.exhaustive),
)


class Case:
    """A checkpoint that real Spark wrote, and a backup of one of its batches."""

    def __init__(self, checkpoint: Path, root: Path, back: int) -> None:
        self.path, self.root = checkpoint, Store.open(str(root))
        self.store = Store.open(str(checkpoint))
        self.stores = Stores(self.store, backups=self.root)
        newest = observe(self.store).latest_committed
        if back:
            self.apply(make_rollback(self.stores, newest - back))
        self.taken = take_backup(self.store, self.root, threads=1)
        self.backed_up = {item.name: self.store.read(item.name) for item in self.taken.objects}
        if back:
            self.undo()

    @property
    def now(self) -> dict[str, bytes]:
        return read_all(self.store)

    def plan(self) -> Plan:
        return make_rollback(self.stores, ToBackup(self.root.location, self.taken.backup_id))

    def apply(self, plan: Plan, **options: object) -> None:
        apply(plan_from_dict(plan.to_dict()), self.stores, **STOPPED, **options)

    def undo(self) -> None:
        self.apply(make_undo(self.stores))

    def names(self) -> list[str]:
        """The newest file of each directory, but one partition and few checksum files; and the offset entries."""
        newest: dict[tuple[str, str], str] = {}
        for name in sorted(self.backed_up, key=lambda name: (len(name), name)):
            place = layout.parse(name)
            if isinstance(place, layout.StateFile | layout.StateTable) and place.store_id.partition:
                continue
            if not isinstance(place, layout.Sidecar):
                newest[name.rpartition("/")[0], getattr(place, "kind", "")] = name
            elif name.startswith(("commits/", "sources/")):
                newest["sidecar", name.split("/")[0]] = name
        return sorted({*newest.values(), *(name for name in self.backed_up if is_offset_entry(name))})

    def require_mended(self) -> None:
        """What is there of the backup is as it was backed up, and a restart lacks nothing."""
        now = self.now
        assert {name: now[name] for name in now.keys() & self.backed_up.keys()}.items() <= self.backed_up.items()
        view = observe(self.store, deep=True, batch_id=self.taken.batch_id)
        assert view.latest_committed == view.latest_planned == self.taken.batch_id
        assert find_restart_set(self.store, view, self.taken.batch_id).missing == ()


BROKEN = {
    "state, a source log and metadata": {
        "state/0/0/8.delta": "cut",
        "sources/0/5": "flipped",
        "metadata": "flipped",
        "commits/7": "missing",
    },
    "both offset entries": {"offsets/7": "cut", "offsets/6": "flipped"},
    "the newest offset entry is lost": {"offsets/7": "missing", "state/0/0/8.delta": "flipped"},
}


@pytest.mark.parametrize("damages", BROKEN.values(), ids=BROKEN)
def test_stopped_after_any_step_it_is_completed_or_undone_and_never_stands_at_a_mixture(damages, golden, tmp_path):
    """Spark refuses when the newest entry or the one before it cannot be read; else all that it needs is whole."""
    made = Case(golden("agg-hdfs"), tmp_path / "backups", 0)
    for name, damage in damages.items():
        DAMAGES[damage](made.path / name)
    before, steps = made.now, len(made.plan().actions)
    for stop in range(1, steps):
        with pytest.raises(KeyboardInterrupt):
            made.apply(made.plan(), on_step=stop_after(stop))
        assert_refused_or_whole(made, before)
        if stop % 2:
            made.apply(made.plan())
            made.require_mended()
        made.undo()
        assert made.now == before, stop


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_batches_before_a_damaged_newest_entry_can_still_be_rolled_back_to(damage, golden, tmp_path):
    """The entry that only went to keep Spark from starting comes back, with its checksum file."""
    made = Case(golden("agg-hdfs"), tmp_path / "backups", 0)
    whole = made.now
    DAMAGES[damage](made.path / "offsets/7")
    plan = made.plan()
    assert "offsets/5" in plan.deletes() & plan.writes()
    made.apply(plan)
    assert made.now == whole
    assert not [found for found in inspect(made.store, deep=True) if found.code == "CKPT111"]
    for batch_id in (6, 5):
        assert make_rollback(made.stores, batch_id).batch_id == batch_id


def assert_refused_or_whole(made: Case, before: dict[str, bytes]) -> None:
    now, batch_id = made.now, made.taken.batch_id
    view = observe(made.store, deep=True, batch_id=batch_id)
    entries = {f"offsets/{view.latest_planned}", f"offsets/{view.latest_planned - 1}"}
    if entries & view.damaged.keys() or not entries <= now.keys():
        return
    if view.latest_planned != batch_id:  # as it was found
        assert {name for name in before if now.get(name) != before[name]} <= {f"offsets/.{batch_id - 2}.crc"}
        return
    errors = [found for found in inspect(made.store, deep=True) if found.severity == "error"]
    there = now.keys() & made.backed_up.keys()
    assert errors or {name: now[name] for name in there} == {name: made.backed_up[name] for name in there}


def test_a_batch_of_another_history_is_not_mended(golden, tmp_path):
    """The query went back and ran the batch again: its offset entry is whole, and another one."""
    made = Case(golden("agg-hdfs"), tmp_path / "backups", 0)
    entry = made.path / "offsets/7"
    entry.write_bytes(entry.read_bytes().replace(b'"batchTimestampMs":1', b'"batchTimestampMs":2'))
    (made.path / "offsets/.7.crc").unlink()
    with pytest.raises(BatchNotRestorableError, match="another file has this name now"):
        made.plan()


def test_a_batch_that_nothing_shows_to_be_that_of_the_backup_has_an_unknown_effect_on_the_sink(golden, tmp_path):
    made = Case(golden("agg-hdfs"), tmp_path / "backups", 0)
    exact = {"sink": parse_sink("noop")}
    target = ToBackup(made.root.location, made.taken.backup_id)
    cut(made.path / "offsets/7")
    assert make_rollback(made.stores, target, **exact).sink_effect == "exact", "its checksum file tells"
    (made.path / "offsets/.7.crc").unlink()
    assert make_rollback(made.stores, target, **exact).sink_effect == "unknown"


def test_a_batch_by_its_number_is_mended_from_the_newest_backup_of_it(golden, tmp_path):
    made = Case(golden("agg-hdfs"), tmp_path / "backups", 0)
    assert make_rollback(made.stores, 7).actions == ()
    flip(made.path / "state/0/0/8.delta")
    plan = make_rollback(made.stores, 7)
    assert {action.name for action in plan.actions} == {"state/0/0/8.delta"}
    made.apply(plan)
    made.require_mended()


NO_START = {
    "the newest state file": (0, "state/0/0/8.delta", "missing", "state/0/0/8.delta is missing"),
    "the newest state file, cut": (0, "state/0/0/8.delta", "cut", "state/0/0/8.delta is "),
    "an entry that a restart reads": (0, "offsets/6", "missing", "offsets/6 is missing"),
    "the query id": (0, "metadata", "missing", "the file metadata with the query id is missing"),
    "a commit, but for its checksum": (
        0,
        "commits/7",
        "missing",
        "commits/.7.crc: there is a checksum file without its file",
    ),
    "a file that the dropped batches need as well": (2, "state/0/0/6.delta", "missing", "state/0/0/6.delta is missing"),
}


@pytest.mark.parametrize(("back", "name", "damage", "said"), NO_START.values(), ids=NO_START)
def test_the_undo_of_a_repair_says_that_spark_does_not_start_then(back, name, damage, said, golden, tmp_path):
    made = Case(golden("agg-hdfs"), tmp_path / "backups", back)
    DAMAGES[damage](made.path / name)
    made.apply(made.plan())
    (warning,) = (text for text in make_undo(made.stores).warnings if "Spark does not start" in text)
    assert warning.startswith(f"After this undo Spark does not start: {said}")


@pytest.mark.parametrize(
    ("back", "name", "damage"),
    [(2, "offsets/4", "missing")],
)
def test_the_undo_of_a_repair_after_which_spark_starts_does_not_warn(back, name, damage, golden, tmp_path):
    made = Case(golden("agg-hdfs"), tmp_path / "backups", back)
    DAMAGES[damage](made.path / name)
    plan = made.plan()
    made.apply(plan)
    assert not [text for text in make_undo(made.stores).warnings if "Spark does not start" in text]


@pytest.mark.parametrize("back", [0, 2], ids=["newest batch", "older batch"])
@pytest.mark.parametrize("case", CASES)
def test_any_file_of_a_backup_is_mended_in_place_and_undone(case, back, golden, tmp_path):
    case = Case(golden(case), tmp_path / "backups", back)
    whole, mended = case.now, []
    ways = ["flipped", "missing"] if back else [*DAMAGES]
    names = case.names() if EXHAUSTIVE else case.names()[back // 2 :: 2]  # the one test takes what the other leaves
    for number, name in enumerate(names):
        for damage in ways if EXHAUSTIVE else [ways[number % len(ways)]]:
            DAMAGES[damage](case.path / name)
            before, plan = case.now, case.plan()
            case.apply(plan)
            case.require_mended()
            if not back:
                assert {**case.now, name: whole[name]} == whole, f"all other files are as they were: {damage} {name}"
            if plan.actions:
                mended.append(name)
                case.undo()
            assert case.now == before, f"undone: {damage} {name}"
            (case.path / name).write_bytes(whole[name])
    needed = {name for name in names if ".snapshot" not in name and ".crc" not in name}
    assert needed <= set(mended)


@pytest.mark.parametrize("case", ["agg-hdfs", "agg-rocksdb-changelog-v2"])
@pytest.mark.parametrize("directory", ["sources", "sources/0", "state", "state/0"])
def test_a_directory_that_is_gone_as_a_whole_is_mended(case, directory, golden, tmp_path):
    """Nothing that is left then shows that the batch needs it."""
    damaged = Case(golden(case), tmp_path / "backups", 0)
    whole = damaged.now
    shutil.rmtree(damaged.path / directory)
    damaged.apply(damaged.plan())
    assert damaged.backed_up.items() <= damaged.now.items() <= whole.items()
    assert not [item for item in inspect(damaged.store, deep=True) if item.severity == "error"]
