"""Fleets: every checkpoint that was found is judged, in bounded memory and with few requests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint import listing
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint, list_logs
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.fleet.find import Found, find_checkpoints
from airflow_provider_ckpt.fleet.judge import judge_checkpoints, stalled_ms
from airflow_provider_ckpt.fleet.row import row_from_dict
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store
from tests.fleets import damage, make_fleet, survey, teams

CASE = "4.3.0/agg-hdfs"


# --- judging -------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
def test_a_row_says_what_a_look_at_the_checkpoint_says(goldens):
    for name, golden in goldens.items():
        store = Store.open(str(golden / "checkpoint"))
        view = observe(store)
        (row,) = survey(store)
        said = (row.location, row.query_id, row.latest_planned_batch, row.latest_committed_batch, row.in_flight)
        seen = (view.location, view.query_id, view.latest_planned, view.latest_committed, view.in_flight)
        assert said == seen, name
        assert (row.watermark_ms, row.findings, row.error) == (view.watermark_ms, inspect(store), None), name


def test_an_entry_that_cannot_be_opened_is_a_finding_and_the_rest_is_judged(golden):
    place = golden("agg-hdfs")
    (place / "offsets/7").unlink()
    os.mkfifo(place / "offsets/7")
    (row,) = survey(place)
    assert (row.error, row.latest_committed_batch) == (None, 7)
    assert "CKPT153" in [item.code for item in row.findings]


def test_findings_are_those_of_the_check_and_deep_finds_more(goldens, tmp_path):
    source, root = goldens[CASE] / "checkpoint", tmp_path / "root"
    files = [path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()]
    make_fleet(source, root, ["deep", "healthy", "shallow"], files)
    damage(root / "shallow" / "offsets" / "7")
    (root / "deep" / "state" / "0" / "0" / "8.delta").unlink()
    shallow, deep = survey(root), survey(root, deep=True)
    assert [[item.code for item in row.findings] for row in shallow] == [[], [], ["CKPT102"]]
    assert [row.worst for row in shallow] == [None, None, "error"]
    assert shallow[2].watermark_ms is None, "the entry that would say it is damaged"
    for row in deep:
        assert row.findings == inspect(Store.open(row.location), deep=True)
    assert "CKPT130" in [item.code for item in deep[0].findings] and deep[1].findings == ()


def test_the_age_is_that_of_the_newest_commit(fleet):
    root = fleet("old", "none")
    commits = root / "old" / "commits"
    for number, at_s in ((6, 1_000_000_000), (7, 1_500_000_000)):
        shutil.copy(commits / str(number), commits / "copy")  # the file is shared with the golden
        os.utime(commits / "copy", (at_s, at_s))
        (commits / "copy").replace(commits / str(number))
    shutil.rmtree(root / "none" / "commits")
    before_ms = now_ms()
    none, old = survey(root)
    assert none.last_commit_age_ms is None and none.in_flight == 7
    assert before_ms <= 1_500_000_000_000 + old.last_commit_age_ms <= now_ms()


def test_a_deploy_is_foretold_for_each(fleet):
    root = fleet("a", "b")
    (root / "a" / "metadata").unlink()
    confs = {"spark.sql.shuffle.partitions": "2"}
    assert [row.decision for row in survey(root)] == [None, None]
    assert [row.decision for row in survey(root, deploy=DeploySpec(confs=confs))] == ["block", "warn"]
    ignored = survey(root / "b", deploy=DeploySpec(confs={"spark.sql.shuffle.partitions": "8"}))[0]
    assert ignored.decision == "block" and [item.code for item in ignored.findings] == ["CKPT201"]


def test_a_fleet_passes_when_everything_was_declared_and_read(golden):
    said = {
        "spark_version": "4.3",
        "confs": {},
        "sources": ["file"],
        "sink": "console",
        "operators": ["stateStoreSave"],
    }
    checkpoint, deploy = golden("agg-hdfs"), declare(DeploySpec(), said)
    (deep,), (quick,) = survey(checkpoint, deploy=deploy, deep=True), survey(checkpoint, deploy=deploy)
    assert (deep.decision, deep.unknown) == ("pass", ("fields of state",))
    assert (quick.decision, quick.unknown) == ("warn", ("state", "source logs", "checksum files", "fields of state"))


def test_locations_that_are_known_already_can_be_judged(fleet):
    root = fleet("q")
    rows = judge_checkpoints(Found(Store.open(str(root / name))) for name in ("q", "gone"))
    assert [(row.latest_committed_batch, row.error and "does not exist" in row.error) for row in rows] == [
        (7, None),
        (None, True),
    ]


def test_rows_go_through_json(fleet):
    root = fleet("q")
    damage(root / "q" / "offsets" / "7")
    rows = survey(root)
    assert [row_from_dict(json.loads(json.dumps(row.to_dict()))) for row in rows] == rows


@pytest.mark.sweep
def test_no_more_than_a_window_is_under_way():
    taken, release, lock = [], threading.Event(), threading.Lock()

    def items() -> Iterator[int]:
        for number in range(100):
            with lock:
                taken.append(number)
            yield number

    def work(number: int) -> int:
        assert release.wait(300)
        return number

    with ThreadPoolExecutor(4) as pool:
        results = in_order(pool, work, items(), window=6)
        threading.Timer(0.2, release.set).start()
        answered = [next(results)]
        for answer in results:
            assert len(taken) - len(answered) <= 6
            answered.append(answer)
    assert answered == list(range(100))


MEASURE = """
import sys
from pathlib import Path
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.storage.store import Store

rows = judge_checkpoints(find_checkpoints([Store.open(sys.argv[1])]))
count = sum(row.latest_committed_batch == 7 and not row.findings for row in rows)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(count, int(status["VmHWM"].split()[0]))
"""


@pytest.mark.sweep
def test_memory_does_not_grow_with_the_fleet(goldens, tmp_path):
    """VmHWM and not ``getrusage``, whose maximum a process inherits from the one that started it."""
    peaks = []
    for count in (100, 2_000):
        root = tmp_path / str(count)
        make_fleet(goldens[CASE] / "checkpoint", root, teams(count))
        done = subprocess.run([sys.executable, "-c", MEASURE, str(root)], check=True, capture_output=True, text=True)
        judged, peak_kib = map(int, done.stdout.split())
        assert judged == count
        peaks.append(peak_kib)
    assert peaks[1] - peaks[0] < 2 * 1024, f"KiB: {peaks}"


# --- requests ------------------------------------------------------------------------------------------------------

S3_CASES = ("4.3.0/agg-hdfs", "4.3.0/file-to-parquet-12", "4.3.0/agg-rocksdb-v2", "3.4.4/agg-hdfs")
MOST_REQUESTS = 6
#: Objects of a page, where it is 1,000 otherwise.
PAGE = 50


def upload(source: Path, store: Store) -> None:
    """A checkpoint as it is on an object store, where Hadoop writes no checksum files."""
    files = [path for path in source.rglob("*") if path.is_file() and not path.name.endswith(".crc")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: store.create(path.relative_to(source).as_posix(), path.read_bytes()), files))


@pytest.mark.s3
def test_requests_of_a_fleet_on_s3(goldens, s3_store, s3_requests):
    """Finding them included; and what the store counts is what goes over the wire."""
    root = s3_store("lake")
    for number, case in enumerate(S3_CASES * 3):
        upload(goldens[case] / "checkpoint", root.child(f"team-{number % 2}/query-{number}"))
    count = len(S3_CASES) * 3
    root = s3_store("lake")
    with s3_requests(root) as sent:
        rows = survey(root)
    assert len(rows) == count and {row.worst for row in rows} == {None}
    assert sent.total() <= MOST_REQUESTS * count, dict(sent)
    assert sent["GetObject"] == 4 * count, "the newest two offset entries, the newest commit, metadata"
    assert root.calls.count == sent.total()


@pytest.mark.s3
def test_a_checkpoint_of_more_objects_than_a_listing_shows_costs_one_more_listing_to_see_what_is_below_it(
    goldens, s3_store, s3_requests, s3_pages, monkeypatch
):
    """The worst place for them: after the logs, before the state."""
    s3_pages(PAGE)
    monkeypatch.setattr(listing, "PAGE_OBJECTS", PAGE)
    store = s3_store("lake").child("q")
    upload(goldens[CASE] / "checkpoint", store)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.create(f"sources/0/{number}.x", b"x"), range(100, 100 + PAGE)))
    root = s3_store("lake").child("q")
    with s3_requests(root) as sent:
        (row,) = survey(root)
    assert row.error is None and row.findings == ()
    assert sent.total() == MOST_REQUESTS + 1, dict(sent)


@pytest.mark.s3
@pytest.mark.parametrize("case", ["4.3.0/agg-hdfs", "4.3.0/file-to-parquet-12"])
def test_a_page_of_any_length_shows_what_listings_of_directories_show(goldens, s3_store, monkeypatch, case):
    store = s3_store("q")
    upload(goldens[case] / "checkpoint", store)
    monkeypatch.setattr(Store, "first", lambda self, most: None)
    expected = list_logs(store, list_checkpoint(store))
    monkeypatch.undo()
    assert expected.stateful == ("agg" in case) and "offsets/7" in expected.objects
    for most in range(1, len(store.find()) + 2):
        monkeypatch.setattr(listing, "PAGE_OBJECTS", most)
        look = list_checkpoint(store)
        assert look.is_checkpoint
        whole = list_logs(store, look)
        assert (whole.objects, whole.stateful) == (expected.objects, expected.stateful), most


@pytest.mark.s3
def test_names_that_sort_close_to_the_logs_do_not_hide_them(goldens, s3_store, monkeypatch):
    store = s3_store("q")
    upload(goldens[CASE] / "checkpoint", store)
    for name in ("commits-old/1", "offsets-old/1", "offsets!/1", "offsets0", "metadata.bak", "a/b"):
        store.create(name, b"x")
    for most in range(1, len(store.find()) + 2):
        monkeypatch.setattr(listing, "PAGE_OBJECTS", most)
        seen = list_logs(store, list_checkpoint(store)).objects
        assert {f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(8)} <= seen.keys(), most


@pytest.mark.s3
def test_an_entry_that_spark_removed_meanwhile_is_looked_for_again(goldens, s3_store):
    store = s3_store("lake").child("q")
    upload(goldens[CASE] / "checkpoint", store)
    seen = list(find_checkpoints([s3_store("lake")]))
    store.delete("offsets/7")
    store.delete("commits/7")
    (row,) = judge_checkpoints(seen)
    assert row.error is None and row.latest_planned_batch == 6


@pytest.mark.s3
def test_a_missing_root_on_s3_is_not_found(s3_store):
    with pytest.raises(CheckpointNotFoundError):
        find_checkpoints([s3_store("nope")])


# --- declarative pipelines ----------------------------------------------------------------------------------------


def test_of_a_flow_of_a_pipeline_the_newest_version_alone_is_live(fleet):
    flow = "_checkpoints/orders/clean"
    root = fleet(*(f"{flow}/{version}" for version in (0, 2, 10)), "_checkpoints/other/flow/0", "x/y/z/1", "x/y/z/2")
    damage(root / flow / "2" / "metadata")
    rows = {str(Path(row.location).relative_to(root)): row for row in survey(root)}
    replaced = {location: row.replaced_by for location, row in rows.items() if row.replaced_by}
    assert replaced == {f"{flow}/{version}": str(root / flow / "10") for version in (0, 2)}
    assert all(row.worst is None and row.error is None for row in rows.values())
    assert len(rows) == 6
    inner = {Path(row.location).name: bool(row.replaced_by) for row in survey(root / flow)}
    assert inner == {"0": True, "2": True, "10": False}, "also when the root is the flow itself"


MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
EACH_MINUTE = [number * MINUTE_MS for number in range(100)]
DAILY = [day * DAY_MS + number * MINUTE_MS for day in range(4) for number in range(5)]


@pytest.mark.parametrize(
    ("commits", "age_ms", "is_stalled"),
    [
        (EACH_MINUTE, 19 * MINUTE_MS, False),
        (EACH_MINUTE, 21 * MINUTE_MS, True),
        (EACH_MINUTE, 5 * DAY_MS, True),
        ([number * 1_000 for number in range(100)], 4 * MINUTE_MS, False),
        ([number * 1_000 for number in range(100)], 6 * MINUTE_MS, True),
        (DAILY, 2 * DAY_MS, False),
        (DAILY, 4 * DAY_MS, True),
        ([*EACH_MINUTE, EACH_MINUTE[-1] + 10 * HOUR_MS], 29 * HOUR_MS, False),
        ([*EACH_MINUTE, EACH_MINUTE[-1] + 10 * HOUR_MS], 31 * HOUR_MS, True),
        ([0, MINUTE_MS, 2 * MINUTE_MS], 5 * DAY_MS, False),
        ([5, 5, 5, 5, 5], 5 * DAY_MS, False),
        ([], 0, False),
    ],
    ids=["in time", "late", "days", "of seconds", "of seconds, late", "each day", "each day, late", "one long pause", "longer", "too few", "copied", "none"],
)  # fmt: skip
def test_it_is_stalled_by_its_own_pauses(commits, age_ms, is_stalled):
    now_ms = max(commits, default=0) + age_ms
    assert stalled_ms(reversed(commits), now_ms) == (age_ms if is_stalled else None)
