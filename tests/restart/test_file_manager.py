"""A deploy that has Spark compare Hadoop's checksums; what Spark 4.3 does with each is recorded in the oracle."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.restart.classes import FILE_MANAGER
from airflow_provider_ckpt.restart.file_manager import compares_sums
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate

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
