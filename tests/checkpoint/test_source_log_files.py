"""The log of a file source: which offsets name its entries, and what a restart makes of one that is shorter."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.source_log_files import source_files
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.errors import MalformedEntryError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate

#: What Spark 4.3 makes of an offset, or its error (tests/oracle/sweep-4.3.json).
OFFSETS = {
    '{"logOffset":4}': 4,
    '{"logOffset":4.0}': 4,
    '{"logOffset":4.7}': 4,
    '{"logOffset":4} x': 4,
    "4": 4,
    "+4": 4,
    "04": 4,
    "4.0": "MappingException",
    "4x": "JsonParseException",
    "NaN": "JsonParseException",
    "hello": "JsonParseException",
    "null": "NullPointerException",
    "[4]": "MappingException",
    "{}": "MappingException",
    '{"logOffset":"4"}': "MappingException",
    '{"logOffset":4,"logOffset":3}': "MappingException",
}


@pytest.mark.parametrize("text", OFFSETS)
def test_an_offset_is_read_as_spark_reads_it(text):
    try:
        read = file_offset.decode(text)
    except MalformedEntryError as error:
        read = error.spark_error
    assert read == OFFSETS[text]


def view_of(home, *mutations):
    mutate(home / "checkpoint", mutations)
    return examine(Store.open(str(home / "checkpoint")), deep=True)


def test_a_bare_number_is_an_offset_of_a_source_that_keeps_a_file_log(golden_home):
    view = view_of(golden_home("file-to-parquet-5"), "line offsets/{N} 2 4", "drop sources/0/{N}")
    assert "sources/0/4" in source_files(view, view.offset_seq(4)).missing


def test_a_rollback_takes_the_log_of_bare_offsets_back(golden_home):
    home = golden_home("file-to-parquet-5")
    view_of(home, *(f"line offsets/{batch} 2 {batch}" for batch in range(5)))
    plan = make_rollback(Stores(Store.open(str(home / "checkpoint"))), 2)
    assert {"sources/0/3", "sources/0/4"} <= {action.name for action in plan.actions}


def test_a_bare_number_of_another_source_is_none(golden_home):
    view = view_of(golden_home("rate"))
    assert all(
        name.startswith("sources/0/") for name in source_files(view, view.offset_seq(view.latest_committed)).names
    )
    assert not [f for f in forecast(view, DeploySpec()).findings if f.severity == "error"]


def test_an_idle_batch_hides_that_the_log_is_shorter_and_spark_loses_files(golden_home):
    """So ends every availableNow run of a watermarked aggregation."""
    view = view_of(golden_home("agg-hdfs"), "drop sources/0/5")
    told = forecast(view, DeploySpec())
    lost = next(finding for finding in told.findings if finding.code == "CKPT123")
    assert told.spark_error is None and lost.severity == "error"
    assert "these files, new ones too, are never read" in lost.message


def test_a_checksum_file_that_was_left_stops_the_next_entry(golden_home):
    told = forecast(view_of(golden_home("agg-hdfs"), "bare-drop sources/0/5"), DeploySpec())
    assert told.spark_error == "_LEGACY_ERROR_TEMP_2207"
