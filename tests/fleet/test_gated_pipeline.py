"""The gate of a pipeline: which flows are judged, and the worst decision of all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import a_warning, an_error
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.fleet.gated_pipeline import GatedFlow, GatedQueries, judge_pipeline
from airflow_provider_ckpt.fleet.pipeline import with_flows
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.restart.forecast import Forecast
from tests.fleet.pipelines import BRONZE, READER, TABLE, seen, there

FILE = parse_query_file("format_version: 1\npipelines: {shop: {spec: spark-pipeline.yml}}")
PASS = Forecast(1, None, None, (), ())
TWO = '@dp.append_flow(target="bronze", name="early")\ndef e(): ...\n'


def judged(pipeline, forecast=PASS, **given):
    asked = {}

    def foretell(query, beside):
        asked[query.name] = beside
        if isinstance(forecast, Exception):
            raise forecast
        return CheckpointView(query.checkpoint, 0, {}, complete=True), forecast

    return judge_pipeline(with_flows(FILE, pipeline), pipeline, foretell, **given), asked


@pytest.mark.parametrize(
    ("python", "forecast", "decision"),
    [
        (TABLE, PASS, "pass"),
        (TABLE, replace(PASS, findings=(a_warning("CKPT209", "w"),)), "warn"),
        (TABLE, replace(PASS, findings=(an_error("CKPT207", "e"),)), "block"),
        (TABLE, StoreError("it is down", location="/s"), "block"),
        (f"{TABLE}def (", PASS, "warn"),
        ("@dp.table(format='delta')\ndef bronze(): ...", PASS, "warn"),
    ],
)
def test_the_decision_is_the_worst_one(python, forecast, decision):
    assert judged(seen(BRONZE, python=python), forecast)[0].decision == decision


@pytest.mark.parametrize(
    ("forecasts", "decision", "closes"),
    [
        ([], "pass", []),
        ([PASS, replace(PASS, unknown=("sources",))], "warn", ["warn"]),
        ([PASS, None], "block", ["block", "warn"]),
    ],
)
def test_a_list_has_the_worst_decision_and_closes_as_a_forecast_does(forecasts, decision, closes):
    query = replace(FILE.pipelines["shop"].any_flow, name="q")
    gated = GatedQueries(tuple(GatedFlow(f"q{at}", query, forecast=each) for at, each in enumerate(forecasts)))
    assert gated.decision == decision and gated.place == ", ".join(f"q{at}" for at in range(len(forecasts)))
    assert [word for word in ("block", "warn") if gated.closes(word)] == closes


@pytest.mark.parametrize(
    ("format_", "left"), [("delta", ["e"]), ("iceberg", ["e"]), ("json", ["e", "w"]), (None, ["e", "w"])]
)
@pytest.mark.parametrize("code", ["CKPT157", "CKPT207"])
def test_what_a_table_of_files_would_do_is_not_said_of_another_format(format_, left, code):
    said = replace(PASS, findings=(an_error(code, "e"), a_warning(code, "w")))
    python = TABLE if format_ is None else TABLE.replace("dp.table", f"dp.table(format={format_!r})")
    gated = judged(seen(BRONZE, python=python), said)[0]
    assert [finding.message for finding in gated.flows[0].forecast.findings] == left


def test_what_the_files_define_is_judged_and_all_where_that_is_not_known():
    old = there("spark_catalog", "default", "bronze", "old")
    assert judged(seen(BRONZE, old, python=TABLE + TWO))[1] == {
        "shop.bronze": frozenset({"early"}),
        "shop.early": frozenset({"bronze"}),
    }
    assert judged(seen(BRONZE, old))[1] == {"shop.bronze": None, "shop.old": None}


def test_what_is_refreshed_in_full_begins_anew_and_is_not_judged():
    pipeline = seen(BRONZE, python=TABLE + READER)
    assert [*judged(pipeline, full_refresh=["bronze"])[1]] == ["shop.silver"]
    assert judged(pipeline, full_refresh=["all"])[1] == {}
