"""Queries of real Spark on a real broker, and set-ups of which people report false alarms, or none where one was due."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.fleet.queries.read_flows import read_flows
from airflow_provider_ckpt.fleet.queries.read_queries import QueryReader
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch, plan_batch
from tests.ports import free_ports

pytestmark = pytest.mark.timeout(1800)
ALERT = "{behind: 10m, rows: 100}"


def read(root: Path, *queries: str, **options: Any) -> dict[str, QueryRow]:
    text = "format_version: 1\nqueries:\n" + "".join(f"  {query}\n" for query in queries)
    wanted = read_flows(parse_query_file(text, f"{root}/ckpt.yaml"), (), Store.open)
    reader = QueryReader(wanted, Store.open, {}, **options)
    return {row.name: row for row in reader.read()}


def sides(row: QueryRow) -> dict[str, str]:
    return {
        item.key: "holds" if item.holds else "passed" if item.passed else f"not known: {item.why}"
        for item in row.thresholds
    }


def ago(minutes: float) -> int:
    return int((time.time() - 60 * minutes) * 1000)


def at(offset: int, topic: str) -> dict[str, dict[int, int]]:
    return {topic: {0: offset}}


def one(tmp_path: Path, kafka: Any, topic: str, offset: int, alert: str = ALERT, **options: Any) -> QueryRow:
    """A query that has read a topic up to an offset."""
    commit_batch(tmp_path / "c", 3, at(offset, topic))
    declared = f"sources: ['kafka:{kafka.bootstrap}/{topic}'], alert: {alert}"
    return read(tmp_path, f"a: {{checkpoint: c, {declared}}}", **options)["a"]


def test_a_query_of_a_topic_and_a_directory(tmp_path, spark, kafka):
    from tests.kafka_lab import session_of

    topic, files, checkpoint = kafka.create(), tmp_path / "in", tmp_path / "c"
    files.mkdir()
    (files / "a.txt").write_text("1\n")
    kafka.produce(topic, 4, timestamp_ms=ago(60))
    session = session_of(spark)
    source = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    records = session.readStream.format("kafka").options(**source).load().selectExpr("CAST(value AS STRING)")
    both = records.union(session.readStream.format("text").load(str(files)))
    writer = both.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(600)
    dead = f"localhost:{free_ports(1)[0]}"

    def rows() -> list[QueryRow]:
        declared = f"{{checkpoint: c, alert: {{behind: 10m, rows: 2, age: 1h}}, sources: ['kafka:%s/{topic}', 'file:{files}']}}"
        return [read(tmp_path, f"a: {declared % at}", timeout_s=4)["a"] for at in (kafka.bootstrap, dead)]

    # Idle, since what is in the topic an hour long has been read: nothing is behind.
    orders, half = rows()
    assert sides(orders) == {"behind": "holds", "age": "holds", "rows": "holds"} and orders.behind_ms == 0
    assert orders.exit_code == 0 and [source.total for source in orders.checkpoint.sources] == [0, 0]
    # A broker that is dead leaves the directory in the row, and no threshold of both holds.
    assert half.behind_ms is None and half.checkpoint.sources[1].total == 0 and half.exit_code == 1
    assert sides(half)["age"] == "holds" and "not known" in sides(half)["behind"] and "not known" in sides(half)["rows"]
    kafka.produce(topic, 3, timestamp_ms=ago(20))
    (files / "b.txt").write_text("2\n")
    orders, half = rows()
    assert sides(orders) == {"behind": "passed", "age": "holds", "rows": "passed"}
    assert [source.total for source in orders.checkpoint.sources] == [
        3,
        1,
    ] and 18 * 60_000 < orders.behind_ms < 23 * 60_000
    assert half.checkpoint.sources[1].total == 1


def test_a_dead_broker_holds_nobody(tmp_path, kafka):
    topic, dead = kafka.create(), f"localhost:{free_ports(1)[0]}"
    queries = []
    for number in range(30):
        commit_batch(tmp_path / f"c{number}", 3, at(0, topic))
        servers = dead if number % 2 else kafka.bootstrap
        queries.append(f"q{number}: {{checkpoint: c{number}, sources: ['kafka:{servers}/{topic}'], alert: {ALERT}}}")
    began = time.monotonic()
    rows = read(tmp_path, *queries, timeout_s=3)
    assert time.monotonic() - began < 30
    assert {sides(row)["behind"].partition(":")[0] for name, row in rows.items() if int(name[1:]) % 2} == {"not known"}
    assert {sides(row)["behind"] for name, row in rows.items() if not int(name[1:]) % 2} == {"holds"}


def test_a_producer_that_has_stopped_is_not_behind(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 5, timestamp_ms=ago(60 * 24 * 30))
    assert sides(one(tmp_path, kafka, topic, 5)) == {"behind": "holds", "rows": "holds"}


def test_a_query_that_has_stopped_is_behind_while_records_come(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 5, timestamp_ms=ago(45))
    kafka.produce(topic, 5, timestamp_ms=ago(0))
    row = one(tmp_path, kafka, topic, 3)
    assert sides(row) == {"behind": "passed", "rows": "holds"} and 40 * 60_000 < row.behind_ms < 50 * 60_000


def test_a_peak_that_has_just_come_is_many_rows_and_not_behind(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 500, timestamp_ms=ago(0))
    assert sides(one(tmp_path, kafka, topic, 0)) == {"behind": "holds", "rows": "passed"}


def test_marks_of_transactions_are_offsets_and_the_age_is_that_of_records(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce_in_transaction(topic, 3, commit=True, timestamp_ms=ago(0))
    row = one(tmp_path, kafka, topic, 3, "{rows: 0, behind: 10m}")
    assert sides(row) == {"behind": "holds", "rows": "passed"}  # the mark of the commit, which Spark reads past


def test_records_from_the_future_are_not_old(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 3, timestamp_ms=ago(-600))
    assert sides(one(tmp_path, kafka, topic, 0))["behind"] == "holds"


def test_a_topic_that_has_gone_was_created_again_or_has_lost_records_is_not_known(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 9, timestamp_ms=ago(0))
    kafka.delete_before(topic, 6)
    assert "3 unread offsets are gone" in sides(one(tmp_path, kafka, topic, 3))["behind"]
    kafka.recreate(topic)
    assert "not known" in sides(one(tmp_path, kafka, topic, 3))["behind"]
    kafka.delete(topic)
    row = one(tmp_path, kafka, topic, 3)
    assert "not known" in sides(row)["behind"] and row.exit_code == 1


def test_a_partition_that_is_new_to_the_query_is_unread_from_its_beginning(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 5, timestamp_ms=ago(0))
    kafka.grow(topic, 2)
    kafka.produce(topic, 7, partition=1, timestamp_ms=ago(30))
    row = one(tmp_path, kafka, topic, 5)
    assert row.checkpoint.sources[0].total == 7 and sides(row)["behind"] == "passed"


def test_a_first_batch_that_never_ends_is_in_flight_and_has_no_age(tmp_path, kafka):
    topic = kafka.create()
    kafka.produce(topic, 5, timestamp_ms=ago(30))
    plan_batch(tmp_path / "c", 0, at(5, topic))
    declared = f"sources: ['kafka:{kafka.bootstrap}/{topic}'], alert: {{age: 1h, behind: 10m}}"
    row = read(tmp_path, f"a: {{checkpoint: c, {declared}}}")["a"]
    assert sides(row) == {"behind": "passed", "age": "not known: no batch is committed"}


def test_a_daily_job_by_its_age(tmp_path, kafka):
    import os

    topic = kafka.create()
    commit_batch(tmp_path / "c", 3, at(0, topic))
    declared = f"sources: ['kafka:{kafka.bootstrap}/{topic}'], trigger: availableNow, alert: {{age: 26h}}"
    for hours, side in ((25, "holds"), (27, "passed")):
        os.utime(tmp_path / "c/commits/3", (time.time() - hours * 3600,) * 2)
        assert sides(read(tmp_path, f"a: {{checkpoint: c, {declared}}}")["a"]) == {"age": side}
