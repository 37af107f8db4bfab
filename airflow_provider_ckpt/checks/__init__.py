"""Rules over a checkpoint as it is: what is damaged, and what will go wrong at the next restart.

A check is a function from a view to findings. It judges what the view holds: the two logs alone, or everything.
"""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import (
    access,
    beside,
    checksums,
    confs,
    file_sink,
    flows,
    log_gaps,
    logs,
    sink_log,
    sources,
    state,
    state_names,
    watermarks,
    writers,
)
from airflow_provider_ckpt.checks.findings import Finding, worst_first
from airflow_provider_ckpt.checks.registry import checks_of

#: In the order in which they judge.
CHECKS = checks_of(
    logs, log_gaps, watermarks, confs, sources, state, state_names, checksums, file_sink, sink_log, flows,
    beside, writers, access,
)  # fmt: skip


def check(view: CheckpointView) -> tuple[Finding, ...]:
    """Run every check; errors first."""
    return worst_first(finding for judge in CHECKS for finding in judge(view))
