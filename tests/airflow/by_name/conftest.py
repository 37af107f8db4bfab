"""One Airflow on PostgreSQL with the DAGs of ``dags/``, and those of ``deploys.py``, over queries of one query file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from airflow_provider_ckpt.storage.store import Store
from tests.airflow.by_name.lake import sell
from tests.airflow.by_name.table import Table
from tests.airflow.conftest import ROOT
from tests.airflow.dag_runs import Run, airflow_on_postgres
from tests.airflow_stack import AirflowStack
from tests.changes.reset.kafka_query import KafkaQuery as MovedQuery
from tests.kafka_query import KafkaQuery

FILE = """
format_version: 1
defaults: {{backups: "{place}/backups/{{query}}", undo: "{place}/undo/{{query}}", spark_version: "4.3"}}
kafka: {{main: {{bootstrap.servers: "{bootstrap}"}}}}
queries:
  orders: {{checkpoint: "{place}/orders", sources: [rate-micro-batch], sink: kafka}}
  shop.totals: {{checkpoint: "{place}/totals", sources: [rate-micro-batch], sink: noop}}
  counts: {{checkpoint: "{place}/counts", sources: [rate-micro-batch], sink: noop}}
  moved: {{checkpoint: "{place}/moved", sources: ["kafka:main/{topic}"], sink: kafka}}
  published: {{checkpoint: "{place}/published", sources: ["kafka:main/{topic}"], sink: noop}}
  sums: {{checkpoint: "{place}/sums", sources: [rate-micro-batch], sink: foreachBatch}}
  sold: {{checkpoint: "{place}/sold/checkpoint", sources: [rate-micro-batch], sink: "file:{place}/sold/out"}}
  live: {{checkpoint: "{place}/live/checkpoint", sources: [rate-micro-batch], sink: "file:{place}/live/out"}}
  audited: {{checkpoint: "{place}/audited", sources: [rate-micro-batch], sink: noop}}
  stream: {{checkpoint: "{place}/stream/checkpoint", sources: [file], sink: "file:{place}/stream/output"}}
  good: {{checkpoint: "{place}/good", sources: [rate-micro-batch], sink: noop}}
  bad.1: {{checkpoint: "{place}/bad.1", sources: [rate-micro-batch], sink: noop}}
  closed: {{checkpoint: "{place}/closed", sink: noop}}
"""
RATE = ("audited", "orders", "totals", "counts", "good", "bad.1", "asked", "back")
_TABLE = Table()


@pytest.fixture(scope="session")
def topic(kafka) -> str:
    """What the queries of Kafka read: 60 records in both of its partitions."""
    topic: str = kafka.create(2)
    for partition in (0, 1):
        kafka.produce(topic, 60, partition)
    return topic


@pytest.fixture(scope="session")
def place(goldens, kafka, topic, spark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the queries are; the file is there."""
    place = tmp_path_factory.mktemp("lake")
    for name in RATE:
        shutil.copytree(goldens["4.3.0/rate-micro-batch"] / "checkpoint", place / name)
    shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", place / "closed")
    moved = type("Moved", (MovedQuery,), {"TOPICS": (topic,)})(Store.open(str(place / "moved")))
    for batch_id in range(4):
        moved.commit(batch_id)
    KafkaQuery(place / "published").commit({topic: {"0": 4, "1": 7}})
    for _ in range(2):
        sell(spark, place)
    (place / "ckpt.yaml").write_text(FILE.format(place=place, bootstrap=kafka.bootstrap, topic=topic))
    return place


@pytest.fixture(scope="session")
def stack(place: Path, kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    env = {
        "AIRFLOW__CKPT__FILE": str(place / "ckpt.yaml"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(
            {"conn_type": "kafka", "extra": {"bootstrap.servers": kafka.bootstrap}}
        ),
        "CKPT_STREAM_HOME": str(place / "stream"),
        "CKPT_STREAM_QUERY": "stream",
        "CKPT_STREAM_FROM": "2026-01-01",
        "CKPT_DEMO_HOME": str(place / "trial"),
        "DEPLOYS_HOME": str(place),
    }
    dags = tmp_path_factory.mktemp("dags")
    (dags / "dags").symlink_to(ROOT / "dags")
    (dags / "deploys.py").symlink_to(Path(__file__).with_name("deploys.py"))
    with airflow_on_postgres(tmp_path_factory.mktemp("stack") / "home", dags, env) as stack:
        yield stack


@pytest.fixture(scope="session", autouse=True)
def begun(stack: AirflowStack, place: Path) -> Mapping[str, Run]:
    """The runs that need minutes of Spark and nobody: they begin first, and their tests, the last ones, wait for them."""
    audited = {"queries": ["shop.totals", "audited"], "home": str(place.parent / "audit")}
    params = {"checkpoint_lifecycle": {"timeout_s": 900}, "stream_orders": {"hours": 3}, "checkpoint_audit": audited}
    return {dag_id: Run(stack, dag_id, **given) for dag_id, given in params.items()}


@pytest.fixture(scope="session")
def table() -> Table:
    """Where a test says what a run has shown."""
    return _TABLE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the runs have shown."""
    if _TABLE.rows:
        terminalreporter.section("DAGs by the names of queries")
        for line in _TABLE.lines():
            terminalreporter.write_line(line)
