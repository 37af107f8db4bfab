"""A sink and its checkpoint at one moment: a query that goes on meanwhile is no reason to refuse its own sink."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green import read_fitting as module
from airflow_provider_ckpt.blue_green.read_fitting import MOST_TRIES, read_fitting
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import Query


def read(query: Query):
    return read_fitting(Store.open(str(query.checkpoint)), parse_sink(f"file:{query.out}"), Store.open(str(query.out)))


def test_a_query_that_commits_between_the_readings(tmp_path, monkeypatch):
    query, coming = Query(tmp_path).run(0, 1), iter(range(2, 1 + MOST_TRIES))

    def marker_and_then_a_batch(*given):
        marker = read_marker(*given)
        for batch in coming:
            query.run(batch)
            break
        return marker

    monkeypatch.setattr(module, "read_marker", marker_and_then_a_batch)
    view, marker = read(query)
    assert view.latest_committed == marker.last_batch == MOST_TRIES


def test_the_sink_of_another_query(tmp_path):
    query = Query(tmp_path).run(0, 1)
    query.write(7, [{"value": 1}])
    with pytest.raises(PlanError, match="does not fit the query"):
        read(query)
