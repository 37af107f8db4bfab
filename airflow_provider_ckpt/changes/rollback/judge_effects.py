"""Effects on the sink, and on the input, when a checkpoint goes back to a batch: both are read."""

from __future__ import annotations

from airflow_provider_ckpt.change.fit_sink import fit_sink
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.find_inputs import find_inputs
from airflow_provider_ckpt.checkpoint.input_files import Inputs, files_after, logs_after
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import read_text_logs
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import REAL_TIME
from airflow_provider_ckpt.sinks.change_effects import in_real_time, rollback_effect, with_state
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.file import read_trimmed
from airflow_provider_ckpt.storage.store import Store


def judge_sink(
    stores: Stores, view: CheckpointView, batch_id: int, said: Said, *, fenced: bool = False, newest: int | None = None
) -> tuple[SinkEffect, SinkLog | None]:
    """What becomes of the sink, and its log when it is to be trimmed.

    Args:
        stores: Where both are.
        view: The checkpoint as it is.
        batch_id: The batch that it goes back to.
        said: The sink, the trigger, and whether the log of the sink is trimmed.
        fenced: Whether the newest batch is that of a fence, which has no rows.
        newest: The newest batch that may have reached the sink, where the offset log does not show it.

    Raises:
        PlanError: The sink does not fit the query, or its log cannot be trimmed.
    """
    sink_log = _log_to_trim(stores, said.sink, batch_id) if said.trim_sink_log else None
    sink = fit_sink(stores, view, said.sink, batch_id)
    planned = view.latest_committed if fenced else view.latest_planned
    effect = rollback_effect(sink.marker, batch_id, newest or planned, trimmed=sink_log is not None)
    effect = with_state(effect, sink.marker, batch_id, stateful=view.stateful)
    if said.trigger == REAL_TIME:
        effect = in_real_time(effect, sink.marker)
    return sink.named(effect), sink_log


def _log_to_trim(stores: Stores, sink: Sink | None, batch_id: int) -> SinkLog:
    if stores.sink is None or (sink is not None and sink.kind != "file"):
        raise PlanError(
            "--trim-sink-log is only for a file sink, because only a file sink has a log that ckpt can trim",
            hint="Declare the sink: --sink file:URI.",
        )
    sink_log = read_trimmed(stores.sink, batch_id)
    links = [name for name in (layout.SINK_LOG, *sink_log.objects) if stores.sink.is_link(name)]
    if links:
        raise PlanError(
            "the log of the sink is a link, so it is not trimmed.",
            location=stores.sink.location,
            name=links[0],
            hint="Replace the link with the directory that it points to.",
        )
    return sink_log


def inputs_after(checkpoint: Store, view: CheckpointView, batch_id: int) -> Inputs:
    """Find the files that file sources read after a batch, and that are to be read again."""
    names = [name for name in logs_after(view, batch_id) if name not in view.entries]
    logs = read_text_logs(checkpoint, view, names, checkpoint.head, checkpoint.chunks)
    return find_inputs(checkpoint, files_after(logs, batch_id))


def entry_after(checkpoint: Store, view: CheckpointView, batch_id: int) -> OffsetSeq | None:
    """The offset entry of the batch after one; None when there is none, or it is damaged."""
    later = [planned for planned in view.planned if planned > batch_id]
    if not later:
        return None
    name = layout.offset_entry(later[0])
    entry = read_text_logs(checkpoint, view, [name], checkpoint.head, checkpoint.chunks).entries.get(name)
    return entry if isinstance(entry, OffsetSeq) else None
