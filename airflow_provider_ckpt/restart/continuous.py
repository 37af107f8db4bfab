"""A restart with ``trigger(continuous=...)``, which few sources and sinks support and whose logs have another form."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.sink_marker import SINKS_OF_BATCHES
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.restart.deploy import DeploySpec

CONTINUOUS = "continuous"
_KEEP = "Keep the trigger that the query has."


def trigger(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT233: a source or a sink that has no continuous processing."""
    if deploy.trigger != CONTINUOUS:
        return
    sink = (deploy.sink or "").partition(":")[0]
    if sink.lower() in SINKS_OF_BATCHES:
        what = f"the sink {sink} has no continuous processing"
        yield Finding("CKPT233", "error", what, hint=_KEEP, spark_error="IllegalStateException")
    for name, source_type in (deploy.source_kinds or {}).items():
        if source_type == "file":
            what = f"source {name} is of the type file, which has no continuous processing"
            yield Finding("CKPT233", "error", what, hint=_KEEP)
