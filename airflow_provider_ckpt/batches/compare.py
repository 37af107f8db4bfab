"""Reading two batches of one checkpoint, to tell what was read between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.observe import observe, read_entries
from airflow_provider_ckpt.checkpoint.progress import SourceAdvance, advance
from airflow_provider_ckpt.codec.layout import commit_entry, offset_entry
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Between:
    """Two entries of an offset log.

    Args:
        start: The offsets after which was read.
        end: The offsets up to which was read, inclusive.
        later: The entries of the batches after each, None where there is none: they tell where a file source began.
    """

    start: OffsetSeq
    end: OffsetSeq
    later: tuple[OffsetSeq | None, OffsetSeq | None]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The sources of both."""
        return source_ids((self.start, self.end))

    def advance(self, types: Mapping[str, str]) -> tuple[SourceAdvance, ...]:
        """Advance of each source; ``types`` are declared source types by source id."""
        return tuple(advance(self.start, self.end, types, self.later))


def read_between(store: Store, first: int, second: int) -> Between:
    """Read the entries of two batches, and of those after them.

    Raises:
        CheckpointNotFoundError: No checkpoint, or the offset log has no such batch.
        CheckpointFormatError: An entry of one of the two is damaged.
    """
    location = observe(store).location
    entries, damaged = read_entries(store, [first, first + 1, second, second + 1])
    for name in (name for batch_id in (first, second) for name in (offset_entry(batch_id), commit_entry(batch_id))):
        if name in damaged:
            raise damaged[name]

    def found(batch_id: int) -> OffsetSeq | None:
        entry = entries.get(offset_entry(batch_id))
        return entry if isinstance(entry, OffsetSeq) else None

    start, end = found(first), found(second)
    for batch_id, entry in ((first, start), (second, end)):
        if entry is None:
            raise CheckpointNotFoundError(
                "the offset log does not have an entry of this batch",
                location=location,
                name=offset_entry(batch_id),
                batch_id=batch_id,
            )
    assert start is not None and end is not None
    return Between(start, end, (found(first + 1), found(second + 1)))


def source_ids(entries: Iterable[object]) -> tuple[str, ...]:
    """The ids of all sources of some entries, each once, in the order of the first time."""
    known = (source_id for entry in entries if isinstance(entry, OffsetSeq) for source_id, _ in entry.offsets)
    return tuple(dict.fromkeys(known))
