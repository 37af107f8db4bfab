"""Effect of a restore on the sinks of the query, judged by their memory."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.relocation import NOT_JUDGED, effect_of_fork, effect_of_move
from airflow_provider_ckpt.change.fit_sink import require_fit_of_backup
from airflow_provider_ckpt.change.open_sinks import Sinks
from airflow_provider_ckpt.checkpoint.view import has_state
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import REAL_TIME
from airflow_provider_ckpt.sinks.change_effects import in_real_time, with_state
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store


def effects_of_restore(
    target: Store, sinks: Sinks, backup: Manifest, *, fork: bool, trigger: str, new: Store | None = None
) -> list[SinkEffect]:
    """The effect on each sink; unknown when none was declared.

    Args:
        target: Where the checkpoint is written.
        sinks: The sinks.
        backup: What is written.
        fork: Whether the query gets a new id.
        trigger: The trigger of the query, or empty.
        new: The directory of a file sink whose log the restore begins; None when there is none.
    """
    found = [
        _effect(target, sink, store, backup, fork=fork, trigger=trigger, begun=store is not None and store is new)
        for sink, store in sinks
    ]
    return found or [NOT_JUDGED]


def _effect(
    target: Store, sink: Sink, store: Store | None, backup: Manifest, *, fork: bool, trigger: str, begun: bool
) -> SinkEffect:
    store = store if sink.directory else None
    marker = read_marker(sink, store, backup.query_id, backup.batch_id)
    if fork:
        effect = effect_of_fork(marker, backup.batch_id, own_writer=bool(sink.writer), begun=begun)
    else:
        require_fit_of_backup(target, backup.query_id, backup.batch_id, sink, store, marker)
        effect = effect_of_move(marker, backup.batch_id)
    effect = with_state(effect, marker, backup.batch_id, stateful=has_state(item.name for item in backup.objects))
    if trigger == REAL_TIME:
        effect = in_real_time(effect, marker)
    return replace(effect, sink=sink.at(store).name)
