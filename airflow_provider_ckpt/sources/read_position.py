"""Reading where one source of a query was after a committed batch."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.sources.position import Position
from airflow_provider_ckpt.storage.store import Store


def read_position(store: Store, source_id: str | None = None, batch_id: int | None = None) -> Position:
    """The position of a source after a committed batch.

    Args:
        store: The checkpoint.
        source_id: The source; None for the one that the query has.
        batch_id: The batch; None for the newest committed one.

    Raises:
        CheckpointError: No batch is committed, the query has no such source, or several and none was named.
        CheckpointNotFoundError: The batch is not committed, or its entry was purged.
        CheckpointFormatError: One of its entries is damaged.
    """
    view = observe(store, batch_id=batch_id)
    batch = _committed(view, batch_id)
    view.commit(batch)  # an empty one is none: Spark would run the batch again
    offsets = view.offset_seq(batch).offsets
    source = _named([known for known, _ in offsets], source_id, view, batch)
    offset = dict(offsets)[source]
    if offset is None:
        raise CheckpointError(
            f"source {source} had no offset yet when batch {batch} was committed",
            location=view.location,
            name=layout.offset_entry(batch),
            batch_id=batch,
        )
    return Position(view.location, view.query_id or "", source, batch, offset)


def _committed(view: CheckpointView, batch_id: int | None) -> int:
    newest = view.latest_committed
    if newest is None:
        raise CheckpointError(
            "no batch is committed, so the query has no position yet",
            location=view.location,
            hint="Try again when the query has committed its first batch.",
        )
    if batch_id is None or batch_id in view.committed:
        return newest if batch_id is None else batch_id
    raise CheckpointNotFoundError(
        "the commit log does not have this batch",
        location=view.location,
        batch_id=batch_id,
        name=layout.commit_entry(batch_id),
        hint=f"The oldest committed batch is {view.committed[0]}, the newest one {newest}.",
    )


def _named(known: list[str], source_id: str | None, view: CheckpointView, batch_id: int) -> str:
    """The source that is meant. Raises CheckpointError."""
    if source_id is None and len(known) == 1:
        return known[0]
    if source_id in known:
        return source_id
    ids = ", ".join(known) or "none"
    raise CheckpointError(
        "the query has several sources, and none was named"
        if source_id is None and known
        else f"the query has no source {source_id or '0'!r}",
        location=view.location,
        batch_id=batch_id,
        hint=f"Its sources are: {ids}.",
    )
