"""Reading which files batches took, as the logs of the file sources name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.source_log import FileEntry, FileSourceLog
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class FileRead(Documented):
    """A file that a file source took."""

    source_id: Annotated[str, "its position in the query, or its name"]
    path: Annotated[str, "URI, as the log of the source names it"]
    log_entry: Annotated[int, "entry of the log of the source that took it"]


class FileLogs:
    """The logs of the file sources of a checkpoint, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[FileEntry, ...]] = {}

    def between(self, source_id: str, start: str | None, end: str | None) -> Iterator[FileRead]:
        """The files that a source took after one offset up to another, inclusive; none of another kind of source.

        Args:
            source_id: The source.
            start: The offset after which it began, as JSON text; None for the beginning.
            end: The offset, as JSON text; None for none.

        Raises:
            CheckpointFormatError: An entry of its log is damaged.
            StoreError: The log cannot be read.
        """
        first, last = (-1 if start is None else _entry(start)), (None if end is None else _entry(end))
        if first is None or last is None:
            return
        for entry in self._entries(source_id):
            if first < entry.batch_id <= last:
                yield FileRead(source_id, entry.path, entry.batch_id)

    def of(self, sources: Iterable[tuple[str, str | None, str | None]]) -> tuple[FileRead, ...]:
        """The same of several sources: id, start and end."""
        return tuple(file for source in sources for file in self.between(*source))

    def _entries(self, source_id: str) -> tuple[FileEntry, ...]:
        if source_id not in self._known:
            objects = self._store.ls(f"{layout.SOURCES}/{source_id}")[0]
            names = [name for name in objects if isinstance(layout.parse(name), layout.SourceLogEntry)]
            logs = (codec.decode(name, self._store.read(name)) for name in names)
            found = {
                (entry.batch_id, entry.path): entry
                for log in logs
                if isinstance(log, FileSourceLog)
                for entry in log.entries
            }
            self._known[source_id] = tuple(found[key] for key in sorted(found))
        return self._known[source_id]


def _entry(offset: str) -> int | None:
    """The entry of its log that an offset names; None for an offset of another kind of source."""
    try:
        return file_offset.decode(offset)
    except CheckpointFormatError:
        return None
