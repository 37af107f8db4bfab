"""Rules over a checkpoint as it is: what is damaged, and what will go wrong at the next restart.

A rule is a function from a view to findings. It judges what the view holds: the two logs alone, or everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_provider_ckpt.checks import beside, confs, logs, sidecars, sink_log, sinks, sources, state
from airflow_provider_ckpt.findings import Finding, without_empty_hints, worst_first
from airflow_provider_ckpt.view import CheckpointView

Rule = Callable[[CheckpointView], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    *logs.RULES,
    *confs.RULES,
    *sources.RULES,
    *state.RULES,
    *sidecars.RULES,
    *sinks.RULES,
    *sink_log.RULES,
    *beside.RULES,
)


def check(view: CheckpointView) -> tuple[Finding, ...]:
    """Run every rule; errors first."""
    found = (finding for rule in RULES for finding in rule(view))
    return worst_first(without_empty_hints(found, view.committed))
