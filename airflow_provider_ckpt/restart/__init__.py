"""Spark's start of a query on a checkpoint, step by step: what speaks against it, in the order in which Spark meets it.

A step is a function from the checkpoint and the deploy to findings. The first finding with a ``spark_error`` is what
Spark stops with; those that follow would be met next. Mirrors ``MicroBatchExecution`` and ``StreamExecution`` of Spark
4.3; where an earlier Spark differs, the step asks for the version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from airflow_provider_ckpt.deploy import DeploySpec
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.restart import logs, sinks, sources, state
from airflow_provider_ckpt.view import CheckpointView

Step = Callable[[CheckpointView, DeploySpec], Iterable[Finding]]


#: In Spark's order.
STEPS: tuple[Step, ...] = (
    sources.names,
    sinks.name,
    logs.query_id,
    state.encoding,
    logs.newest_offsets,
    logs.newest_commits,
    logs.empty_log,
    sources.source_evolution,
    sources.source_logs,
    sources.newest_sources,
    logs.entry_before_newest,
    logs.confs,
    logs.logs_agree,
    logs.offsets_can_be_written,
    state.stateful_operators,
    state.state_format,
    state.state_loads,
    sinks.sink_takes_it,
    sinks.evolution,
    logs.batch_can_be_committed,
    logs.other_damage,
)


def start(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Every finding against a restart, in Spark's order."""
    for step in STEPS:
        yield from step(view, deploy)
