"""Finding the batch to roll a query back to, so that it has not read a version of a Delta table."""

from __future__ import annotations

from itertools import islice

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import MOST_TRIED, find_newest_restorable
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset, of_value
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store


def find_batch_before(store: Store, source_id: str, version: int) -> int | None:
    """The newest batch that a rollback can go to in which a source has read nothing of a version, nor after it.

    None when there is none. Raises StoreError for a checkpoint that cannot be read.
    """
    view = observe(store, deep=True)
    for batch_id in islice(reversed(view.committed), MOST_TRIED):
        end = _end(store, source_id, batch_id)
        if end is not None and not end.has_read_from(version):
            return find_newest_restorable(store, view, batch_id)
    return None


def _end(store: Store, source_id: str, batch_id: int) -> DeltaOffset | None:
    """Where a source was after a batch; None when its entry does not tell."""
    name = layout.offset_entry(batch_id)
    try:
        entry = codec.decode(name, store.read(name))
        offset = dict(entry.offsets).get(source_id) if isinstance(entry, OffsetSeq) else None
        return None if offset is None else of_value(offset.view("delta").value)
    except (CheckpointFormatError, CheckpointNotFoundError, ValueError):
        return None
