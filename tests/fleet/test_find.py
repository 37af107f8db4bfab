"""Every checkpoint of a fleet is found, whatever else is there and whatever cannot be read."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.fleet.find import DEPTH, NoCheckpoints, Some, find_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore
from tests.fleets import SMALL, make_fleet, survey, teams
from tests.permissions import without_rights


def found(root: Path, **options: int) -> list[str]:
    """Locations below a root, as they are found."""
    checkpoints = find_checkpoints([Store.open(str(root))], **options)
    return [str(Path(item.location).relative_to(root)) for item in checkpoints]


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
    for name in ("up", "q/own"):
        (root / "a" / name).symlink_to(root)
    (root / "a" / "q" / "itself").symlink_to(root / "a" / "q")
    assert found(root) == ["a/q"]


@pytest.mark.parametrize("name", ["state", "sources"])
def test_directories_with_names_of_spark_are_entered_where_they_are_none_of_a_checkpoint(fleet, name):
    root = fleet(f"lake/{name}/orders", f"left/{name}/0/0/inner", "whole", f"whole/{name}/inner")
    assert found(root) == ["whole", f"lake/{name}/orders"]


@pytest.mark.parametrize("name", ["_spark_metadata", "_delta_log", "_ckpt_undo", ".snapshot"])
def test_what_holds_no_checkpoints_is_not_entered(fleet, name):
    assert found(fleet(f"table/{name}/inner", "table/q")) == ["table/q"]


def test_checkpoints_inside_checkpoints_are_found(fleet):
    root = fleet("topic", "topic/v1", "topic/v1/retry/0", "topic/state/9")
    assert found(root) == ["topic", "topic/v1", "topic/v1/retry/0"]


@pytest.mark.s3
def test_on_s3_a_checkpoint_is_found_below_one_with_more_files_than_a_page(goldens, s3_store):
    lake = s3_store("lake")
    small = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    for location in ("topic", "topic/v1"):
        for name in SMALL:
            lake.create(f"{location}/{name}", (small / name).read_bytes())
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: lake.create(f"topic/state/0/1/{number}.delta", b""), range(1_000)))
    assert [row.location.removeprefix(lake.location) for row in survey(lake)] == ["/topic", "/topic/v1"]


FLOWS = (
    "_checkpoints/spark_catalog/default/bronze/late_files/0",
    "_checkpoints/spark_catalog/default/bronze/late_files/1",
    "_checkpoints/spark_catalog/default/silver/silver/0",
    "_checkpoints/out/to_out/0",
)


def test_every_flow_of_a_pipeline_is_found_and_what_a_full_refresh_has_replaced(fleet):
    rows = survey(root := fleet(*FLOWS))
    replaced = {row.location: row.replaced_by for row in rows}
    late = f"{root}/_checkpoints/spark_catalog/default/bronze/late_files"
    assert replaced == {f"{root}/{flow}": None for flow in FLOWS} | {f"{late}/0": f"{late}/1"}


def test_the_depth_counts_to_the_directory_of_a_pipeline(fleet):
    root = fleet(*(f"a/{flow}" for flow in FLOWS))
    assert len(found(root, depth=2)) == 4
    unsearched = Some()
    assert list(find_checkpoints([Store.open(str(root))], depth=1, unsearched=unsearched)) == []
    assert unsearched == Some(1, [f"{root}/a/_checkpoints"])


def test_what_is_deeper_than_the_depth_is_counted(fleet):
    root, unsearched = fleet("a", "b/c", "b/d/e", "f/g/h"), Some()
    list(find_checkpoints([Store.open(str(root))], depth=1, unsearched=unsearched))
    assert unsearched == Some(3, [f"{root}/b/c", f"{root}/b/d", f"{root}/f/g"])


def test_empty_directories_and_files_directly_below_a_root_are_counted_and_the_first_of_them_named(fleet):
    root, others = fleet("a", "team/b", "table/q"), NoCheckpoints()
    for empty in ("c", "team/d", "_temporary/e"):
        (root / empty).mkdir(parents=True)
    for file in ("f1", "f2", "f3", "f4", ".hidden", "_SUCCESS", "team/f", "a/f"):
        (root / file).write_text("x")
    (root / "gone").symlink_to(root / "nowhere")
    assert len(list(find_checkpoints([Store.open(str(root))], others=others))) == 4
    first = [f"{root}/f{number}" for number in (1, 2, 3)]
    assert others == NoCheckpoints(empty=Some(2, [f"{root}/c", f"{root}/team/d"]), files=Some(4, first))
    assert others.text().startswith(
        f"2 empty directories ({root}/c, {root}/team/d) and 4 files ({', '.join(first)} and 1 more) are no checkpoints."
    )


@pytest.mark.parametrize("of_a_table", ["_delta_log", "_spark_metadata"])
def test_the_files_of_a_table_are_expected_there(fleet, of_a_table):
    root, others = fleet("q"), NoCheckpoints()
    (root / of_a_table).mkdir()
    (root / "part-0.parquet").write_text("x")
    list(find_checkpoints([Store.open(str(root))], others=others))
    assert others == NoCheckpoints() and others.text() == ""


# --- odd things ----------------------------------------------------------------------------------------------------


@pytest.mark.s3
@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("dup//ck/offsets/1", "dup//"),
        ("/ck/offsets/1", "/"),
        ("a/../ck/offsets/1", "a/../"),
        ("a/./ck/offsets/1", "a/./"),
        ("..\\a/ck/offsets/1", "..\\a/"),
        ("a?versionId=1/offsets/1", "a?versionId=1/"),
        ("q//offsets/99", "q//"),
    ],
)
def test_a_key_that_no_location_can_name_is_one_row_and_ends_nothing(goldens, s3_store, key, row):
    lake = s3_store("lake")
    for name in SMALL:
        lake.create(f"q/{name}", (goldens["4.3.0/agg-hdfs"] / "checkpoint" / name).read_bytes())
    bucket, _, prefix = lake.root.partition("/")
    lake.fs.call_s3("put_object", Bucket=bucket, Key=f"{prefix}/{key}", Body=b"v1")
    errors = {found.location.removeprefix(f"{lake.location}/"): found.error for found in survey(lake)}
    assert errors.keys() == {"q", row} and errors["q"] is None and "no location can name" in errors[row]


@pytest.mark.parametrize("name", ["new\nline", "not-\udcff-text", "a%2Fb", "a:b", "cafe\u0301", "x" * 255, " ", "~"])
def test_a_strange_name_on_a_disk_is_a_name(fleet, name):
    assert sorted(found(fleet("q", name))) == sorted(["q", name])


def test_a_link_to_nothing_and_a_name_that_leads_up_are_a_row_each(fleet):
    root = fleet("q")
    (root / "gone").symlink_to(root / "nowhere")
    (root / "ring").symlink_to(root / "ring")
    (root / "..\\up").mkdir()
    rows = {row.location.removeprefix(f"{root}/"): row.error for row in survey(root)}
    assert rows.keys() == {"q", "gone", "ring", "..\\up/"}
    assert rows["q"] is None and "leads to nothing" in rows["gone"] and "leads to nothing" in rows["ring"]


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


def test_a_root_that_cannot_be_listed_is_a_row_where_that_is_asked_for_unless_there_is_no_other(fleet, tmp_path):
    (tmp_path / "file").write_text("x")
    bad = [Store.open(str(tmp_path / name)) for name in ("file", "nope")]
    rows = list(find_checkpoints([bad[0], Store.open(str(fleet("q"))), bad[1]], keep_going=True))
    assert [row.location.rpartition("/")[2] for row in rows] == ["file", "nope", "q"]
    assert "a file, not a directory" in rows[0].error and "does not exist" in rows[1].error
    with pytest.raises(StoreError, match="a file, not a directory"):
        find_checkpoints(bad, keep_going=True)


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


LOST = " If a query had its checkpoint there, it is lost: restore it (ckpt restore)."


@pytest.mark.parametrize(
    ("empty", "files", "told"),
    [
        ([], [], ""),
        (["a"], [], f"1 empty directory (a) is no checkpoint.{LOST}"),
        ([], ["f"], "1 file (f) is no checkpoint."),
        (["a", "b"], ["f"], f"2 empty directories (a, b) and 1 file (f) are no checkpoints.{LOST}"),
        ([], [*"abcdefg"], "7 files (a, b, c and 4 more) are no checkpoints."),
    ],
)
def test_what_is_no_checkpoint_is_told_in_one_line(empty, files, told):
    others = NoCheckpoints()
    others.empty.add(empty)
    others.files.add(files)
    assert others.text() == told


def test_locations_are_counted_and_the_first_three_are_named():
    some = Some()
    for part in (["a"], ["b", "c", "d"], ["e"]):
        some.add(part)
    assert some == Some(5, ["a", "b", "c"])
