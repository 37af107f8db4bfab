"""A deploy that has Spark compare Hadoop's checksums; what Spark 4.3 does with each is recorded in the oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import COMPRESSION_CODEC, STATE_PROVIDER
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.restart.file_manager import COMMIT_PROTOCOL, FILE_MANAGER, classes_to_find, compares_sums
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate
from tests.views import offset_entry, view_of

PACKAGE = "org.apache.spark.sql.execution.streaming.checkpointing"
COMPARES = {FILE_MANAGER: f"{PACKAGE}.FileSystemBasedCheckpointFileManager"}
DEFAULT = {FILE_MANAGER: f"{PACKAGE}.FileContextBasedCheckpointFileManager"}


@pytest.mark.parametrize(
    ("damage", "code", "error"),
    [
        ("rot-end offsets/.{N}.crc", "CKPT121", "ChecksumException"),
        ("rot-end sources/0/.0.crc", "CKPT121", "ChecksumException"),
        ("rot-end offsets/.0.crc", "CKPT121", None),
        ("rot-end state/0/0/.{V}.delta.crc", "CKPT121", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"),
        ("rot-end state/0/0/.*.snapshot.crc", "CKPT121", None),
    ],
)
def test_what_does_not_fit_stops_the_query_that_compares_it(damage, code, error, golden):
    checkpoint = golden("agg-hdfs")
    mutate(checkpoint, [damage])
    view = examine(Store.open(str(checkpoint)), deep=True)
    for confs in ({}, DEFAULT):
        said = forecast(view, declare(DeploySpec(), {"confs": confs}))
        assert (said.spark_error, [item.code for item in said.findings if item.severity == "warning"]) == (None, [code])
        assert not compares_sums(declare(DeploySpec(), {"confs": confs}))
    compared = forecast(view, declare(DeploySpec(), {"confs": COMPARES}))
    assert compared.spark_error == error and "checksum files" in compared.unknown
    assert any(item.code == "CKPT122" and FILE_MANAGER in item.message for item in compared.findings) == bool(error)


DATABRICKS = "com.databricks.sql.streaming.state.RocksDBStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
LATER = "org.apache.spark.sql.execution.streaming.state.RocksDbStateStoreProvider"


def stateful(**conf: str) -> CheckpointView:
    files = {"offsets/0": offset_entry(None, 1, **conf), "commits/0": b"v1\n{}"}
    view = view_of("metadata", "state/0/0/1.delta", **files)
    return replace(view, stateful=True)


def foretold(view: CheckpointView, **declared: object) -> Forecast:
    return forecast(view, declare(DeploySpec(), declared))


def test_a_provider_of_somebody_else_is_not_judged():
    said = foretold(stateful(**{STATE_PROVIDER: DATABRICKS}))
    assert {f"class {DATABRICKS}", "state"} <= set(said.unknown)
    assert said.decision == "warn" and said.spark_error is None
    assert said.sentence.startswith(f"Spark starts and runs batch 1 if the deploy has the class {DATABRICKS}")
    (finding,) = [item for item in said.findings if item.code == "CKPT136"]
    assert "stops with ClassNotFoundException" in finding.message and "--class" in (finding.hint or "")


def test_a_deploy_can_say_that_it_has_the_class():
    said = foretold(stateful(**{STATE_PROVIDER: DATABRICKS}), classes=[DATABRICKS])
    assert f"class {DATABRICKS}" not in said.unknown and "state" in said.unknown
    assert said.sentence.startswith("Spark starts and runs batch 1; whether there is new data")
    assert [item.severity for item in said.findings if item.code == "CKPT136"] == ["note"]


def test_what_the_deploy_sets_does_not_hide_the_class_of_the_log():
    said = foretold(stateful(**{STATE_PROVIDER: DATABRICKS}), confs={STATE_PROVIDER: HDFS})
    (ignored,) = [item for item in said.findings if item.code == "CKPT201"]
    assert f"Spark will search for {DATABRICKS}" in ignored.message


@pytest.mark.parametrize("name", [LATER, "RocksDBStateStoreProvider", f"{HDFS} "])
def test_a_class_that_spark_itself_would_have_to_have_stops_it(name):
    view = stateful(**{STATE_PROVIDER: name})
    assert foretold(view).spark_error == "ClassNotFoundException"
    assert foretold(view, classes=[name]).spark_error is None, "a package may have put it there"
    assert "CKPT116" in [finding.code for finding in check(view)]


def test_a_codec_of_somebody_else_is_not_judged():
    view = stateful(**{COMPRESSION_CODEC: "com.example.Codec"})
    assert classes_to_find(view, DeploySpec()) == ("com.example.Codec",)
    assert foretold(view, classes=["com.example.Codec"]).unknown == foretold(stateful()).unknown
    own = stateful(**{COMPRESSION_CODEC: "org.apache.spark.io.NoCodec"})
    assert foretold(own).spark_error == "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"


@pytest.mark.parametrize(
    ("confs", "sink", "expected"),
    [
        ({FILE_MANAGER: "com.example.Files"}, "kafka", ("com.example.Files",)),
        ({FILE_MANAGER: "org.apache.spark.internal.io.cloud.AbortableFiles"}, None, ()),
        ({COMMIT_PROTOCOL: "com.example.Commits"}, "file:/out", ("com.example.Commits",)),
        ({COMMIT_PROTOCOL: "com.example.Commits"}, "parquet:/out", ("com.example.Commits",)),
        ({COMMIT_PROTOCOL: "com.example.Commits"}, "kafka", ()),
        ({STATE_PROVIDER: DATABRICKS}, None, ()),
    ],
)
def test_classes_that_the_deploy_itself_names(confs, sink, expected):
    view = view_of(**{"offsets/0": offset_entry(0)})
    assert classes_to_find(view, DeploySpec(confs=confs, sink=parse_sink(sink) if sink else None)) == expected


def test_a_query_without_state_needs_no_provider():
    view = view_of(**{"offsets/0": offset_entry(0, **{STATE_PROVIDER: DATABRICKS})})
    assert classes_to_find(view, DeploySpec()) == ()
    assert classes_to_find(view_of(), DeploySpec(confs={STATE_PROVIDER: DATABRICKS}, operators=("dedupe",))) == (
        DATABRICKS,
    )
