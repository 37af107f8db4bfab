"""Whether the live query can be switched to another version, and what that does at its sinks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

from airflow_provider_ckpt.change.acceptance import effects_of
from airflow_provider_ckpt.change.guard import difference, watch_s
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.shadow.read_fitting import read_fitting
from airflow_provider_ckpt.shadow.switch import switch_effect
from airflow_provider_ckpt.sinks.declared import DeclaredSink
from airflow_provider_ckpt.sinks.effects import EFFECTS, SinkEffect
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import duration_text


def judge_switch(
    checkpoint: Store,
    sinks: Sequence[tuple[DeclaredSink, Store | None]],
    *,
    is_stopped: bool,
    trigger: str | None = None,
) -> tuple[CheckpointView, tuple[SinkEffect, ...]]:
    """The checkpoint, and the effect of a switch on each sink.

    Args:
        checkpoint: That of the live query.
        sinks: The sinks that were declared, each with its store.
        is_stopped: Whether the query is stopped; a batch may still be in flight when it stops.
        trigger: The trigger of the query.

    Raises:
        PlanError: A sink is not that of the query.
    """
    real_time = trigger_of(trigger, ()) == REAL_TIME
    read = [read_fitting(checkpoint, sink, store) for sink, store in sinks or [(DeclaredSink(""), None)]]
    view, _ = read[-1]
    effects = (
        switch_effect(marker, view.in_flight, is_stopped=is_stopped, has_gaps=_has_gaps(view), real_time=real_time)
        for _, marker in read
    )
    return view, tuple(effects)


def require_exact(location: str, effects: Sequence[SinkEffect], accept_sink: Sequence[str]) -> None:
    """Raise PlanError for an effect that is neither exact nor accepted by name."""
    try:
        accepted = effects_of(accept_sink)
    except ValueError as error:
        raise PlanError(f"{error}.", location=location) from None
    refused = [item for item in effects if item.effect != "exact" and item.effect not in accepted]
    if refused:
        worst = max(refused, key=lambda item: EFFECTS.index(item.effect))
        raise PlanError(
            f"the effect of a switch on the sink {worst.sink} is {worst.effect}: {worst.reason}.",
            location=location,
            hint=f"Nothing was done. {worst.remedy} To accept the effect, add accept_sink={worst.effect!r}.",
        )


def require_stopped(checkpoint: Store) -> None:
    """Watch the logs as long as a change would. Raises CheckpointBusyError when somebody writes to them.

    An idle query cannot be told from a stopped one: this refutes the statement that it is stopped, and proves nothing.
    """
    before = checkpoint.find()
    watched_s = watch_s(before, None)
    time.sleep(watched_s)
    expected = {name: stored.identity for name, stored in before.items()}
    found = difference(expected, checkpoint.find())
    if found is not None:
        raise CheckpointBusyError(
            f"a query is running: it wrote to the checkpoint within {duration_text(watched_s * 1000)} ({found}).",
            location=checkpoint.location,
            hint="Nothing was done. Stop the old version, and run this task again.",
        )


def _has_gaps(view: CheckpointView) -> bool:
    """Whether the logs leave batches out, as with async progress tracking."""
    return any(later - earlier > 1 for log in (view.planned, view.committed) for earlier, later in pairwise(log))
