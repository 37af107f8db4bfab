"""The files of a checkpoint as values, and back to the same bytes.

``decode(name, data)`` is the one front door: ``name`` is the place inside the checkpoint (``offsets/6``, ``commits/6``,
``metadata``, ``sources/0/9.compact``, ``sources/0/offsets/0``, ``state/0/_metadata/metadata``, ``.6.crc`` beside any of
them), or
``_spark_metadata/6`` in the output of a file sink. ``value.encode()`` gives the very bytes back. Nothing here opens a
file, reads a clock or logs; any bytes give a value or a :class:`~airflow_provider_ckpt.errors.CheckpointFormatError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from airflow_provider_ckpt.codec import (
    checksum,
    commit_log,
    empty_lines,
    layout,
    offset_log,
    query_metadata,
    source_log,
    state_metadata,
    state_schema,
)
from airflow_provider_ckpt.codec.source_log import OpaqueFile
from airflow_provider_ckpt.errors import MalformedEntryError


class Encodable(Protocol):
    """Every decoded value has this method."""

    def encode(self) -> bytes:
        """The bytes as Spark writes them; the original ones for a value that was decoded."""
        ...


def decode(name: str, data: bytes) -> Encodable:
    """Read the bytes of one file of a checkpoint.

    Raises:
        CheckpointFormatError: Spark would not accept these bytes in this place; the error names it.
    """
    place = layout.parse(name)
    if isinstance(place, layout.LogEntry | layout.SourceLogEntry):  # nearly all that is ever read of a fleet
        read = _READERS[place.log] if isinstance(place, layout.LogEntry) else _source_log
        try:
            return read(data, name)
        except MalformedEntryError as error:
            why = empty_lines.why_malformed(error, data, lambda plain: read(plain, name))
            if why is error:
                raise
            raise why from None
    return _decode_other(place, name, data)


def _decode_other(place: layout.Place, name: str, data: bytes) -> Encodable:
    """A file that is no entry of a log of batches."""
    match place:
        case layout.QueryMetadataFile():
            return query_metadata.decode(data, name)
        case layout.InitialOffsetFile():
            return source_log.decode_initial_offset_file(data, name)
        case layout.SinkLogEntry():
            return source_log.decode_sink(data, name)
        case layout.OperatorMetadataFile():
            return state_metadata.decode(data, name)
        case layout.StateSchemaFile():
            return state_schema.decode(data, name)
        case layout.Sidecar(hidden=True):
            return checksum.decode_hadoop(data, name)
        case layout.Sidecar():
            return checksum.decode_spark(data, name)
        case _:
            return OpaqueFile(data)


def _source_log(data: bytes, name: str) -> Encodable:
    """A log of a file source that begins with an empty line is malformed; any other file is its source's own matter."""
    entry = source_log.decode(data, name)
    if isinstance(entry, OpaqueFile) and data[:1] <= b" " and _LOG_AFTER_LINES.match(data):
        raise MalformedEntryError("the first line is no log version", name=name, spark_error="MALFORMED_LOG_FILE")
    return entry


_LOG_AFTER_LINES = re.compile(rb"[\t ]*\r?\n\s*v1\s+\{")
_READERS: Mapping[str, Callable[[bytes, str], Encodable]] = {
    layout.OFFSETS: offset_log.decode,
    layout.COMMITS: commit_log.decode,
}
