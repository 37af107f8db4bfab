"""Decides if the live query can be switched to another version, and the effect of that on its sinks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from airflow_provider_ckpt.blue_green.read_fitting import read_fitting
from airflow_provider_ckpt.blue_green.switch import switch_effect
from airflow_provider_ckpt.change.plan.acceptance import not_accepted, refusal
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store


def judge_switch(
    checkpoint: Store,
    sinks: Sequence[tuple[Sink, Store | None]],
    *,
    is_stopped: bool,
    trigger: str | None = None,
) -> tuple[CheckpointView, tuple[SinkEffect, ...]]:
    """The checkpoint, and the effect of a switch on each sink.

    Args:
        checkpoint: That of the live query.
        sinks: The sinks that were declared, each with its store.
        is_stopped: True if the query is stopped; a batch may still be in flight when it stops.
        trigger: The trigger of the query.

    Raises:
        PlanError: A sink is not that of the query.
    """
    real_time = trigger_of(trigger, ()) == REAL_TIME
    read = [read_fitting(checkpoint, sink, store) for sink, store in sinks or [(Sink(""), None)]]
    view, _ = read[-1]
    effects = (
        switch_effect(marker, view.in_flight, is_stopped=is_stopped, has_gaps=_has_gaps(view), real_time=real_time)
        for _, marker in read
    )
    return view, tuple(effects)


def require_exact(location: str, effects: Sequence[SinkEffect], accept_sink: Sequence[str]) -> None:
    """Raise PlanError for an effect that is neither exact nor accepted by name."""
    missing = not_accepted(location, [item.effect for item in effects], accept_sink)
    if missing:
        raise refusal("a switch", effects, missing, f"accept_sink={' '.join(missing)!r}", location=location)


def _has_gaps(view: CheckpointView) -> bool:
    """True if the logs leave batches out, as with async progress tracking."""
    return any(later - earlier > 1 for log in (view.planned, view.committed) for earlier, later in pairwise(log))
