"""Where one source of a query was after a committed batch."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_offset import SourceOffset


@dataclass(frozen=True, slots=True)
class Position:
    """Where one source was when a batch was committed.

    Args:
        location: URI of the checkpoint.
        query_id: Id of the query, or empty.
        source_id: The source: its position in the query, or its name.
        batch_id: The batch.
        offset: The offset of the source in the entry of that batch: for most types, where the next batch begins.
    """

    location: str
    query_id: str
    source_id: str
    batch_id: int
    offset: SourceOffset

    @property
    def entry(self) -> str:
        """The entry of the offset log that says so."""
        return layout.offset_entry(self.batch_id)
