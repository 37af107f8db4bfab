"""Checks that the offsets recorded by a query are of the types that its sources are declared with.

A source whose offsets are not is not asked: the rules about the logs say what is wrong, and what Spark does with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError
from airflow_provider_ckpt.query.source import Source


def fitting(view: CheckpointView, sources: Mapping[str, Source]) -> dict[str, Source]:
    """Those of the sources that can be asked with the offsets that a restart goes on from.

    Args:
        view: The checkpoint, as it was observed.
        sources: By id.
    """
    return {name: source for name, source in sources.items() if _fits(view, name, source)}


def _fits(view: CheckpointView, source_id: str, source: Source) -> bool:
    try:
        for offset in _offsets(view, source_id):
            if source.type is not None:
                offset.view(source.type)
    except MalformedEntryError:
        return False
    return True


def _offsets(view: CheckpointView, source_id: str) -> Iterator[SourceOffset]:
    """Where the newest commit ends, the batch before it, and the one in flight."""
    committed = view.latest_committed
    before = None if committed is None else view.predecessor(committed)
    for batch_id in (before, committed, view.in_flight):
        entry = view.readable_offset_seq(batch_id)
        offset = dict(entry.offsets).get(source_id) if entry is not None else None
        if offset is not None:
            yield offset
