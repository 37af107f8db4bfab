"""The query file of Airflow: where it is, and the queries of it for DAGs."""

from __future__ import annotations

import os
import time

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.query_file import configured_file, queries, read_file, with_connection
from airflow_provider_ckpt.operators.checkpoint import CheckpointBackupOperator, CheckpointGateOperator
from tests.pipelines.lab import Pipeline

pytestmark = pytest.mark.airflow
SPEC = "spark-pipeline.yml"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The query file that ``[ckpt] file`` names."""
    path = tmp_path / "ckpt.yaml"
    path.write_text("format_version: 1\nqueries: {orders: {checkpoint: lake/orders}}\n")
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", f" {path} ")
    return path


def test_a_place_and_its_connection():
    assert with_connection(" s3://lake/a b.yaml  conn=lake ") == ("s3://lake/a b.yaml", "lake")
    assert with_connection("ckpt.yaml") == ("ckpt.yaml", None)


def test_the_option_names_the_file(file, monkeypatch):
    assert configured_file() == str(file)
    assert [query.name for query in queries()] == ["orders"]
    assert queries(str(file)) == queries()
    monkeypatch.chdir(file.parent)
    assert queries("ckpt.yaml") == queries(), "a path is one of the working directory"


def test_no_file_is_known():
    assert configured_file() is None
    with pytest.raises(CheckpointError, match="no query file is known"):
        read_file()


def test_a_connection_opens_it(file, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "checkpoint"}')
    assert [query.name for query in queries(f"{file} conn=lake")] == ["orders"]
    with pytest.raises(Exception, match="nowhere"):
        queries(f"{file} conn=nowhere")


def test_a_file_in_a_storage(file):
    import fsspec

    place = "memory://test-query-file/ckpt.yaml"
    for name in ("orders", "totals"):
        fsspec.filesystem("memory").pipe(place, f"format_version: 1\nqueries: {{{name}: {{checkpoint: /c}}}}".encode())
        assert [query.name for query in queries(place)] == [name]


def test_it_is_read_again_when_it_has_changed(file):
    read = read_file()
    assert read_file() is read
    file.write_text("format_version: 1\nqueries: {totals: {checkpoint: lake/totals}}\n")
    os.utime(file, (1, 1))
    assert [query.name for query in queries()] == ["totals"]


def test_a_file_that_is_not_there_is_told(file):
    with pytest.raises(AirflowFailException, match="gone.yaml"):
        queries(f"{file.parent}/gone.yaml")


def test_the_flows_of_pipelines_are_queries(shop, monkeypatch):
    made = Pipeline(shop("refreshed"))
    made.write()
    file = made.root / "ckpt.yaml"
    file.write_text(
        f"format_version: 1\nqueries: {{orders: {{checkpoint: /c}}}}\npipelines: {{shop: {{spec: {SPEC}}}}}\n"
    )
    found = {query.name: (query.pipeline, query.checkpoint) for query in queries(str(file))}
    assert found["orders"] == (None, "/c")
    assert found["shop.bronze"] == ("shop", f"{made.flow('bronze', 'bronze')}/1"), "the version that runs"
    assert sorted(found) == ["orders", "shop.bronze", "shop.silver", "shop.to_out"]
    (made.flow("bronze", "bronze") / "2").mkdir()
    assert queries(str(file))[2].checkpoint.endswith("/bronze/2"), "the storage is listed at each call"
    (made.root / SPEC).write_text("name: shop\n")
    with pytest.raises(AirflowFailException, match=r"spark-pipeline\.yml: it has no storage"):
        queries(str(file))


def test_three_hundred_queries_are_read_fast(file):
    """With the tasks of a DAG each, within two seconds; here within CPU seconds of a busy machine."""
    rows = "".join(
        f"  q{at}: {{checkpoint: s3://lake/q{at}, sources: ['kafka:b:9092/t{at}'], sink: 'file:s3://lake/o{at}'}}\n"
        for at in range(300)
    )
    file.write_text(f"format_version: 1\nqueries:\n{rows}")
    began = time.thread_time()
    made = [
        [
            CheckpointGateOperator(task_id="gate", query=query.name),
            CheckpointBackupOperator(task_id="t", query=query.name),
        ]
        for query in queries()
    ]
    assert len(made) == 300
    assert time.thread_time() - began < 2
    began = time.thread_time()
    assert len(queries()) == 300
    assert time.thread_time() - began < 0.1, "it is kept until the file changes"


def test_a_file_that_is_no_query_file_does_not_load_a_dag(file):
    file.write_text("format_version: 2\n")
    with pytest.raises(AirflowFailException, match=r"ckpt\.yaml line 1, format_version: it is 2"):
        queries()
