"""The queries of a file are read: what can be told of each, and why the rest cannot be."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from threading import Event

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.fleet.queries.read_flows import read_flows
from airflow_provider_ckpt.fleet.queries.read_queries import NO_ENGINE, QueryReader
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.report.query_tables import headline, matter_lines, unknown_lines
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import AHEAD
from tests.fleets import damage, make_fleet, teams
from tests.forgotten_reader import drop, make_lake


@pytest.fixture
def orders(golden, tmp_path):
    """A directory with a query that has read files, and a function that reads the queries of a text."""
    checkpoint = golden("agg-hdfs")

    def read(text: str, *names: str, **options: object) -> dict[str, QueryRow]:
        return {row.name: row for row in read.reader(text, *names, **options).read()}

    def reader(text: str, *names: str, **options: object) -> QueryReader:
        file = parse_query_file(f"format_version: 1\nqueries:\n{text}", f"{tmp_path}/ckpt.yaml")
        wanted = read_flows(file, names, Store.open)
        return QueryReader(wanted, options.pop("open_store", Store.open), {}, **options)

    read.reader, read.checkpoint, read.root = reader, checkpoint, tmp_path
    return read


def test_a_row_has_what_the_files_say(orders):
    row = orders(f"  orders: {{checkpoint: {orders.checkpoint}, alert: {{age: 1ms, delay: 100000d}}}}")["orders"]
    assert (row.checkpoint.latest_committed_batch, row.checkpoint.in_flight) == (7, None)
    assert row.checkpoint.last_commit_age_ms > 0 and row.watermark_delay_ms > 0
    assert (row.running, row.running_unknown) == (None, NO_ENGINE)
    assert [(item.key, item.passed, item.origin) for item in row.thresholds] == [
        ("delay", False, f"{orders.root}/ckpt.yaml line 3"),
        ("age", True, f"{orders.root}/ckpt.yaml line 3"),
    ]
    assert (row.behind_ms, row.backup, row.change, row.exit_code) == (None, None, None, 1)


@pytest.mark.parametrize(
    ("sleeps", "running", "why"),
    [(0, True, None), (30, None, "a: there was no answer within 3 s")],
)
def test_whether_it_runs_is_asked_within_the_time(orders, sleeps, running, why):
    engine = orders.root / "engine.py"
    engine.write_text(f'import time; time.sleep({sleeps}); print(\'{{"runs": [{{"id": "7", "presence": "live"}}]}}\')')
    run_it = f"[{sys.executable}, {engine}]"
    application = f"{{status: {run_it}, end: {run_it}, start: {run_it}}}"
    text = f"  a: {{checkpoint: {orders.checkpoint}, engine: command, application: {application}}}"
    row = orders(text, timeout_s=3)["a"]
    assert (row.running, row.running_unknown) == (running, why)


@pytest.mark.parametrize(("ahead_s", "is_known"), [(30, True), (3_600, False)])
def test_a_commit_of_the_future_has_no_age_and_passes_nothing(orders, ahead_s, is_known):
    at_s = now_ms() / 1000 + ahead_s
    os.utime(f"{orders.checkpoint}/commits/7", (at_s, at_s))
    row = orders(f"  a: {{checkpoint: {orders.checkpoint}, alert: {{age: 1d}}}}")["a"]
    (threshold,) = row.thresholds
    assert (row.checkpoint.last_commit_age_ms, threshold.holds) == ((0, True) if is_known else (None, False))
    assert (threshold.why, row.exit_code) == ((None, 0) if is_known else (AHEAD, 1))


def test_no_watermark_is_no_delay(golden, tmp_path, orders):
    checkpoint = golden("file-to-parquet-5")
    row = orders(f"  a: {{checkpoint: {checkpoint}, alert: {{delay: 100000d}}}}")["a"]
    assert row.watermark_delay_ms is None and row.thresholds[0].why == "the newest committed batch has no watermark"


def test_one_that_cannot_be_read_is_one_row(orders):
    rows = orders(
        f"  a: {{checkpoint: nowhere, alert: {{rows: 5}}}}\n  b: {{checkpoint: {orders.checkpoint}}}\n"
        "  c: {checkpoint: 'nosuch://x/y'}"
    )
    assert list(rows) == ["a", "b", "c"]
    assert isinstance(rows["a"].failure, CheckpointNotFoundError) and rows["a"].exit_code == 3
    assert rows["a"].thresholds[0].why.startswith("the checkpoint could not be read: the location does not exist")
    assert rows["b"].exit_code == 0 and rows["c"].error is not None


def test_damage_is_a_finding_and_no_end(orders):
    damage(orders.checkpoint / "commits/7")
    row = orders(f"  b: {{checkpoint: {orders.checkpoint}}}")["b"]
    assert row.worst == "error" and row.exit_code == 1


def test_names_choose(orders):
    text = "  a: {checkpoint: x}\n  b: {checkpoint: y}\n  c: {checkpoint: z}"
    assert list(orders(text, "c", "a")) == ["a", "c"]


def test_the_newest_backup_and_the_newest_change(orders, monkeypatch):
    text = f"  a: {{checkpoint: {orders.checkpoint}, backups: {orders.root}/backups/a, undo: {orders.root}/undo}}"
    assert (orders(text)["a"].backup, orders(text)["a"].backup_unknown) == (None, None)
    for _ in range(2):
        assert run(["backup", str(orders.checkpoint), "--to", f"{orders.root}/backups/a"]) == 0
    newest = max(path.name for path in Path(orders.root, "backups/a").glob("*Z-*"))
    sure = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "unknown"]
    for to in ("6", "5"):
        assert (
            run(["rollback", str(orders.checkpoint), "--to-batch", to, "--undo-to", f"{orders.root}/undo", *sure]) == 0
        )
    row = orders(text)["a"]
    assert row.backup.backup_id == newest and row.backup.batch_id == 7 and row.backup.age_ms >= 0
    assert (row.change.kind, row.change.state) == ("rollback", "applied") and "@" in row.change.by
    plans = Path(orders.root, "undo").glob("*/*/plan.json")
    assert row.change.plan_id == max(plans, key=lambda path: path.stat().st_mtime_ns).parent.name


def test_backups_and_changes_that_cannot_be_read_are_said_and_keep_the_row(orders):
    (orders.root / "backups").write_text("a file")
    (orders.checkpoint.parent / "_ckpt_undo/checkpoint/0123456789abcdef").mkdir(parents=True)
    (orders.checkpoint.parent / "_ckpt_undo/checkpoint/0123456789abcdef/plan.json").write_text("{}")
    row = orders(f"  a: {{checkpoint: {orders.checkpoint}, backups: backups}}")["a"]
    assert row.checkpoint.latest_committed_batch == 7
    assert row.backup_unknown and "is not the plan that was recorded" in row.change_unknown


def test_what_does_not_answer_in_time_is_told_and_holds_nobody(orders):
    hang = Event()

    def open_store(location: str) -> Store:
        if "slow" in location:
            hang.wait(60)
        return Store.open(location)

    began = time.monotonic()
    text = "".join(f"  slow{number}: {{checkpoint: slow{number}}}\n" for number in range(3))
    text += (
        f"  fine: {{checkpoint: {orders.checkpoint}, backups: slow, sources: ['file:/slow'], alert: {{behind: 1m}}}}"
    )
    rows = orders(text, open_store=open_store, threads=2, timeout_s=0.5)
    assert time.monotonic() - began < 30
    hang.set()
    assert isinstance(rows["slow0"].failure, StoreUnavailableError) and rows["slow2"].exit_code == 5
    fine = rows["fine"]
    assert fine.checkpoint.latest_committed_batch == 7 and "no answer within 0.5 s" in fine.backup_unknown
    assert "no answer within 0.5 s" in fine.checkpoint.lag_error and fine.change is None
    assert fine.thresholds[0].measured is None and fine.exit_code == 1


def test_what_has_not_changed_is_listed_and_not_read_again(orders, monkeypatch):
    reader = orders.reader(f"  a: {{checkpoint: {orders.checkpoint}}}")
    (first,) = reader.read()
    read: list[str] = []
    real = Store.read
    monkeypatch.setattr(Store, "read", lambda store, name: read.append(name) or real(store, name))
    (second,) = reader.read()
    assert read == [] and second.checkpoint.latest_committed_batch == first.checkpoint.latest_committed_batch == 7
    assert second.checkpoint.last_commit_age_ms >= first.checkpoint.last_commit_age_ms
    damage(orders.checkpoint / "commits/7")
    assert next(iter(reader.read())).worst == "error" and "commits/7" in read


def test_two_hundred_queries_take_seconds(orders, golden):
    make_fleet(orders.checkpoint, orders.root / "many", teams(200))
    text = "".join(f"  q{at}: {{checkpoint: many/{place}}}\n" for at, place in enumerate(teams(200)))
    began = time.process_time()
    rows = orders(text)
    assert len(rows) == 200 and all(row.error is None for row in rows.values())
    assert time.process_time() - began < 10


def test_what_another_query_has_taken_out_of_a_source_is_in_the_row(orders, tmp_path):
    """The query that writes the directory went back: of that the checkpoint of its reader says nothing."""
    lake = make_lake(tmp_path)
    text = f"  totals: {{checkpoint: {lake}/totals, sources: ['file:{lake}/orders']}}"
    reader = orders.reader(text)
    assert next(iter(reader.read())).checkpoint.findings == ()
    drop(lake, 3, 4, 5)
    (row,) = reader.read()  # the checkpoint is as it was
    assert [(item.code, item.severity) for item in row.checkpoint.findings] == [("CKPT148", "warning")]
    assert (
        headline([row]) == "1 query: 1 with a warning" and "totals: CKPT148 from batch 3 on" in matter_lines([row])[0]
    )
    assert "data loss of source 0" not in row.checkpoint.unknown


@pytest.mark.parametrize("sources", ["", ", sources: [file]", ", sources: ['file:nosuch://x/y']"])
def test_a_source_that_was_not_compared_is_named(orders, tmp_path, sources):
    lake = make_lake(tmp_path)
    drop(lake, 3, 4, 5)
    row = orders(f"  totals: {{checkpoint: {lake}/totals{sources}}}")["totals"]
    assert "data loss of source 0" in row.checkpoint.unknown
    assert any("not judged: " in line and "data loss of source 0" in line for line in unknown_lines([row]))
