"""A restart with ``trigger(continuous=...)``, which few sources and sinks support and whose logs have another form."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import SINKS_OF_BATCHES

CONTINUOUS = "continuous"
_KEEP = "Keep the trigger that the query has."


def trigger(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT233: a source or a sink that has no continuous processing."""
    if deploy.trigger != CONTINUOUS:
        return
    if deploy.sink is not None and deploy.sink.said.lower() in SINKS_OF_BATCHES:
        what = f"the sink {deploy.sink.said} has no continuous processing"
        yield an_error("CKPT233", what, hint=_KEEP, spark_error="IllegalStateException")
    for name, source_type in (deploy.source_kinds or {}).items():
        if source_type == "file":
            what = f"source {name} is of the type file, which has no continuous processing"
            yield an_error("CKPT233", what, hint=_KEEP)
