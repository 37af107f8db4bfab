"""The audit from end to end: a fleet that goes on, audited twice; its tables, its page, and the command."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError

from airflow_provider_ckpt.batches.audit import TABLES
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.read import list_places
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.spark import audit as audits
from airflow_provider_ckpt.spark.audit import PAGE, Audit, main, polled_since_ms, run, take_in
from airflow_provider_ckpt.spark.options import Places, StreamOptions
from airflow_provider_ckpt.spark.read_back import history, plain
from airflow_provider_ckpt.storage.store import Store
from tests.batches.fleet_story import FleetStory
from tests.fleets import make_fleet
from tests.spark_lab import activate

ROOT = Path(__file__).parents[2]
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))


@pytest.fixture
def audit(tmp_path):
    home = str(tmp_path / "home [1] {a,b} 50%")  # Spark's readers take that for a pattern, unless they are told
    return Audit((str(tmp_path / "fleet"),), home, f"{home}/checkpoint", reading={"depth": "2"})


def test_what_happened_between_two_audits_is_in_the_second(spark, audit, tmp_path):
    """The fleet's clock is that of its files: a batch a minute, in the year in which fake queries live."""
    story = FleetStory(tmp_path / "fleet")
    story.commit("orders", 9)
    story.commit("clicks", 6)
    session = activate(spark.newSession())
    if EXHAUSTIVE:
        first = run(session, audit)
        assert (first["queries"], first["restarts"], first["gaps"]) == (2, 0, 0)
        page = Path(audit.home, PAGE).read_text()
        assert "<b>15</b>batches" in page and "The log went back" not in page
    else:  # to judge takes most of the time, and is done for the second
        take_in(session, audit).awaitTermination()

    story.roll_back("orders", 5)
    story.commit("orders", 2)
    story.commit("clicks", 4)
    story.purge("clicks", 2)
    second = run(session, audit)
    assert (second["queries"], second["restarts"], second["gaps"]) == (2, 1, 1)
    page = Path(audit.home, PAGE).read_text()
    assert "The log went back from batch 8; batch 6 was the first to run again, " in page
    assert "Batches 6 to 7 are missing: purged before they were read." in page
    for name in TABLES:
        assert session.read.parquet(plain(f"{audit.home}/tables/{name}")).count() == second[name]
    rows = history(session, audit.table)
    keys = rows.select("location", "timeline", "batch_id", "source_id")
    assert keys.count() == keys.distinct().count()


@pytest.mark.exhaustive
def test_two_audits_share_a_history(spark, tmp_path):
    """At once, each with a checkpoint of its own, while the table is merged and vacuumed; then a third reads it all."""
    home, stories = str(tmp_path / "home"), {name: FleetStory(tmp_path / name) for name in ("east", "west")}
    each = [
        Audit((str(story.root),), home, str(tmp_path / f"checkpoint-{name}"), reading={"maxBatchesPerTrigger": "4"})
        for name, story in stories.items()
    ]
    table, merged = Store.open(f"{home}/history"), 0
    for _ in range(3):
        for name, story in stories.items():
            story.commit(f"{name} orders", 9)
            story.commit(f"{name} clicks", 5)
        running = [take_in(activate(spark.newSession()), audit) for audit in each]
        while any(query.isActive for query in running):
            merged += len(compact(table, now_ms(), least_epochs=2, kept_epochs=0))
            vacuum(table, now_ms())
        assert [query.exception() for query in running] == [None, None]
    assert merged > 2
    session = activate(spark.newSession())
    found = history(session, each[0].table).select("location", "timeline", "batch_id").collect()
    assert Counter(map(tuple, found)) == Counter(
        (story.location(name), 0, batch)
        for story in stories.values()
        for name, log in story.logs.items()
        for batch in log
    )
    assert len({place.query_id for place in list_places(table)}) == 2
    both = Audit(tuple(str(story.root) for story in stories.values()), home, str(tmp_path / "checkpoint-both"))
    assert run(session, both)["queries"] == 4
    assert history(session, both.table).count() == 2 * len(found)
    assert f"<b>{len(found)}</b>batches" in Path(home, PAGE).read_text()  # a commit counts once


@pytest.mark.exhaustive
def test_the_tables_are_kept_where_the_jvm_has_no_driver(spark, tmp_path, s3_server):
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    FleetStory(tmp_path / "fleet").commit("orders", 4)
    home = Store.open("s3://audits", **options)
    home.fs.mkdir("audits")
    fleet = Store.open("s3://audits/fleet", **options)
    for path in (tmp_path / "fleet").rglob("*"):
        if path.is_file():
            fleet.create(path.relative_to(tmp_path / "fleet").as_posix(), path.read_bytes())
    audit = Audit((fleet.location,), "s3://audits/home", str(tmp_path / "checkpoint"), options)
    counts = run(activate(spark.newSession()), audit)
    assert counts["queries"] == 1
    names = set(audit.store().find())
    assert {PAGE, *(f"tables/{name}/part-0.parquet" for name in TABLES)} <= names


def test_a_place_without_checkpoints_is_an_error_that_says_so(spark, tmp_path, capsys):
    activate(spark)
    (tmp_path / "fleet").mkdir()
    assert main([str(tmp_path / "fleet"), "--home", str(tmp_path / "home"), "--master", "local[2]"]) == 3
    said = capsys.readouterr().err
    assert f"no checkpoint below {tmp_path}/fleet has committed a batch, so there is nothing to audit" in said
    assert not (tmp_path / "home" / PAGE).exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--option", "pollIntervall=1s"], 2, "there is no option 'pollintervall'"),
        (
            ["--option", "depth=deep"],
            2,
            "the option depth is not valid: 'deep' is no whole number; it must be 0 or more",
        ),
        (["--usd-per-million-reads", "nan"], 2, "'nan' is no price"),
        (["--stall-after", "soon"], 2, "argument --stall-after"),
        ([], 3, "nowhere: the location does not exist"),
    ],
)
def test_what_it_cannot_do_is_said_before_anything_is_written(spark, tmp_path, capsys, arguments, code, said):
    activate(spark)
    (tmp_path / "fleet").mkdir()
    root = tmp_path / "fleet" if arguments else tmp_path / "nowhere"
    try:
        ended = main([str(root), "--home", str(tmp_path / "home"), *arguments])
    except SystemExit as usage:
        ended = usage.code
    assert ended == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_it_writes_the_index_of_the_pages_where_one_is_wanted(goldens, tmp_path):
    """The driver alone: the fleet is checked as it is now."""
    make_fleet(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "fleet", ["a", "b"])
    own = Audit((str(tmp_path / "fleet"),), str(tmp_path / "home"), str(tmp_path / "checkpoint"))
    audits.write_index(own)
    assert not (tmp_path / "index").exists()
    audits.write_index(replace(own, index=str(tmp_path / "index"), reading={"depth": "1"}))
    index = IndexReader().read(Store.open(str(tmp_path / "index")))
    assert [row.location for row in index.rows] == [f"{tmp_path}/fleet/a", f"{tmp_path}/fleet/b"]


def test_a_query_is_silent_up_to_the_poll_and_not_up_to_the_page(monkeypatch):
    """To read a large fleet takes longer than a stall does."""
    clock, judged = iter((1_000, 400_000, 401_000)), {}
    monkeypatch.setattr(audits, "now_ms", lambda: next(clock))
    monkeypatch.setattr(audits, "take_in", lambda *_: SimpleNamespace(awaitTermination=lambda: None))
    monkeypatch.setattr(audits, "maintain", lambda *_: None)
    monkeypatch.setattr(audits, "read_table", lambda _: SimpleNamespace(files=("data",)))
    monkeypatch.setattr(audits, "judge", lambda *_, **times: judged.update(times) or {"queries": 1})
    run(None, Audit(("fleet",), "home", "checkpoint"))
    assert judged == {"polled_ms": 1_000, "now_ms": 401_000}


BEGINS, RUNS, HAS_READ, WAITS = (
    {"message": message, "isTriggerActive": active, "isDataAvailable": data}
    for message, active, data in (
        ("Initializing sources", False, False),
        ("Processing new data", True, True),
        ("Waiting for next trigger", False, True),
        ("Waiting for data to arrive", False, False),
    )
)
NOON_MS, MINUTE_MS = 1_795_348_800_000, 60_000


@pytest.mark.parametrize(
    ("status", "rows", "polled_ms"),
    [
        (BEGINS, None, 0),
        (RUNS, None, 0),
        (RUNS, 4, NOON_MS - MINUTE_MS),
        (HAS_READ, 4, NOON_MS - MINUTE_MS),
        (HAS_READ, 5, 0),
        (WAITS, None, NOON_MS + 5 * MINUTE_MS),
        (WAITS, 4, NOON_MS + 5 * MINUTE_MS),
    ],
    ids=[
        "nothing was polled",
        "no micro-batch yet",
        "the next",
        "all was read",
        "there may be more",
        "nothing yet",
        "nothing since",
    ],
)
def test_since_when_a_followed_fleet_was_polled(status, rows, polled_ms):
    """A stream without anything to read reports no progress, however long: then all may be silent."""
    progress = None if rows is None else {"timestamp": "2026-11-22T12:00:00.000Z", "numInputRows": rows}
    options = StreamOptions(Places(("fleet",)), max_batches=5, quiet_ms=MINUTE_MS)
    query = SimpleNamespace(status=status, lastProgress=progress)
    assert polled_since_ms(query, options, NOON_MS + 6 * MINUTE_MS) == polled_ms


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_jvm_that_ends_by_the_signal_that_stops_the_service_is_no_error(monkeypatch, is_stopped):
    def follow(*_: object, **__: object) -> None:
        raise Py4JError("the JVM does not answer")

    monkeypatch.setattr(audits, "session_on", lambda _: None)
    monkeypatch.setattr(audits, "follow", follow)
    monkeypatch.setattr(audits, "Event", lambda: SimpleNamespace(is_set=lambda: is_stopped))
    monkeypatch.setattr(audits.signal, "signal", lambda *_: None)
    with nullcontext() if is_stopped else pytest.raises(Py4JError):
        assert main(["fleet", "--home", "home", "--follow"]) == 0


@pytest.mark.exhaustive
def test_it_follows_until_it_is_stopped(tmp_path):
    """As docs/pipeline.md starts it."""
    story = FleetStory(tmp_path / "fleet")
    story.commit("orders", 3)
    page = tmp_path / "home" / PAGE
    [shown] = re.findall(
        r"^python (-m .+ --follow (?:.+\n)+?)```", (ROOT / "docs/pipeline.md").read_text(), re.MULTILINE
    )
    places = (
        shown.replace("\\\n", "")
        .replace("s3://lake/checkpoints", f"{tmp_path}/fleet")
        .replace("/srv/audit", f"{tmp_path}/home")
    )
    command = [sys.executable, *shlex.split(places), "--batch-every", "1s", "--judge-every", "5s"]
    command += ["--option", "pollInterval=1s", "--option", "maxPollInterval=2s"]
    env = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    java = Path(shutil.which("java") or "").parent
    # its environment is not activated: python3 on the PATH is one that has not this package
    running = subprocess.Popen(command, cwd=ROOT, env={**env, "PATH": f"{java}{os.pathsep}{os.defpath}"})
    try:
        seen(page, "orders", running)
        story.commit("orders", 2)
        seen(page, "<b>5</b>batches", running)
        running.terminate()
        assert running.wait(60) == 0
    finally:
        running.kill()
    shutil.rmtree(tmp_path / "home")


def seen(page: Path, text: str, running: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 600
    while not (page.exists() and text in page.read_text()):
        assert running.poll() is None, "the audit has ended"
        assert time.monotonic() < until, f"{text!r} does not come"
        time.sleep(0.5)
