"""Flows of declarative pipelines are known by where their checkpoints are."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.flows import flow_of, newest_version


@pytest.mark.parametrize(
    ("location", "called", "directory"),
    [
        ("/p/_checkpoints/cat/db/bronze/late/3", "flow late of cat.db.bronze", "/p/_checkpoints/cat/db/bronze/late"),
        ("s3://l/_checkpoints/out/to_out/0", "flow to_out of out", "s3://l/_checkpoints/out/to_out"),
        ("/_checkpoints/x/_checkpoints/out/to_out/0/", "flow to_out of out", "/_checkpoints/x/_checkpoints/out/to_out"),
    ],
)
def test_a_version_of_a_flow(location, called, directory):
    flow = flow_of(location.rstrip("/"))
    assert flow is not None and (flow.called, flow.directory) == (called, directory)


@pytest.mark.parametrize(
    "location",
    [
        "/p/_checkpoints/0",
        "/p/_checkpoints/q/0",
        "/p/_checkpoints/cat/db/bronze/late",
        "/p/checkpoints/cat/db/bronze/late/0",
        "/p/_checkpoints",
        "/p/_checkpoints/a/b/٣",
        "/p/_checkpoints/a/b/-1",
    ],
)
def test_anything_else_is_no_flow(location):
    assert flow_of(location) is None


def test_the_highest_number_runs():
    assert newest_version(["0", "10", "9", "_ckpt_undo", "x"]) == "10" and newest_version(["_ckpt_undo"]) is None
