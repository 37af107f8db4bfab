"""The command ``ckpt seed``."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.documents.changes import ChangeDocument
from tests.json_documents import problems
from tests.kafka_query import FIRST_MS, KafkaQuery


@pytest.fixture
def old(tmp_path) -> str:
    """Three batches, a millisecond apart."""
    query = KafkaQuery(tmp_path / "old")
    for end in (10, 20, 30):
        query.commit({"t": {"0": end}})
    return str(query.checkpoint)


@pytest.mark.parametrize(
    ("positions", "offset", "batch_id"),
    [
        (("--from", "{old}"), '{"t": {"0": 30}}', 2),
        (("--from", "{old}", "--batch", "1"), '{"t": {"0": 20}}', 2),
        (("--from", "{old}", "--at", str(FIRST_MS), "--after-batch", "9"), '{"t": {"0": 10}}', 9),
        (("--offsets", '{"0": {"t": {"0": 5}}}'), '{"t":{"0":5}}', 1),
    ],
)
def test_what_was_planned_is_carried_out(old, tmp_path, capsys, positions, offset, batch_id):
    new, plan = str(tmp_path / "new"), str(tmp_path / "plan.json")
    words = [word if word != "{old}" else old for word in positions]
    assert run(["seed", new, *words, "--source", "0=kafka", "--sink", "kafka", "--plan-out", plan]) == 0
    assert f"ckpt seed {new} --plan {plan} --execute" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
    assert (
        run(
            [
                "seed",
                new,
                "--plan",
                plan,
                "--execute",
                "--accept-sink",
                "unknown",
                "--accept-sink",
                "duplicated",
                "--json",
            ]
        )
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert list(problems(document, ChangeDocument)) == []
    assert document["receipt"]["batch_id"] == batch_id
    assert run(["show", new, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["latest_committed_batch"], shown["in_flight"]) == (batch_id, None)
    assert shown["sources"][0]["committed_offset"] == offset


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("", 2, "give the positions: either --from LOC or --offsets JSON"),
        ("--from {old} --offsets {{}}", 2, "give the positions: either"),
        ("--offsets {{}} --batch 1", 2, "--batch and --at go with --from"),
        ("--from {old} --batch 1 --at 2026-01-01", 2, "give --batch or --at, not both"),
        ("--offsets [5]", 2, "give a JSON object by source id"),
        ("--offsets {{", 2, "not JSON"),
        ("--from {old} --source 0=rate", 4, "a source of the type rate cannot be seeded"),
        ("--from {old} --batch 7 --source 0=kafka", 4, "batch 7 is not committed"),
        ("--from {old} --source 0=kafka --execute", 4, "the effect of this seed on the sink, which was not declared"),
        ("--plan p.json --offsets {{}}", 2, "--plan gives the whole plan, so leave out --offsets"),
    ],
)
def test_what_makes_no_sense_is_refused(old, tmp_path, capsys, words, code, said):
    assert run(["seed", str(tmp_path / "new"), *words.format(old=old).split()]) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
