"""The forecast against real Spark where the declared type of a source is not the one that wrote the checkpoint.

Every ordered pair of types, each in every state that the query of the one may have left; `types_run.py` has recorded
what Spark did.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store

HERE = Path(__file__).parent
TREES = json.loads((HERE / "types-trees.json").read_text())
OUTCOMES = {(4, minor): json.loads((HERE / f"types-4.{minor}.json").read_text()) for minor in (1, 3)}
TYPES = ("file", "rate", "rate-micro-batch", "kafka", "delta", "iceberg")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the gate sees of each tree."""
    views = {}
    for written, states in TREES.items():
        for state, files in states.items():
            home = tmp_path_factory.mktemp("tree")
            for name, content in files.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_bytes(base64.b64decode(content))
            views[written, state] = examine(Store.open(str(home)), deep=True)
    return views


def test_every_ordered_pair_was_put_to_spark():
    asked = {(*name.split(" | ")[::2],) for outcomes in OUTCOMES.values() for name in outcomes}
    assert asked == {(written, read) for written in TYPES for read in TYPES}


@pytest.mark.parametrize("spark", OUTCOMES)
def test_the_forecast_is_what_spark_did(spark, seen):
    wrong = []
    for name, outcome in OUTCOMES[spark].items():
        written, state, read = name.split(" | ")
        deploy = DeploySpec(declared_version=spark, sources=(Source("0", read),))
        foretold = forecast(seen[written, state], deploy)
        if foretold.spark_error != outcome["error"]:
            wrong.append(f"{name}: {foretold.spark_error}, Spark: {outcome['error']} ({outcome['message']})")
    assert not wrong, "\n".join(wrong)


def test_without_a_declared_type_the_forecast_says_that_it_is_not_judged(seen):
    view = seen["rate", "committed"]
    assert "source types" in forecast(view, DeploySpec(sources=(Source("0"),))).unknown
