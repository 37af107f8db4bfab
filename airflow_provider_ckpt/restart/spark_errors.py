"""Names of Spark's errors in each version; findings carry the names of Spark 4.3."""

from __future__ import annotations

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.query.spark_version import SparkVersion

_UNCATEGORIZED = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"

#: Conditions of the Kafka connector; before 4.0 it threw an exception without one.
_KAFKA = "KAFKA_DATA_LOSS."

#: Before Spark 4.0 these had no error condition: the innermost Java exception names them.
_BEFORE_4_0 = {
    "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION": "IllegalStateException",
    "MALFORMED_LOG_FILE": "IllegalStateException",
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE": "StateSchemaNotCompatible",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS": "FileNotFoundException",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE": "FileNotFoundException",
}


def error_name(finding: Finding, spark_version: SparkVersion) -> str | None:
    """Error with which a version of Spark stops at a finding; None when it goes on."""
    error = finding.spark_error
    if error is None or spark_version >= (4, 0):
        return error
    if error == _UNCATEGORIZED and finding.code == "CKPT133":
        return "NumberFormatException"
    if error.startswith(_KAFKA):
        return "IllegalStateException"
    return _BEFORE_4_0.get(error, error)
