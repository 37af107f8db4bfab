"""Every checkpoint of a fleet is found, whatever else is there and whatever cannot be read."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.fleet.find import DEPTH, find_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore
from tests.fleets import make_fleet, survey, teams
from tests.permissions import without_rights


def found(root: Path, **options: int) -> list[str]:
    """Locations below a root, as they are found."""
    checkpoints = find_checkpoints([Store.open(str(root))], **options)
    return [str(Path(item.store.location).relative_to(root)) for item in checkpoints]


# --- finding -------------------------------------------------------------------------------------------------------


def test_checkpoints_are_found_at_every_level_in_the_order_of_levels_and_names(fleet):
    root = fleet("b/y", "b/x", "a/1/2/z", "c", "a.d/_checkpoints/q")
    assert found(root) == ["c", "b/x", "b/y", "a.d/_checkpoints/q", "a/1/2/z"]
    assert [found(root, threads=threads) for threads in (1, 2, 16)] == [found(root)] * 3


def test_a_root_may_be_a_checkpoint(fleet):
    assert found(fleet("q") / "q") == ["."]


@pytest.mark.parametrize(("depth", "expected"), [(0, []), (1, ["a"]), (2, ["a", "b/c"]), (3, ["a", "b/c", "b/d/e"])])
def test_the_depth_is_bounded(fleet, depth, expected):
    assert found(fleet("a", "b/c", "b/d/e"), depth=depth) == expected


def test_the_depth_has_a_default(fleet):
    just, too_deep = "/".join("abcdefgh"[:DEPTH]), "/".join("abcdefgh"[: DEPTH + 1])
    assert found(fleet(just)) == [just]
    assert found(fleet(f"x/{too_deep}")) == [just]


def test_a_loop_of_links_ends(fleet):
    root = fleet("a/q")
    (root / "a" / "up").symlink_to(root)
    assert found(root)[0] == "a/q" and len(found(root)) < DEPTH


@pytest.mark.parametrize("name", ["state", "sources", "_spark_metadata", "_delta_log", "_ckpt_undo", ".snapshot"])
def test_what_holds_no_checkpoints_is_not_entered(fleet, name):
    assert found(fleet(f"table/{name}/inner", "table/q")) == ["table/q"]


def test_a_checkpoint_is_not_entered(fleet):
    assert found(fleet("q", "q/inner")) == ["q"]


@pytest.mark.parametrize(
    ("kept", "is_found"),
    [
        (("offsets/7",), True),
        (("commits/7",), True),
        (("metadata", "state/0/0/8.delta"), True),
        (("metadata",), False),
        (("state/0/0/8.delta",), False),
    ],
)  # fmt: skip
def test_what_is_left_of_a_damaged_checkpoint_is_found_by_its_logs_or_its_metadata(goldens, tmp_path, kept, is_found):
    make_fleet(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path, ["q"], kept)
    assert found(tmp_path) == (["q"] if is_found else [])


def test_our_own_copies_are_no_checkpoints(golden, tmp_path):
    checkpoint = golden("agg-hdfs")
    stores = Stores(Store.open(str(checkpoint)), undo=Store.open(str(tmp_path / "undo")))
    take_backup(stores.checkpoint, Store.open(str(tmp_path / "backups")))
    apply(make_rollback(stores, 6), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert list((tmp_path / "undo").rglob("saved/**/offsets/7")) and list((tmp_path / "backups").rglob("offsets/7"))
    assert found(tmp_path) == ["agg-hdfs/checkpoint"]


def test_finding_is_lazy(fleet):
    root = FaultyStore.over(str(fleet(*teams(200, of=200))), Fault())
    checkpoints = find_checkpoints([root], threads=2)
    next(checkpoints)
    assert root.fault.calls < 20


# --- roots and directories that cannot be read ---------------------------------------------------------------------


def test_a_root_that_does_not_exist_is_an_error_at_once(fleet, tmp_path):
    with pytest.raises(CheckpointNotFoundError, match="does not exist"):
        find_checkpoints([Store.open(str(fleet("q"))), Store.open(str(tmp_path / "nope"))])


def test_an_empty_root_is_an_empty_fleet(tmp_path):
    assert survey(tmp_path) == []


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A directory of a user who may not read everything, as root may; that user while the test runs."""
    with without_rights(), tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def test_a_directory_that_may_not_be_read_is_a_row_with_its_error(as_nobody):
    for name in ("a/q", "closed/q", "open/closed", "z"):
        Store.open(str(as_nobody / name)).create("commits/0", b'v1\n{"nextBatchWatermarkMs":0}')
    closed = [as_nobody / "closed", as_nobody / "open" / "closed" / "commits"]
    for directory in closed:
        directory.chmod(0)
    try:
        rows = survey(as_nobody)
    finally:
        for directory in closed:
            directory.chmod(stat.S_IRWXU)
    assert [Path(row.location).relative_to(as_nobody).as_posix() for row in rows] == [
        "closed",
        "z",
        "a/q",
        "open/closed",
    ]
    assert ["permission denied" in (row.error or "") for row in rows] == [True, False, False, True]
    assert [row.worst for row in rows] == ["error"] * 4 and rows[0].findings == ()


@pytest.mark.sweep
def test_a_storage_error_that_passes_is_not_seen(fleet):
    """Every call fails once, in turn."""
    root = fleet("a", "b/c")
    calm = Fault()
    undisturbed = without_ages(survey(FaultyStore.over(str(root), calm)))
    assert [row["error"] for row in undisturbed] == [None, None] and calm.calls > 10
    for at in range(1, calm.calls + 1):
        assert without_ages(survey(FaultyStore.over(str(root), Fault(at)), threads=1)) == undisturbed, at


def without_ages(rows: list[FleetRow]) -> list[dict[str, object]]:
    return [{**row.to_dict(), "last_commit_age_ms": None, "rate": None} for row in rows]


class OutOfOrder(Store):
    """A store whose directories named ``out-of-order`` never answer."""

    def ls(self, directory: str = ""):
        if "out-of-order" in self.location:
            raise StoreUnavailableError("no answer", location=self.location)
        return super().ls(directory)


@pytest.mark.sweep
def test_a_storage_error_that_stays_is_a_row_or_ends_it_at_the_root(fleet):
    root = fleet("a", "out-of-order", "z")
    rows = survey(OutOfOrder.open(str(root)))
    assert [(row.location.rpartition("/")[2], bool(row.error)) for row in rows] == [
        ("a", False),
        ("out-of-order", True),
        ("z", False),
    ]
    assert "no answer" in rows[1].error
    with pytest.raises(StoreUnavailableError):
        find_checkpoints([OutOfOrder.open(str(root / "out-of-order"))])


def test_a_root_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="a file, not a directory"):
        find_checkpoints([Store.open(str(tmp_path / "file"))])
