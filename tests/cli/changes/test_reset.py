"""``ckpt reset-offsets``, from end to end in this process, with a forged broker."""

from __future__ import annotations

import json
import shlex

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.sources.kafka import resolve_goal
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.fake_query import read_all

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]
LAST = 3


@pytest.fixture
def query(tmp_path, monkeypatch) -> KafkaQuery:
    """Batches 0 to 3, all committed; each of two partitions is at 40 and holds 5 to 100."""
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(LAST + 1):
        query.commit(batch_id)
    broker = broker_of(query)
    broker.spans["orders"] = {0: (5, 100), 1: (5, 100)}
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda servers, config: broker)
    return query


def ckpt(capsys, *arguments) -> tuple[int, dict]:
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def positions(query: KafkaQuery) -> list[int]:
    return list(offsets_of(observe(query.store).offset_seq(LAST).offset("0")).values())


def command(query: KafkaQuery, *arguments) -> list[str]:
    return ["reset-offsets", query.store.location, "--source", "0=kafka:forged:9092", "--sink", "kafka", *arguments]


@pytest.mark.parametrize(
    ("arguments", "moved"),
    [
        (["--to-earliest"], [5, 5]),
        (["--to-latest"], [100, 100]),
        (["--to-datetime", "now-2h"], [100, 100]),
        (["--by-duration", "PT1H", "--topic", "orders:1"], [40, 100]),
        (["--shift-by", "-10"], [30, 30]),
        (["--shift-by", "10", "--topic", "orders:0"], [50, 40]),
        (["--to-offsets", "7"], [7, 7]),
        (["--to-offsets", '{"orders":{"0":-2,"1":99}}'], [5, 99]),
        (["--to-current"], [40, 40]),
    ],
)
def test_each_goal_moves_what_it_says(query, capsys, arguments, moved):
    effects = ["--accept-sink", "duplicated", "--accept-sink", "skipped"]
    code, done = ckpt(capsys, *command(query, *arguments), *effects, *DO_IT)
    assert (code, done["plan"]["kind"], positions(query)) == (0, "reset", moved)
    assert done["plan"]["notes"][0].startswith("Source 0 goes to ")


def test_a_plan_is_written_approved_carried_out_told_and_undone(query, capsys, tmp_path):
    file = tmp_path / "plan.json"
    code = run(command(query, "--to-earliest", "--plan-out", str(file)))
    shown = capsys.readouterr().out
    assert (code, read_all(query.store)) == (0, query.files)
    said = shlex.split(shown.strip().splitlines()[-1])
    expected = ["ckpt", "reset-offsets", query.store.location, "--plan", str(file), "--execute"]
    assert said == [*expected, "--i-know-it-is-stopped", "--accept-sink", "duplicated"]
    code, done = ckpt(capsys, *said[1:], "--approved-by", "ben", "--quiet-period", "0")
    assert (code, done["receipt"]["status"], positions(query)) == (0, "applied", [5, 5])
    (change,) = ckpt(capsys, "history", query.store.location)[1]["changes"]
    assert (change["kind"], change["approved_by"], change["accepted_sink"]) == ("reset", "ben", ["duplicated"])
    assert ckpt(capsys, "undo", query.store.location, *DO_IT)[0] == 0
    assert read_all(query.store) == query.files


def test_what_is_exported_is_read_back_and_gives_the_same_offsets(query, capsys, tmp_path):
    assert run(command(query, "--shift-by", "-10", "--export")) == 0
    text = capsys.readouterr().out
    assert text == "orders,0,30\norders,1,30\n" and read_all(query.store) == query.files
    file = tmp_path / "offsets.csv"
    file.write_text(text)
    done = ckpt(capsys, *command(query, "--from-file", file), "--accept-sink", "duplicated", *DO_IT)
    assert (done[0], positions(query)) == (0, [30, 30])


def test_an_effect_on_the_sink_has_to_be_accepted(query, capsys):
    code, refused = ckpt(capsys, *command(query, "--to-earliest"), *DO_IT)
    assert (code, "--accept-sink duplicated" in refused["error"]["hint"]) == (4, True)
    assert read_all(query.store) == query.files


USAGE = {
    "no goal": ["--source", "0=kafka:h:1"],
    "two goals": ["--source", "0=kafka:h:1", "--to-earliest", "--to-latest"],
    "no source": ["--to-earliest"],
    "a source without its id": ["--source", "kafka:h:1", "--to-earliest"],
    "a source of a type that nobody knows": ["--source", "0=rate", "--to-earliest"],
    "a topic that is none": ["--source", "0=kafka:h:1", "--to-earliest", "--topic", "a b"],
    "offsets that are none": ["--source", "0=kafka:h:1", "--to-offsets", "{}"],
    "a file that is not there": ["--source", "0=kafka:h:1", "--from-file", "nowhere.csv"],
    "an export that is carried out": ["--source", "0=kafka:h:1", "--to-latest", "--export", "--execute"],
    "a plan and a goal": ["--plan", "p.json", "--to-earliest"],
    "a plan and a shift by nothing": ["--plan", "p.json", "--shift-by", "0"],
    "a plan and a word": ["--plan", "p.json", "--state-will-see-rows-again"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_what_makes_no_sense_is_a_usage_error(query, capsys, arguments):
    assert run(["reset-offsets", query.store.location, *arguments]) == 2
    assert read_all(query.store) == query.files


REFUSED = {
    "a topic that the query does not read": (["--topic", "other"], "the query does not read the topic other"),
    "a partition that there is not": (["--topic", "orders:9"], "the partition orders-9 does not exist"),
}


@pytest.mark.parametrize(("arguments", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_kafkas_own_tool_passes_over_ends_with_an_error(query, capsys, arguments, problem):
    """It prints a line and ends with exit code 0."""
    code, refused = ckpt(capsys, *command(query, "--to-earliest", *arguments))
    assert (code, problem in refused["error"]["message"]) == (4, True)


@pytest.mark.parametrize(("place", "problem"), [("file:/data/in", "a file source has no position that could be moved")])
def test_a_source_without_a_position_is_refused_with_a_sentence(query, capsys, place, problem):
    code, refused = ckpt(capsys, "reset-offsets", query.store.location, "--source", f"0={place}", "--to-earliest")
    assert code == 4 and problem in refused["error"]["message"]
