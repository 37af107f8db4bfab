"""Decides if the live query can be switched to another version, the effect of that on its sinks, and the way back.

The new version goes on with the checkpoint and the sink of the live query: with its query id, its batch ids, and what
the sink remembers of both. So a switch is a restart. The only batch that can run again is one in flight, and it runs
again with the same offsets. When none is in flight, no row can come twice or be lost, whatever the sink is.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise

from airflow_provider_ckpt.blue_green.read_fitting import read_fitting
from airflow_provider_ckpt.change.plan.acceptance import not_accepted, refusal
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.query.sink import MARKING, Sink
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.sinks.change_effects import in_real_time
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


_STOP_BETWEEN = "Stop the old version between two batches: start it again, and stop it when its batch is committed."
#: By what a sink knows a batch again.
_KNOWS = {
    "file": "its log names each batch that it has; data files of the old version that are not in the log stay in the "
    "directory, where only readers that ignore _spark_metadata read them",
    "delta": "the table has a txn marker with the query id and the batch id",
    "iceberg": "its snapshots name the query id and the epoch",
    "hudi": "its commits name the batch id of the query",
    "history": "its manifests name the query id and the epoch; it refuses an epoch with other rows",
}


def switch_effect(
    marker: SinkMarker, in_flight: int | None, *, is_stopped: bool, has_gaps: bool = False, real_time: bool = False
) -> SinkEffect:
    """Effect on the sink when another version continues the checkpoint.

    Args:
        marker: The batches of the query that the sink remembers.
        in_flight: The batch that is planned and not committed; None when there is none.
        is_stopped: True if the query is stopped; until then, a batch may be in flight when it stops.
        has_gaps: True if the logs leave batches out, as with async progress tracking: a restart runs them again.
        real_time: True if the query runs in real-time mode.
    """
    effect = _effect(marker, in_flight, is_stopped=is_stopped and not has_gaps)
    return in_real_time(effect, marker) if real_time else effect


def _effect(marker: SinkMarker, in_flight: int | None, *, is_stopped: bool) -> SinkEffect:
    if is_stopped and in_flight is None:
        return SinkEffect(marker.name, "exact", "no batch is in flight, so none runs again")
    batch = (
        "the batch that is in flight when the query stops"
        if in_flight is None or not is_stopped
        else (f"batch {in_flight}, which is in flight,")
    )
    if marker.kind in MARKING:
        return SinkEffect(marker.name, "exact", f"it drops {batch} when it has it already: {_KNOWS[marker.kind]}")
    if marker.kind in ("console", "noop", "memory"):
        return SinkEffect(marker.name, "exact", "it keeps no rows after the query ends")
    if marker.kind == "kafka":
        reason = f"it may get rows of {batch} a second time, because Spark writes to Kafka without transactions"
        return SinkEffect(marker.name, "duplicated", reason, _STOP_BETWEEN)
    if marker.kind in ("foreachBatch", "foreach"):
        reason = f"{batch} runs again with the same id: exact only if the function replaces what it wrote of that id"
        return SinkEffect(marker.name, "unknown", reason, _STOP_BETWEEN)
    return SinkEffect(
        marker.name, "unknown", f"{batch} runs again", "Declare the sink, for example file:s3://lake/out."
    )


def way_back(location: str, batch_id: int, sink: str, kept: str) -> tuple[str, ...]:
    """How to go back when the new version has run, as commands and sentences.

    Args:
        location: The checkpoint.
        batch_id: The newest batch that the old version has committed.
        sink: The sink as it was declared; may be empty.
        kept: Root of the backups with the one that was taken before the switch.
    """
    place = shlex.quote(location)
    declared = f" --sink {shlex.quote(sink)}" if sink else ""
    trim = " --trim-sink-log" if sink.startswith("file:") else ""
    roll = f"ckpt rollback {place} --to-batch {batch_id}{declared}{trim} --execute --i-know-it-is-stopped"
    again = f"Stop the new version, then take back what it wrote, if its rows are wrong: {roll}"
    return (
        "Stop the new version, then start the old version on the same checkpoint, if the rows of the new version are "
        "right: the old version goes on after them.",
        f"{again} Then start the old version. Without --execute the command shows its plan and the effect on the sink.",
        f"The checkpoint as it was at the switch: ckpt restore {shlex.quote(kept)} latest --to NEW_LOCATION",
    )
