"""What is read of a checkpoint and of an Iceberg table, and what is asked of the gate and of the loss sensor's forecast."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.positions.foresee_losses import foresee_losses
from airflow_provider_ckpt.positions.judge_tables import judge_tables
from airflow_provider_ckpt.positions.read_lag import LagQuestion
from airflow_provider_ckpt.positions.table_loss import SOURCE_OPTIONS, TableLosses
from airflow_provider_ckpt.restart.deploy import DeploySpec, declare
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.sources.declared import Access
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import read_history
from airflow_provider_ckpt.tables.iceberg_history import MAX_AGE_MS
from tests.goldens import unpack
from tests.sources.iceberg_stops import RECORDED, SKIP_DELETES

DECLARED = {f"0.{SKIP_DELETES}": "false"}


@pytest.fixture
def cases(tmp_path):
    return unpack(RECORDED, tmp_path)


def judged(home, options=DECLARED, trigger=None, now_ms: int = 0) -> TableLosses:
    checkpoint = Store.open(str(home / "checkpoint"))
    places, access = {"0": f"iceberg:{home / 'table'}"}, Access(Store.open, checkpoint)
    return judge_tables(observe(checkpoint), places, options, access, now_ms, trigger)


@pytest.mark.parametrize(
    ("name", "options", "trigger", "codes"),
    [
        ("deleted", {}, None, ["CKPT262"]),
        ("deleted", {f"0.{SKIP_DELETES}": "true"}, None, []),
        ("initial_expired", DECLARED, "availableNow", ["CKPT263"]),
        ("initial_expired", DECLARED, "processingTime", []),
        ("appended", {"0.stream-from-timestamp": "4102444800000"}, "once", ["CKPT264"]),
        ("position_expired_in_flight", DECLARED, "once", ["CKPT260"]),
    ],
)
def test_the_table_is_asked_with_the_options_and_the_trigger_of_the_query(cases, name, options, trigger, codes):
    found = judged(cases / name, options, trigger)
    assert [finding.code for finding in found.findings] == codes
    assert found.unknown == (() if options else (SOURCE_OPTIONS,))


@pytest.mark.parametrize("data", [b'{"version":7}', b"nothing", b"", b'{"version":1'])
def test_an_initial_offset_that_cannot_be_read_is_not_judged(cases, data):
    (cases / "appended/checkpoint/sources/0/offsets/0").write_bytes(data)
    assert judged(cases / "appended", trigger="availableNow").unknown == ("initial offset",)


def test_a_source_without_an_initial_offset_begins_with_the_oldest_snapshot(cases):
    assert judged(cases / "initial_missing", trigger="availableNow").findings == ()


def test_a_source_of_another_type_is_an_error(cases):
    entry = cases / "appended/checkpoint/offsets/0"
    entry.write_text(entry.read_text().rpartition("\n")[0] + '\n{"t":{"0":1}}')
    with pytest.raises(StoreError, match="source 0 is not an Iceberg source"):
        judged(cases / "appended")


def test_a_time_that_is_no_number_is_refused(cases):
    with pytest.raises(ValueError, match="stream-from-timestamp is 'soon', which is no whole number"):
        judged(cases / "appended", {"0.stream-from-timestamp": "soon"})


def test_the_gate_stops_with_what_iceberg_says_and_prints_the_command(cases):
    home = cases / "deleted_before"
    spec = {
        "sources": {"0": f"iceberg:{home / 'table'}"},
        "source_options": DECLARED,
        "trigger": "availableNow",
        "sink": "noop",
        "spark_version": "4.1",
    }
    _, foretold = forecast_restart(Store.open(str(home / "checkpoint")), declare(DeploySpec(), spec), Store.open)
    assert (foretold.decision, foretold.spark_error) == ("block", "IllegalStateException")
    (finding,) = [finding for finding in foretold.findings if finding.code == "CKPT263"]
    assert finding.commands == (
        f"ckpt reset-offsets {home / 'checkpoint'} --source 0=iceberg:{home / 'table'} --to-current --sink TYPE[:URI]",
    )


def test_the_sensor_is_told_when_an_expiry_may_take_the_position(cases):
    home = cases / "appended"
    history = read_history(Store.open(str(home / "table")))
    now_ms = history.snapshots[1].at_ms + MAX_AGE_MS - 60_000
    checkpoint = Store.open(str(home / "checkpoint"))
    foreseen = foresee_losses(
        observe(checkpoint),
        LagQuestion({"0": f"iceberg:{home / 'table'}"}),
        DECLARED,
        Access(Store.open, checkpoint),
        now_ms,
    )
    assert foreseen.expires_ms == 60_000
    assert foreseen.is_within(60_000) and not foreseen.is_within(59_999)


def test_the_sensor_leaves_alone_what_only_another_trigger_stops_at(cases):
    home = cases / "initial_expired"
    checkpoint, question = Store.open(str(home / "checkpoint")), LagQuestion({"0": f"iceberg:{home / 'table'}"})
    foreseen = foresee_losses(observe(checkpoint), question, DECLARED, Access(Store.open, checkpoint), 0)
    assert [finding.severity for finding in foreseen.findings] == ["warning"]
    assert not foreseen.is_within(0)
