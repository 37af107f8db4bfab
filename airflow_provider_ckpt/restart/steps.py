"""Spark's start of a query on a checkpoint, step by step: what speaks against it, in the order in which Spark meets it.

A step is a function from the checkpoint and the deploy to findings. The first finding with a ``spark_error`` is what
Spark stops with; those that follow would be met next. Mirrors ``MicroBatchExecution`` and ``StreamExecution`` of Spark
4.3; where an earlier Spark differs, the step asks for the version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.spark_version import SparkVersion
from airflow_provider_ckpt.restart import (
    compaction,
    file_manager,
    flows,
    logs,
    real_time,
    sinks,
    sources,
    state,
)

Step = Callable[[CheckpointView, DeploySpec], Iterable[Finding]]


#: In Spark's order.
STEPS: tuple[Step, ...] = (
    sources.registered_types,
    sources.names,
    sinks.name,
    real_time.sink,
    real_time.limits,
    real_time.continuous_trigger,
    logs.query_id,
    file_manager.sums_of_logs,
    state.encoding,
    logs.newest_offsets,
    logs.newest_commits,
    real_time.real_time_mode,
    logs.empty_log,
    sources.source_evolution,
    sources.source_logs,
    compaction.source_logs,
    sources.newest_sources,
    logs.entry_before_newest,
    logs.confs,
    logs.logs_agree,
    sources.next_entries,
    logs.offsets_can_be_written,
    state.stateful_operators,
    state.state_format,
    state.metadata_can_be_written,
    state.state_loads,
    sinks.sink_takes_it,
    flows.version,
    flows.writers,
    flows.first_start,
    sinks.file_format,
    compaction.sink_log,
    sinks.evolution,
    logs.batch_can_be_committed,
    logs.other_damage,
    state.waits_for_data,
)


#: Before 4.1 the commit log is read after both offset entries.
_STEPS_BEFORE_4_1 = tuple(step for step in STEPS if step is not logs.newest_commits)
_AT = _STEPS_BEFORE_4_1.index(logs.entry_before_newest) + 1
_STEPS_BEFORE_4_1 = (*_STEPS_BEFORE_4_1[:_AT], logs.newest_commits, *_STEPS_BEFORE_4_1[_AT:])


def start(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Every finding against a restart, in Spark's order."""
    for step in STEPS if deploy.spark_version >= (4, 1) else _STEPS_BEFORE_4_1:
        yield from named(step(view, deploy), deploy.spark_version)


def named(findings: Iterable[Finding], version: SparkVersion) -> Iterator[Finding]:
    """Findings with the names that errors have in a Spark."""
    return (replace(finding, spark_error=error_name(finding, version)) for finding in findings)


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
