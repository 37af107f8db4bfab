"""What a pipeline as a whole says of its next run."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.pipeline_findings import DEFINITIONS, not_judged_of, pipeline_findings, runs
from tests.fleet.pipelines import BRONZE, READER, TABLE, seen, there

TWO = """
dp.create_streaming_table("bronze"{format})
@dp.append_flow(target="bronze")
def early(): ...
@dp.append_flow(target="bronze")
def late(): ...
"""


def codes(pipeline, *refreshed: str) -> dict[str, str]:
    return {finding.code: finding.severity for finding in pipeline_findings(pipeline, refreshed)}


@pytest.mark.parametrize(
    ("format_", "severity"), [("", "warning"), (", format='parquet'", "error"), (", format='iceberg'", None)]
)
def test_two_flows_into_one_table(format_, severity):
    assert codes(seen(BRONZE, python=TWO.format(format=format_))).get("CKPT157") == severity


def test_two_flows_into_a_sink_of_files():
    sink = TWO.format(format="").replace('create_streaming_table("bronze")', 'create_sink("bronze", "json")')
    assert codes(seen(BRONZE, python=sink))["CKPT157"] == "error"


def test_a_flow_that_no_file_defines_is_told_where_all_files_were_read():
    assert codes(seen(BRONZE, python=READER)) == {"CKPT208": "note"}
    assert "CKPT208" not in codes(seen(BRONZE, python=f"{READER}if a: dp.create_streaming_table('b')"))
    assert codes(seen(BRONZE)) == {}, "no definition was read at all"
    assert runs(seen(BRONZE, python=TABLE)) == seen(BRONZE, python=TABLE).flows
    assert [flow.flow.name for flow in runs(seen(BRONZE, python=READER))] == ["silver"]


def test_a_storage_in_which_nothing_has_run():
    assert codes(seen(python=TABLE)) == {"CKPT209": "warning"}


@pytest.mark.parametrize("format_", ["delta", "parquet"])
def test_a_table_that_says_that_it_is_delta(format_):
    python = f"@dp.table(format='{format_}')\ndef bronze(): ...\n"
    assert codes(seen(BRONZE, python=python)) == ({"CKPT216": "warning"} if format_ == "delta" else {})


@pytest.mark.parametrize(
    ("refreshed", "found"),
    [
        (["bronze"], {"CKPT217": "warning"}),
        (["default.bronze"], {"CKPT217": "warning"}),
        (["`bronze`", "spark_catalog.default.silver"], {}),
        (["silver"], {}),
        (["all"], {}),
    ],
)
def test_a_full_refresh_of_a_table_that_others_read(refreshed, found):
    assert codes(seen(BRONZE, python=TABLE + READER), *refreshed) == found


@pytest.mark.parametrize("refreshed", [["bronze"], ["bronze", "silver"], ["all"]])
def test_a_full_refresh_of_an_iceberg_table_stops_its_readers(refreshed):
    python = TABLE.replace("dp.table", "dp.table(format='iceberg')") + READER
    (said,) = pipeline_findings(seen(BRONZE, python=python), refreshed)
    assert said.code == "CKPT217" and "flow silver of spark_catalog.default.silver stops there" in said.message


@pytest.mark.parametrize("python", ["dp.create_sink('out', 'json')\n" + TABLE, "def ("])
def test_a_full_refresh_of_all_empties_no_sink(python):
    to_out = there("out", "to_out", version=1)
    of_sink = "@dp.append_flow(target='out', name='to_out')\ndef f(): ...\n"
    pipeline = seen(BRONZE, to_out, python=python if python == "def (" else python + of_sink)
    (said,) = pipeline_findings(pipeline, ["all"])
    assert said.code == "CKPT217" and "begins flow to_out of out with batch 0" in said.message
    assert pipeline_findings(pipeline, ["bronze"]) == ()


def test_a_table_that_is_none_of_the_pipeline():
    with pytest.raises(ValueError, match="bronce is no table of shop: spark_catalog.default.bronze"):
        pipeline_findings(seen(BRONZE), ["bronce"])


def test_files_that_were_not_read_whole_are_not_judged():
    assert not_judged_of(seen(BRONZE, python="def (")) == (DEFINITIONS,)
    assert not_judged_of(seen(BRONZE, python=TABLE)) == ()
