"""Options of ``ckpt export`` for another cluster that do not go together; ``tests/sources/kafka/test_translate.py`` has the rest."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.cli import run
from tests.kafka_checkpoint import commit_batch

PLACE = "kafka:broker:9092"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("csv", "--source", f"0={PLACE}"), "is for --to-cluster"),
        (("csv", "--to-cluster", PLACE), "needs the broker that the query reads"),
        (("csv", "--rename", "a=b"), "need --to-cluster"),
        (("csv", "--to-kafka-config", "a=b"), "need --to-cluster"),
        (("startingVersion", "--source", f"0={PLACE}", "--to-cluster", PLACE), "is for --as startingOffsets and csv"),
        (("csv", "--source", f"0={PLACE}", "--to-cluster", "delta:x"), "is not kafka:HOST:PORT"),
        (("csv", "--source", "0=nothing", "--to-cluster", PLACE), "unknown source type 'nothing'"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(tmp_path, capsys, options, says):
    commit_batch(tmp_path, 0, {"t": {0: 3}})
    assert run(["export", str(tmp_path), "--as", *options]) == 2
    assert says in capsys.readouterr().err
