"""``--source`` means the same in every command that has it, in whatever case its type is written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NoReturn

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.progress import source_kind
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.plugin.read_checkpoint import declared_types
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.source import types_said
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.strategies import Scope
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch

#: What each command is given beside the location and the source.
COMMANDS = {
    "show": [], "log": [], "diff": ["0", "1"], "gate": ["--quick"], "wait": ["--batch", "1"],
    "rollback": ["--to-batch", "1", "--sink", "noop"],
}  # fmt: skip


@pytest.fixture
def checkpoint(tmp_path):
    for batch_id in range(3):
        commit_batch(tmp_path / "orders", batch_id, json.dumps({"orders": {"0": batch_id * 10}}))
    return tmp_path / "orders"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_type_in_any_case(command, checkpoint, capsys):
    told = set()
    for kind in ("kafka", "Kafka", "KAFKA"):
        code = run([command, str(checkpoint), *COMMANDS[command], "--source", f"0={kind}"])
        said = capsys.readouterr()
        told.add((code, said.out.partition("planned_at")[0].partition("Plan ")[0], said.err))
    assert len(told) == 1 and all("unknown" not in error for _, _, error in told), told


#: Commands that ask the broker, with what each needs; LOCATION and SOURCE are put in their places.
ASKING = [
    "show LOCATION --source SOURCE", "lag LOCATION --source SOURCE", "gate LOCATION --source SOURCE",
    "fleet LOCATION --source SOURCE", "wait LOCATION --source SOURCE --caught-up --timeout PT1S",
    "publish-offsets LOCATION --source SOURCE --group spark", "reset-offsets LOCATION --source SOURCE --to-earliest",
    "export LOCATION --source SOURCE --as csv --to-cluster kafka:other:9092",
]  # fmt: skip


@pytest.mark.parametrize("command", ASKING)
def test_topics_may_be_left_out_where_the_checkpoint_has_them(command, checkpoint, monkeypatch, capsys):
    """The broker is asked about the same topics, and what it says is told."""
    asked: list[set[str]] = []

    def topics(_: KafkaBroker, names: Iterable[str]) -> NoReturn:
        asked.append({*names})
        raise StoreError("the broker knows no more")

    monkeypatch.setattr(KafkaBroker, "topics", topics)
    told = []
    for place in ("kafka:h:9092", "Kafka:h:9092/orders"):
        words = command.replace("LOCATION", str(checkpoint)).replace("SOURCE", f"0={place}").split()
        told.append((run([*words, "--json"]), "the broker knows no more" in capsys.readouterr().out, asked.copy()))
        asked.clear()
    assert told[0] == told[1] and told[0][1]
    assert all(names == {"orders"} for names in told[0][2]) and told[0][2]


def test_so_do_python_and_the_pages(checkpoint):
    entry = observe(Store.open(str(checkpoint))).offset_seq(2)
    assert source_kind(entry, "0", {"0": "Kafka:broker:9092/orders"}) == "kafka"
    assert declare(DeploySpec(), {"sources": {"0": "Kafka:broker:9092"}}).source_kinds == {"0": "kafka"}
    assert declared_types("0=KAFKA, 1=Delta") == {"0": "kafka", "1": "delta"}


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("Kafka:H:9092/Orders", "kafka"),
        ("CLOUDFILES", "cloudFiles"),
        ("Rate-Micro-Batch", "rate-micro-batch"),
        ("Nothing:x", "Nothing"),
        ("{{ params.source }}", "{{ params.source }}"),
        ("", ""),
    ],
)
def test_a_type_is_declared_in_any_case(text, declared):
    assert types_said({"0": text}) == {"0": declared}


def test_a_reset_moves_the_topics_that_the_source_is_declared_with():
    """The form that ``ckpt lag`` advises."""
    declared = ("orders", "returns")
    assert Scope().within(()) == Scope()
    assert Scope().within(declared) == Scope({"orders": None, "returns": None})
    named = Scope({"orders": frozenset({3})})
    assert named.within(declared) == named and named.within(()) == named
    with pytest.raises(ValueError, match="declared with returns, and not with the topic orders"):
        named.within(("returns",))
