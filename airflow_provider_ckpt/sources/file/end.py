"""Directories that a file source reads: which of the files are not in the source's own log yet.

What counts is what Spark lists (``FileStreamSource``, ``InMemoryFileIndex``):

* the files of the directory, and those of all directories below it when one of these is a partition, ``date=…``;
  with ``**`` (for ``recursiveFileLookup``) always;
* no name that begins with ``_`` or ``.``, no directory of such a name, no ``*._COPYING_``;
* of a directory that a file sink of another query writes, the files in its ``_spark_metadata`` alone.

A file is read when the source's log has it, up to the entry where the newest committed batch is. One that is gone
(``cleanSource``, or deleted) is not waited for.

The end at a time consists of the files that were last modified by then. The end of now holds every file that is there,
however it is dated.

Late or never: a file whose name the query leaves out by an option (``pathGlobFilter``, ``modifiedAfter``,
``fileNameOnly``; declare the pattern instead), and one that is older by more than ``maxFileAge`` (7 days, unless set)
than the newest file that the query has read: Spark ignores it. A file that comes later and is dated earlier is waited
for, too.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.source_log_files import gaps_up_to, source_log_end
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import FileEntry, FileSinkLog, FileSourceLog, key_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, MalformedEntryError, StoreError
from airflow_provider_ckpt.sources.offer import offers_of
from airflow_provider_ckpt.sources.table_loss import Unread
from airflow_provider_ckpt.waiting import Condition, FilesRead, FilesWritten

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.source import Source
    from airflow_provider_ckpt.sources.open_end import Access
    from airflow_provider_ckpt.storage.store import Store

RECURSIVE = "**"
#: A pattern with braces means so many without at most.
MOST_PATTERNS = 1_000
_BRACES = re.compile(r"\{([^{}]*)\}")


class Listed(NamedTuple):
    """A file that Spark lists: when it was modified last, epoch milliseconds, and its bytes."""

    modified_ms: int
    size: int


class End:
    """The files of one directory. Remembers what it has read of the source's log, which grows with the query."""

    def __init__(self, declared: Source, source_id: str, access: Access) -> None:
        if access.checkpoint is None:
            raise StoreError("the log of a file source is in the checkpoint, which was not given")
        self.source_id = source_id
        self.pattern = declared.pattern
        self.store = access.open_store(declared.directory)
        self.checkpoint = access.checkpoint
        self._read: set[str] = set()
        self._read_up_to = -1

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """Condition for the end at a time (see ``SourceEnd.end_at``); with slack, as it is at this poll alone."""
        if slack:
            return self.unread(at_ms, committed, slack)
        if at_ms is None:
            at_ms = max((file.modified_ms for file in self._listed().values()), default=0)
        return FilesWritten(self.source_id, at_ms)

    def unread(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> FilesRead:
        """How many of the files that were there at a time (epoch milliseconds; None is now) are in no committed batch.

        Raises CheckpointFormatError for a log of the source that is not whole, and StoreError.
        """
        there = self.unread_files(committed)
        in_time = [
            (file.modified_ms, name) for name, file in there.items() if at_ms is None or file.modified_ms <= at_ms
        ]
        newest = max(in_time, default=(0, None))[1]
        return FilesRead(self.source_id, max(0, len(in_time) - slack), newest)

    def unread_now(self, committed: SourceOffset | None) -> Unread:
        """The files that are in no committed batch; raises as :meth:`unread`."""
        files = self.unread_files(committed).values()
        oldest_ms = min((file.modified_ms for file in files), default=None)
        return Unread("files", len(files), len(files), sum(file.size for file in files), oldest_ms)

    def unread_files(self, committed: SourceOffset | None) -> dict[str, Listed]:
        """The files that are in no committed batch, by their names in the directory; raises as :meth:`unread`."""
        read = self._files_read(committed)
        listed = self._listed()
        prefix = self.store.root.strip("/")
        found = {name: file for name, file in listed.items() if f"{prefix}/{name}".lstrip("/") not in read}
        if len(found) == len(listed):  # none of them was read: is this the place?
            self._require_same_directory(read, prefix)
        if not listed and not read and not self.store.exists():
            hint = "Declare the directory that the query reads. If it is right, wait until it has a first file."
            raise StoreError("the directory is missing or empty", location=self.store.location, hint=hint)
        return found

    def taken(self, offset: SourceOffset | None) -> Iterator[FileEntry]:
        """The files in the log of the source, up to a position of the query; raises as :meth:`unread`."""
        return self._taken(_log_offset(offset, self.source_id), -1)

    def is_elsewhere(self, offset: SourceOffset | None) -> bool:
        """True if the query has read files up to a position, and none of them here; raises as :meth:`unread`."""
        read = (key_of(file.path) for file in self.taken(offset))
        return _none_below(read, self.store.root.strip("/"))

    # --- the directory -----------------------------------------------------------------------------------------

    def _listed(self) -> dict[str, Listed]:
        """List the files as Spark does, by name relative to the directory."""
        whole = self.pattern in ("", RECURSIVE)
        sink_log = self.store.ls(layout.SINK_LOG)[0] if whole else {}
        if sink_log:
            return self._of_sink(sink_log)
        found = self.store.find()
        listed: dict[str, Listed] = {}
        for name in covered(found, self.pattern):
            modified_ms = found[name].modified_ms
            if modified_ms is None:
                message = "the storage does not say when the file was modified"
                raise StoreError(message, location=self.store.location, name=name)
            listed[name] = Listed(modified_ms, found[name].size)
        return listed

    def _of_sink(self, names: Iterable[str]) -> dict[str, Listed]:
        """The files that a file sink has committed."""
        places = {place: name for name in names if isinstance(place := layout.parse(name), layout.SinkLogEntry)}
        compacted = max((place.batch_id for place in places if place.compact), default=-1)
        files: dict[str, Listed] = {}
        for place, name in sorted(places.items(), key=lambda item: item[0].batch_id):
            if place.batch_id < compacted or (place.batch_id == compacted and not place.compact):
                continue
            entry = self._decode(self.store, name)
            assert isinstance(entry, FileSinkLog)
            for file in entry.entries:
                name_below = key_of(file.path).removeprefix(self.store.root.strip("/")).lstrip("/")
                if file.action == "add":
                    files[name_below] = Listed(file.modification_time_ms, file.size)
                else:
                    files.pop(name_below, None)
        return files

    # --- the log of the source ---------------------------------------------------------------------------------

    def _files_read(self, committed: SourceOffset | None) -> set[str]:
        """The files in the source's log, up to the position of the query."""
        log_offset = _log_offset(committed, self.source_id)
        if log_offset < self._read_up_to:  # rolled back
            self._read, self._read_up_to = set(), -1
        if log_offset > self._read_up_to:
            self._read.update(key_of(file.path) for file in self._taken(log_offset, self._read_up_to))
            self._read_up_to = log_offset
        return self._read

    def _taken(self, log_offset: int, after: int) -> Iterator[FileEntry]:
        """The files in the entries up to one that were not read yet; ``after`` was read."""
        for name in self._entries(log_offset, after):
            entry = self._decode(self.checkpoint, name)
            if not isinstance(entry, FileSourceLog):
                raise MalformedEntryError("not an entry of a file source", location=self.checkpoint.location, name=name)
            yield from (file for file in entry.entries if file.batch_id <= log_offset)

    def _entries(self, log_offset: int, after: int) -> list[str]:
        """Names of the entries to read: what came since, or all from the newest compacted one on."""
        objects, _ = self.checkpoint.ls(f"{layout.SOURCES}/{self.source_id}")
        places = {place: name for name in objects if isinstance(place := layout.parse(name), layout.SourceLogEntry)}
        end = source_log_end(places.keys(), log_offset)
        if gaps := gaps_up_to(places.keys(), end):
            name = f"{layout.SOURCES}/{self.source_id}/{gaps[0].first}"
            raise CheckpointFormatError("is missing in the source's log", location=self.checkpoint.location, name=name)
        compacted = max((place.entry_id for place in places if place.compact and place.entry_id <= end), default=-1)
        first = max(compacted, after + 1)
        return [
            name
            for place, name in places.items()
            if first <= place.entry_id <= end and place.compact == (place.entry_id == compacted)
        ]

    def _decode(self, store: Store, name: str) -> codec.Encodable:
        try:
            return codec.decode(name, store.read(name))
        except CheckpointFormatError as error:
            raise error.at(store.location) from None

    def _require_same_directory(self, read: set[str], prefix: str) -> None:
        """Files that were read elsewhere tell that the declaration is wrong; without them there is no telling."""
        if _none_below(read, prefix):
            such = min(read)
            offer = offers_of(self.checkpoint, [self.source_id]).get(self.source_id)
            raise StoreError(
                f"the query reads files in another directory, such as {f'/{such}' if self.store.is_local else such}",
                location=self.store.location,
                hint=f"Declare the source as {self.source_id}={offer}."
                if offer
                else "Declare the directory that the query reads.",
            )


def _none_below(paths: Iterable[str], prefix: str) -> bool:
    """True if there are paths, and none of them is below a directory."""
    below = f"{prefix}/" if prefix else ""
    is_any = False
    for path in paths:
        if path.startswith(below):
            return False
        is_any = True
    return is_any


def covered(names: Iterable[str], pattern: str) -> list[str]:
    """Names below a directory that a source with this pattern (empty for none) reads."""
    recursive = pattern == RECURSIVE
    globs = [glob.split("/") for glob in _without_braces(pattern)] if pattern and not recursive else []
    depth = len(globs[0]) if globs else 0
    # A directory that the pattern names itself is read, whatever it is called.
    found = [
        parts
        for parts in (name.split("/") for name in names)
        if len(parts) >= depth
        and not any(map(_is_filtered_out, parts[depth:] or parts[-1:]))
        and (not globs or _matches(parts[:depth], globs))
    ]
    deep = recursive or any("=" in part for parts in found for part in parts[depth:-1])
    return ["/".join(parts) for parts in found if deep or len(parts) <= depth + 1]


def _matches(parts: list[str], globs: Iterable[list[str]]) -> bool:
    return any(
        len(glob) == len(parts) and all(fnmatch.fnmatchcase(*pair) for pair in zip(parts, glob, strict=True))
        for glob in globs
    )


def _without_braces(pattern: str) -> list[str]:
    """``{a,b}*`` as ``a*`` and ``b*``; ``[^a]`` as ``[!a]``."""
    pieces = _BRACES.split(pattern.replace("[^", "[!"))
    choices = [piece.split(",") if at % 2 else [piece] for at, piece in enumerate(pieces)]
    if math.prod(map(len, choices)) > MOST_PATTERNS:
        raise StoreError(
            f"the pattern has more than {MOST_PATTERNS:,} alternatives",
            hint="Give fewer alternatives in braces, or use *.",
        )
    return ["".join(choice) for choice in product(*choices)]


def _is_filtered_out(part: str) -> bool:
    """True if Spark ignores a name (``HadoopFSUtils.shouldFilterOutPathName``)."""
    if part.startswith(("_common_metadata", "_metadata")):
        return False
    return (part.startswith("_") and "=" not in part) or part.startswith(".") or part.endswith("._COPYING_")


def _log_offset(committed: SourceOffset | None, source_id: str) -> int:
    if committed is None:
        return -1
    try:
        positions: Mapping[str, tuple[int, ...]] = committed.view("file").positions
    except MalformedEntryError as error:
        raise StoreError(f"source {source_id} is not a file source: {error.message}") from error
    return positions["log"][0]
