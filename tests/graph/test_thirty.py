"""Thirty queries of real Spark 3.5, 4.1 and 4.3 with their tables: each line and each edge against what is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.graph.draft import draft
from airflow_provider_ckpt.graph.graph import Graph
from airflow_provider_ckpt.query.query_parser import parse_query_file

from .fleet_jobs import JOBS, edges, truth_of
from .thirty import at, read, said

NAMES = [job.name for job in JOBS]


@pytest.fixture(scope="module")
def graph(thirty: Path) -> Graph:
    return read(thirty)


@pytest.mark.parametrize("job", JOBS, ids=NAMES)
def test_each_line_is_true_and_no_less_than_files_prove(graph, thirty, job):
    truth = truth_of(job)
    assert said(graph, thirty, job) == ([*truth.sources], truth.sink, truth.spark)


def test_each_edge_is_true_and_none_is_missing(graph, thirty):
    begin = f"{thirty}/checkpoints/"
    found = {
        (edge.writer.removeprefix(begin), edge.reader.removeprefix(begin), at(thirty, edge.place.text))
        for edge in graph.edges
    }
    assert found == edges()
    assert len(found) >= 7


def test_the_file_declares_that_and_no_more(graph, thirty):
    queries = parse_query_file(draft(graph)).queries
    assert len(queries) == len(JOBS)
    by_place = {query.checkpoint: query for query in queries.values()}
    for job in JOBS:
        query, truth = by_place[f"{thirty}/checkpoints/{job.name}"], truth_of(job)
        assert [at(thirty, source.text) for source in query.deploy.sources or ()] == [*truth.sources]
        assert at(thirty, query.deploy.sink.text if query.deploy.sink else "") == truth.sink
