"""Finding the first batch that has read something of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.storage.store import Store

#: Whether the offsets of a batch, by source id, are past what is asked about.
HasRead = Callable[[Iterable[tuple[str, SourceOffset | None]]], bool]


def find_first_batch(store: Store, view: CheckpointView, has_read: HasRead) -> int:
    """The first batch that has read it, as far back as the offset log goes; the newest planned one has.

    Raises CheckpointError for an entry that cannot be read.
    """
    first = view.latest_planned or 0
    for batch_id in reversed(view.planned):
        name = layout.offset_entry(batch_id)
        entry = codec.decode(name, store.read(name))
        if not isinstance(entry, OffsetSeq) or not has_read(entry.offsets):
            break
        first = batch_id
    return first
