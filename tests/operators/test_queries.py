"""The operator that compares the queries of the query file with their thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.documents.tasks import QueriesResultDocument
from airflow_provider_ckpt.fleet.queries import read_queries
from airflow_provider_ckpt.operators.checkpoint import CheckpointQueriesOperator
from tests.fleets import damage
from tests.json_documents import problems


@pytest.fixture
def declared(golden, tmp_path, monkeypatch):
    """Writes the query file that ``[ckpt] file`` names."""
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", f"{tmp_path}/ckpt.yaml")

    def declare(text: str) -> None:
        (tmp_path / "ckpt.yaml").write_text(f"format_version: 1\n{text}\n")

    declare.checkpoint = golden("agg-hdfs")
    declare.root = tmp_path
    return declare


def read(**arguments: object) -> object:
    return CheckpointQueriesOperator(task_id="queries", **arguments).execute({})


def test_what_holds_is_told(declared):
    declared(f"queries: {{a: {{checkpoint: {declared.checkpoint}, alert: {{age: 100000d}}}}}}")
    result = read()
    assert list(problems(result, QueriesResultDocument)) == []
    assert (result["queries"], result["failing"], result["failing_left_out"]) == (1, [], 0)
    assert result["file"] == f"{declared.root}/ckpt.yaml"


@pytest.mark.parametrize("alert", ["{age: 1ms}", "{behind: 1h}"])
def test_a_threshold_that_is_passed_or_not_known_is_tried_again(declared, alert):
    declared(f"queries: {{a: {{checkpoint: {declared.checkpoint}, alert: {alert}}}}}")
    with pytest.raises(AirflowException, match=r"THRESHOLD: a: the age of the (newest commit|oldest)") as failed:
        read()
    assert not isinstance(failed.value, AirflowFailException)


@pytest.mark.parametrize("query", [[], "[]"])
def test_a_list_without_a_name_is_not_all_queries(declared, query):
    declared(f"queries: {{a: {{checkpoint: {declared.checkpoint}}}}}")
    with pytest.raises(AirflowFailException, match="query is a list without a name"):
        read(query=query)


def test_damage_and_what_is_gone_are_not_tried_again(declared):
    declared(f"queries: {{a: {{checkpoint: {declared.checkpoint}}}, b: {{checkpoint: gone}}}}")
    with pytest.raises(AirflowFailException, match=r"GATE_FAILED: b: .*the location does not exist"):
        read()
    damage(declared.checkpoint / "commits/7")
    with pytest.raises(AirflowFailException, match="GATE_FAILED: a: CKPT"):
        read(query="a")


def test_never_returns_what_is_the_matter_bounded(declared):
    queries = "\n".join(f"  q{number:02}: {{checkpoint: gone{number}}}" for number in range(25))
    declared(f"queries:\n{queries}\n  a: {{checkpoint: {declared.checkpoint}, sources: ['file:/no/where']}}")
    result = read(fail_on="never")
    assert list(problems(result, QueriesResultDocument)) == []
    assert result["queries"] == 26 and len(result["failing"]) == 20 and result["failing_left_out"] == 6
    (told,) = read(fail_on="never", query=["a"])["failing"]
    assert told["name"] == "a" and told["reasons"][0].startswith("a: a source cannot be asked: ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"query": ["ordres"]}, "ordres is no query of .*ckpt.yaml; did you mean orders"),
        ({"query": 5}, "query must be a list of texts or one text"),
        ({"read_timeout": "soon"}, "read_timeout"),
        ({"query_file": "/no/where.yaml"}, "/no/where.yaml"),
    ],
)
def test_what_makes_no_sense_fails_for_good(declared, arguments, why):
    declared("queries: {orders: {checkpoint: x}}")
    with pytest.raises(AirflowFailException, match=why):
        read(**arguments)


def test_a_file_without_queries_and_no_file_are_said(declared, monkeypatch):
    declared("queries: {}")
    with pytest.raises(AirflowFailException, match="declares no query"):
        read()
    monkeypatch.delenv("AIRFLOW__CKPT__FILE")
    with pytest.raises(AirflowFailException, match="no query file is known"):
        read()
    with pytest.raises(ValueError, match="fail_on must be one of error, never"):
        CheckpointQueriesOperator(task_id="a", fail_on="warn")


def test_connections_are_those_of_the_file(declared, monkeypatch):
    taken: dict[str, object] = {}

    def reader(wanted, opened, config, *, configs, threads, timeout_s, connect):
        taken.update(config=config, configs=configs, threads=threads, timeout_s=timeout_s, conn=opened.__self__)
        assert callable(connect)
        return SimpleNamespace(read=lambda: iter(()))

    monkeypatch.setattr(read_queries, "QueryReader", reader)
    for conn_id in ("secured", "mine"):
        extra = f'{{"conn": "{conn_id}", "a": "1"}}'
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", f'{{"conn_type": "kafka", "extra": {extra}}}')
    declared(
        "kafka: {main: {bootstrap.servers: 'b1:9092', conn_id: secured, a: '2'}}\nstorage: {conn_id: lake}\n"
        "queries: {orders: {checkpoint: x, sources: ['kafka:main/orders']}}"
    )
    read(read_timeout="1m", threads=3)
    assert taken["configs"] == {"b1:9092": {"conn": "secured", "a": "2"}} and taken["config"] == {}
    assert (taken["threads"], taken["timeout_s"], taken["conn"].checkpoint_conn_id) == (3, 60, "lake")
    read(kafka_conn_id="mine", checkpoint_conn_id="own")
    assert taken["config"] == {"conn": "mine", "a": "1"} and taken["configs"] == {"b1:9092": {"a": "2"}}
    assert taken["conn"].checkpoint_conn_id == "own"


def test_the_log_has_the_table_and_what_it_cannot_show(declared, monkeypatch):
    said: list[str] = []
    log = SimpleNamespace(info=lambda text, *values: said.append(text % values), warning=print)
    monkeypatch.setattr(CheckpointQueriesOperator, "log", log)
    declared(f"queries: {{a: {{checkpoint: {declared.checkpoint}, alert: {{age: 1ms}}}}}}")
    read(fail_on="never")
    assert said[0].startswith("1 query: 1 past a threshold\n") and "│ a" in said[0]
    assert "a: the age of the newest commit is" in said[0] and "no engine is declared" in said[0]
