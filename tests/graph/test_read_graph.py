"""A scan of the fleet of thirty queries without its tables: nothing is claimed that needs them, nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.graph.draft import draft
from airflow_provider_ckpt.graph.graph import Graph
from airflow_provider_ckpt.graph.read_graph import read_graph
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.storage.store import Store

from .fleet_jobs import JOBS, truth_of
from .layouts import OF_OTHERS, STARTED_MS
from .thirty import read, said

NAMES = [job.name for job in JOBS]


@pytest.fixture(scope="module")
def of_files(thirty_files: Path) -> Graph:
    return read(thirty_files)


@pytest.mark.parametrize("job", JOBS, ids=NAMES)
def test_without_tables_no_table_is_claimed(of_files, thirty_files, job):
    sources, sink, spark = said(of_files, thirty_files, job)
    expected = ["" if text.startswith(("delta", "iceberg")) else text for text in truth_of(job).sources]
    assert (sources, sink) == (expected, "")
    assert spark == ("3.5" if job.spark == "3.5" else "")


def test_nothing_is_written(thirty_files):
    def seen() -> dict[str, tuple[int, bytes]]:
        files = (path for path in thirty_files.rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = seen()
    read(thirty_files)
    assert seen() == before


def test_an_odd_checkpoint_is_one_row(thirty_files, tmp_path):
    odd = tmp_path / "checkpoints" / "odd"
    (odd / "offsets").mkdir(parents=True)
    (odd / "offsets" / "3").write_text("v1\n{")
    (odd / "metadata").write_text('{"id":"x"}')
    other = Store.open(str(tmp_path / "checkpoints"))
    graph = read_graph([other, Store.open(str(thirty_files / "checkpoints"))], [Store.open(str(tmp_path / "nowhere"))])
    assert len(graph.nodes) == len(JOBS) + 1
    assert any("nowhere" in problem for problem in graph.problems)
    (node,) = [node for node in graph.nodes if node.stream.location == str(odd)]
    assert node.sources is None and not node.sink.text


def test_one_root_given_twice_is_one(thirty_files):
    root = Store.open(str(thirty_files / "checkpoints"))
    assert len(read_graph([root, root]).nodes) == len(JOBS)


def test_a_root_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(CheckpointNotFoundError):
        read_graph([Store.open(str(tmp_path / "nowhere"))])


def test_sources_of_other_connectors_have_no_type(thirty_files, tmp_path):
    """Beside outputs and files of others; each is a query with a source of which the file says that it is not known."""
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": STARTED_MS + 5_400, "conf": {}})
    for case, (offset, own) in OF_OTHERS.items():
        checkpoint = tmp_path / re.sub(r"\W+", "-", case)
        contents = {"metadata": json.dumps({"id": case}).encode(), "offsets/7": f"v1\n{metadata}\n{offset}".encode()}
        for name, data in {**contents, **own}.items():
            (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
            (checkpoint / name).write_bytes(data)
    graph = read_graph([Store.open(str(tmp_path))], [Store.open(str(thirty_files / "lake"))])
    assert len(graph.nodes) == len(OF_OTHERS)
    for node in graph.nodes:
        assert node.sources is not None
        (known,) = node.sources.values()
        assert (known.text, known.proofs) == ("", ()) and known.say, node.stream.location
    queries = parse_query_file(draft(graph)).queries.values()
    assert {tuple(source.type for source in query.deploy.sources or ()) for query in queries} == {(None,)}
