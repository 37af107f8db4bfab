"""The forecast against real Spark: what it says of every case of the corpus is what Spark did.

What Spark did is recorded for five versions. `make test` judges each third case, and asks Spark about fewer anew;
`make exhaustive` judges all, `make oracle` asks about all (tests/oracle/test_anew.py).
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from airflow_provider_ckpt.restart.forecast import forecast
from tests.oracle.corpus import CASES, NOT_KNOWN
from tests.oracle.judge import deploy_of, differences, read_case
from tests.oracle.prepared import prepare

HERE = Path(__file__).parent
OUTCOMES = {
    tuple(map(int, path.stem.removeprefix("outcomes-").split("."))): json.loads(path.read_text())
    for path in sorted(HERE.glob("outcomes-*.json"))
}


def is_not_known(name: str) -> bool:
    return name.startswith(tuple(NOT_KNOWN))


#: The cases that are judged; those of which the outcome is not known are always among them.
JUDGED = {*[*CASES][:: 1 if os.environ.get("CKPT_EXHAUSTIVE") else 3], *(name for name in CASES if is_not_known(name))}


@pytest.mark.parametrize("spark", OUTCOMES, ids=lambda spark: ".".join(map(str, spark)))
def test_every_case_was_put_to_spark(spark):
    assert OUTCOMES[spark].keys() == {case.name for case in CASES.values() if case.runs_on(spark)}


def test_the_corpus_covers_the_supported_range():
    assert len(OUTCOMES[4, 3]) >= 150
    assert {(3, 5), (4, 0), (4, 3)} <= OUTCOMES.keys()


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the gate sees of a case, and where: read once, judged for each version."""

    @cache
    def see(name):
        home = tmp_path_factory.mktemp("case")
        prepare(CASES[name], home)
        return read_case(CASES[name], home), home

    return see


@pytest.mark.parametrize(
    ("spark", "name"), [(spark, name) for spark, outcomes in OUTCOMES.items() for name in outcomes if name in JUDGED]
)
def test_the_forecast_is_what_spark_did(spark, name, seen):
    case = CASES[name]
    view, home = seen(name)
    found = differences(forecast(view, deploy_of(case, spark, home)), OUTCOMES[spark][name])
    if is_not_known(name):
        assert found, "it is known after all: take it off the list"
    else:
        assert found == []
