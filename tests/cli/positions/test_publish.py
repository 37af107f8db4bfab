"""The command ``ckpt publish-offsets``, on a real broker."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.documents.positions import PublishDocument
from tests.json_documents import problems
from tests.kafka_query import KafkaQuery

pytestmark = pytest.mark.timeout(180)


def test_the_command_tells_what_was_published(kafka, tmp_path, capsys):
    topic, query = kafka.create(2), KafkaQuery(tmp_path / "orders")
    kafka.produce(topic, 5)
    query.commit({topic: {"0": 4, "1": 0}})

    def call(*locations: str, group: str = f"spark-{topic}", options: tuple[str, ...] = ("--json",)) -> int:
        source = ("--source", f"0=kafka:{kafka.bootstrap}")
        return run(["publish-offsets", *locations, "--group", group, *source, *options])

    here = str(query.checkpoint)
    assert call(here, options=("--dry-run",)) == 0
    assert "Would be published" in capsys.readouterr().out
    assert f"spark-{topic}" not in kafka.groups()
    assert call(here) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(problems(document, PublishDocument)) == []
    (item,) = document["checkpoints"]
    assert item["offsets"] == {topic: {"0": 4, "1": 0}}
    assert item["lag"] == 1

    assert call(here, str(tmp_path / "nowhere"), group="{name}") == 3
    document = json.loads(capsys.readouterr().out)
    assert list(problems(document, PublishDocument)) == []
    assert [item["error"] and item["error"]["code"] for item in document["checkpoints"]] == [None, "NOT_FOUND"]

    query.commit({topic: {"0": 9, "1": 0}})
    assert call(here) == 4
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "PLAN_REFUSED"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("0=delta:s3://lake/orders", "is not kafka:HOST:PORT"),
        ("0=broker:9092", "unknown source type 'broker'"),
        ("0", "is not ID=TYPE[:PLACE]"),
    ],
)
def test_a_source_that_is_not_a_broker_is_a_usage_error(source, said, capsys):
    assert run(["publish-offsets", "/data/orders", "--group", "g", "--source", source]) == 2
    assert said in capsys.readouterr().err
