"""The files of a checkpoint as values, and back to the same bytes.

``decode(name, data)`` is the one front door: ``name`` is the place inside the checkpoint (``offsets/6``, ``commits/6``,
``metadata``, ``sources/0/9.compact``, ``sources/0/offsets/0``, ``state/0/_metadata/metadata``, ``.6.crc`` beside any of
them), or
``_spark_metadata/6`` in the output of a file sink. ``value.encode()`` gives the very bytes back. Nothing here opens a
file, reads a clock or logs; any bytes give a value or a :class:`~airflow_provider_ckpt.errors.CheckpointFormatError`.
"""

from __future__ import annotations

from typing import Protocol

from airflow_provider_ckpt.codec import (
    checksum,
    commit_log,
    layout,
    offset_log,
    query_metadata,
    source_log,
    state_metadata,
    state_schema,
)
from airflow_provider_ckpt.codec.source_log import OpaqueFile


class Encodable(Protocol):
    """What every decoded value can do."""

    def encode(self) -> bytes:
        """The bytes as Spark writes them; the original ones for a value that was decoded."""
        ...


def decode(name: str, data: bytes) -> Encodable:
    """Read the bytes of one file of a checkpoint.

    Raises:
        CheckpointFormatError: Spark would not accept these bytes in this place; the error names it.
    """
    place = layout.parse(name)
    if isinstance(place, layout.LogEntry):  # nearly all that is ever read of a fleet
        return offset_log.decode(data, name) if place.log == layout.OFFSETS else commit_log.decode(data, name)
    match place:
        case layout.QueryMetadataFile():
            return query_metadata.decode(data, name)
        case layout.SourceLogEntry():
            return source_log.decode(data, name)
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
