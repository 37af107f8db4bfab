"""Logs that sources and the file sink keep of their own.

* ``sources/<id>/<n>`` of a file source (``FileStreamSourceLog``) and ``_spark_metadata/<n>`` of a file sink
  (``FileStreamSinkLog``): a version line, then one JSON object a file. Every tenth entry is compacted: ``9.compact``
  holds all that came before.
* ``sources/<id>/0`` of Kafka and its relatives (``KafkaSourceInitialOffsetWriter``): a zero byte, ``v1``, the offset.
  Spark 2.1.0 wrote the length of the text instead of the zero byte, and no version. Readers pass over that byte,
  whatever it is; a file without it has lost the first byte of its version.
* ``sources/<id>/offsets/0`` of Iceberg (``InitialOffsetStore``): the offset and nothing else.
* ``sources/<id>/0`` of the rate source: ``v1`` and the time it started at.
* Anything else a source may keep there is opaque and copied as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal
from urllib.parse import unquote, urlsplit

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.verbatim import Verbatim, remember
from airflow_provider_ckpt.codec.versions import parse_version
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

MAX_VERSION = 1
#: A line as Spark writes it, whose paths are URL-encoded; parsing JSON takes ten times as long.
_USUAL_LINE = re.compile(rb'\{"path":"[ !#-\[\]-~]*","timestamp":[0-9]{1,18},"batchId":([0-9]{1,18})\}')
#: Of a log that is too large to hold, so many lines may be spelt otherwise.
MOST_UNUSUAL_LINES = 100_000


def key_of(path: str) -> str:
    """A path of these logs, a URI whose special characters are escaped, as the storage calls the file: BUCKET/NAME."""
    parts = urlsplit(path)
    bucket = "" if parts.scheme in ("", "file", "hdfs", "viewfs", "dbfs") else parts.netloc.partition("@")[0]
    return unquote(f"{bucket}{parts.path}").strip("/")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file that a file source has taken (``FileStreamSource.FileEntry``).

    Args:
        path: URI, always with its scheme; Spark compares the text.
        timestamp_ms: Modification time, epoch milliseconds.
        batch_id: Entry of this log, not batch of the query, that took it.
    """

    path: str
    timestamp_ms: int
    batch_id: int

    def json(self) -> str:
        """The line as Spark writes it."""
        return jvm_text.write_json({"path": self.path, "timestamp": self.timestamp_ms, "batchId": self.batch_id})


@dataclass(frozen=True, slots=True)
class SinkFileStatus:
    """A file that a file sink has written (``SinkFileStatus``); times in epoch milliseconds, sizes in bytes."""

    path: str
    size: int
    is_dir: bool
    modification_time_ms: int
    block_replication: int
    block_size: int
    action: str

    def json(self) -> str:
        """The line as Spark writes it."""
        return jvm_text.write_json(
            {
                "path": self.path,
                "size": self.size,
                "isDir": self.is_dir,
                "modificationTime": self.modification_time_ms,
                "blockReplication": self.block_replication,
                "blockSize": self.block_size,
                "action": self.action,
            }
        )


@dataclass(frozen=True, slots=True)
class FileSourceLog(Verbatim):
    """One entry of a file source's log, compacted or not."""

    entries: tuple[FileEntry, ...]

    def _serialise(self) -> bytes:
        return _encode_lines([entry.json() for entry in self.entries])


@dataclass(frozen=True, slots=True)
class FileSinkLog(Verbatim):
    """One entry of a file sink's log, compacted or not."""

    entries: tuple[SinkFileStatus, ...]

    def _serialise(self) -> bytes:
        return _encode_lines([entry.json() for entry in self.entries])


@dataclass(frozen=True, slots=True)
class InitialOffset(Verbatim):
    """Where a source began, which it takes down once, before its first batch.

    Args:
        offset: The offset; of Kafka, numbers alone: ``-1`` and ``-2`` are found out before it is written.
        form: ``versioned`` as Spark's Kafka source writes it (``KafkaSourceInitialOffsetWriter``), ``unversioned`` as
            that of Spark 2.1.0 did, ``bare`` as Iceberg does.
    """

    offset: SourceOffset
    form: Literal["versioned", "unversioned", "bare"] = "versioned"

    def _serialise(self) -> bytes:
        text = jvm_text.encode_utf8(self.offset.json)
        if self.form == "bare":
            return text
        return bytes([len(text) & 0xFF]) + text if self.form == "unversioned" else b"\0v1\n" + text


@dataclass(frozen=True, slots=True)
class RateStart(Verbatim):
    """Time at which a rate source started, epoch milliseconds (``RateStreamMicroBatchStream``)."""

    start_time_ms: int

    def _serialise(self) -> bytes:
        return _encode_lines([str(self.start_time_ms)])


@dataclass(frozen=True, slots=True)
class OpaqueFile:
    """A file of a source that this package does not know."""

    data: bytes

    def encode(self) -> bytes:
        """The bytes."""
        return self.data


SourceLogFile = FileSourceLog | InitialOffset | RateStart | OpaqueFile


def decode(data: bytes, name: str) -> SourceLogFile:
    """Read ``sources/<id>/<n>`` or ``<n>.compact``, told apart by how the content starts.

    Raises:
        IncompleteLogFileError: Empty.
        UnsupportedVersionError: A later version than 1.
        MalformedEntryError: It starts as a log of Spark's own sources and goes on as none.
    """
    if not data:
        raise IncompleteLogFileError("Incomplete log file: the source log entry is empty.", name=name)
    if data[:1] == b"\0" or data[1:2] == b"{":
        return _decode_initial_offset(data, name)
    if data[:1] != b"v":
        return OpaqueFile(data)
    lines = _versioned_lines(data, "source log", name)
    first = next(lines, None)
    if first is None:
        return remember(FileSourceLog(()), data)
    if (start := jvm_text.parse_long(first)) is not None and next(lines, None) is None:
        return remember(RateStart(start), data)
    if "path" not in jvm_text.read_json_object(first, name, "log line"):
        return OpaqueFile(data)
    return remember(FileSourceLog(tuple(_file_entry(line, name) for line in chain([first], lines))), data)


def newest_entry_in(lines: Iterable[bytes], name: str) -> int | None:
    """The newest entry that the lines of a file source's log say they are of, of a log that is too large to hold.

    None when no file is named.

    Raises:
        UnsupportedVersionError: A later version than 1.
        MalformedEntryError: A line is not one of such a log, or Spark would spell too many of the lines otherwise.
    """
    rest = iter(lines)
    parse_version(jvm_text.decode_utf8(next(rest, b""), name), MAX_VERSION, "source log", name)
    newest: int | None = None
    unusual = 0
    for line in rest:
        if usual := _USUAL_LINE.fullmatch(line):
            batch_id = int(usual[1])
        else:
            batch_id = _file_entry(jvm_text.decode_utf8(line, name), name).batch_id
            unusual += 1
        if unusual > MOST_UNUSUAL_LINES:
            raise MalformedEntryError(
                f"more than {MOST_UNUSUAL_LINES:,} lines are not in the form in which Spark writes them", name=name
            )
        newest = batch_id if newest is None else max(newest, batch_id)
    return newest


def decode_sink(data: bytes, name: str) -> FileSinkLog:
    """Read ``_spark_metadata/<n>`` or ``<n>.compact``. Raises as :func:`decode`."""
    if not data:
        raise IncompleteLogFileError("Incomplete log file: the sink log entry is empty.", name=name)
    lines = _versioned_lines(data, "sink log", name)
    return remember(FileSinkLog(tuple(_sink_status(line, name) for line in lines)), data)


def _encode_lines(lines: list[str]) -> bytes:
    return jvm_text.encode_utf8("\n".join([f"v{MAX_VERSION}", *lines]))


def _versioned_lines(data: bytes, log: str, name: str) -> Iterator[str]:
    lines = jvm_text.lines_of(jvm_text.decode_utf8(data, name))
    parse_version(next(lines), MAX_VERSION, log, name)
    return lines


def _decode_initial_offset(data: bytes, name: str) -> InitialOffset | OpaqueFile:
    if len(data) == 1:
        raise IncompleteLogFileError("Incomplete log file: the initial offset ends after its first byte.", name=name)
    if data[1:2] not in (b"v", b"{"):
        return OpaqueFile(data)
    text = jvm_text.decode_utf8(data[1:], name)
    if not text.startswith("v"):
        # "[{" begins JSON as well, and no JSON has a zero byte before it
        is_other = data[0] not in (0, len(data) - 1 & 0xFF) and _is_json(data)
        return OpaqueFile(data) if is_other else remember(InitialOffset(SourceOffset(text), "unversioned"), data)
    version, newline, text = text.partition("\n")
    if not newline:
        raise MalformedEntryError("the initial offset ends after its version line", name=name)
    parse_version(version, MAX_VERSION, "initial offset", name)
    return remember(InitialOffset(SourceOffset(text)), data)


def decode_initial_offset_file(data: bytes, name: str) -> InitialOffset | OpaqueFile:
    """Read ``sources/<id>/offsets/0``: JSON of any source, as Iceberg writes it; anything else is not known.

    Raises:
        IncompleteLogFileError: Empty.
        MalformedEntryError: It begins as a JSON object and is none.
    """
    if not data:
        raise IncompleteLogFileError(
            "Incomplete log file: the initial offset is empty.", name=name, spark_error="MismatchedInputException"
        )
    if not data.lstrip(b" \t\r\n").startswith(b"{"):
        return OpaqueFile(data)
    text = jvm_text.decode_utf8(data, name)
    jvm_text.read_json_object(text, name, "initial offset")
    return remember(InitialOffset(SourceOffset(text), "bare"), data)


def _is_json(data: bytes) -> bool:
    try:
        parse_json(data)
    except ValueError:
        return False
    return True


def _fields(line: str, name: str) -> jvm_text.Fields:
    return jvm_text.Fields(jvm_text.read_json_object(line, name, "log line"), name, "log line")


def _file_entry(line: str, name: str) -> FileEntry:
    fields = _fields(line, name)
    return FileEntry(fields.text("path"), fields.long("timestamp"), fields.long("batchId"))


def _sink_status(line: str, name: str) -> SinkFileStatus:
    fields = _fields(line, name)
    return SinkFileStatus(
        fields.text("path"),
        fields.long("size"),
        fields.flag("isDir"),
        fields.long("modificationTime"),
        fields.long("blockReplication"),
        fields.long("blockSize"),
        fields.text("action"),
    )
