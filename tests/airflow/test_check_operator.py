"""The operator that checks a checkpoint."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import CheckpointCheckOperator
from tests.fleets import damage
from tests.forgotten_reader import drop, make_lake

pytestmark = pytest.mark.airflow


def check(checkpoint: object, **arguments: object) -> dict[str, object]:
    return CheckpointCheckOperator(task_id="check", checkpoint=str(checkpoint), **arguments).execute({})


def test_a_sound_checkpoint_has_no_findings(golden):
    checkpoint = golden("agg-hdfs")
    unknown = ["number of operators"]
    said = {"format_version": 1, "location": str(checkpoint), "unknown": unknown}
    assert check(checkpoint, deep=True) == {**said, "findings": [], "findings_left_out": 0}


def test_an_error_fails_for_good_and_says_what_it_is(golden):
    checkpoint = golden("agg-hdfs")
    damage(checkpoint / "offsets" / "7")
    with pytest.raises(AirflowFailException, match="GATE_FAILED.*CKPT102") as caught:
        check(checkpoint)
    assert [finding.code for finding in caught.value.__cause__.findings] == ["CKPT102"]
    findings = check(checkpoint, fail_on="never")["findings"]
    assert [item["code"] for item in json.loads(json.dumps(findings))] == ["CKPT102"]


def test_only_deep_sees_the_state(golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "state" / "0" / "0" / "8.delta").unlink()
    assert check(checkpoint)["findings"] == []
    with pytest.raises(AirflowFailException, match="CKPT130"):
        check(checkpoint, deep=True)


def test_a_warning_fails_when_it_is_asked_for(golden):
    checkpoint = golden("file-to-parquet-12")
    for name in ("10", ".10.crc", "11", ".11.crc"):
        (checkpoint / "commits" / name).unlink()
    assert [item["severity"] for item in check(checkpoint)["findings"]] == ["warning"]
    with pytest.raises(AirflowFailException, match="CKPT113"):
        check(checkpoint, fail_on="warning")


@pytest.mark.parametrize("form", [{"0": "file:{}"}, ["file:{}"], "0: file:{}"], ids=str)
def test_a_directory_is_compared_with_what_the_query_has_read(tmp_path, form):
    lake = make_lake(tmp_path)
    drop(lake, 3, 4, 5)
    assert check(lake / "totals")["findings"] == []
    sources = json.loads(json.dumps(form).replace("{}", f"{lake}/orders"))
    found = check(lake / "totals", sources=sources)["findings"]
    assert [item["code"] for item in found] == ["CKPT148"]
    with pytest.raises(AirflowFailException, match="CKPT148"):
        check(lake / "totals", sources=sources, fail_on="warning")


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        ({"0": "kafka:h:9092/t"}, "ckpt gate asks Kafka as well"),
        ({"0": "file"}, "each with what it reads from"),
        (2, "each with what it reads from"),
        ({"0": "fiel:/in"}, "unknown source type"),
    ],
)
def test_a_source_that_cannot_be_compared_is_refused(golden, sources, says):
    with pytest.raises(AirflowFailException, match=says):
        check(golden("agg-hdfs"), sources=sources)


def test_a_location_without_a_checkpoint_fails(tmp_path):
    with pytest.raises(AirflowFailException, match="NOT_FOUND"):
        check(tmp_path / "nope")


def test_a_typing_error_in_fail_on_is_found_when_the_dag_is_read(tmp_path):
    with pytest.raises(ValueError, match="fail_on must be one of error, warning, never, not 'errors'"):
        check(tmp_path, fail_on="errors")


def test_the_location_and_the_sources_are_templates():
    assert {"checkpoint", "checkpoint_conn_id", "sources"} <= set(CheckpointCheckOperator.template_fields)
