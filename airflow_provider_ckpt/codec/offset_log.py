"""The offset log: one entry a batch, written before the batch runs (Spark's ``OffsetSeqLog``).

An entry is a version line, a metadata line and the offset of every source. In version 1 the sources are in the
order of the query, one a line; in version 2 (``OffsetMap``) each line is ``source id:offset``, in no fixed order.
``-`` means a source without an offset. A decoded entry encodes to the very bytes it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.empty_lines import is_empty
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.verbatim import Verbatim, remember
from airflow_provider_ckpt.codec.versions import parse_version
from airflow_provider_ckpt.errors import CheckpointClosedError, IncompleteLogFileError, MalformedEntryError

MAX_VERSION = 2
VOID_OFFSET = "-"
_LINE, _WATERMARK, _TIMESTAMP = "metadata line", "batchWatermarkMs", "batchTimestampMs"
#: What this package adds to the metadata of an entry that is a fence; Spark ignores fields that it does not know.
FENCE = "ckptFence"
_NUMBER = r"(0|-?[1-9][0-9]{0,17})"
_TIMES = re.compile(rf'\{{ *"{_WATERMARK}" *: *{_NUMBER} *, *"{_TIMESTAMP}" *: *{_NUMBER} *, *(?="conf")')
#: Characters of a metadata line whose confs are remembered for the next batch; Spark 4.3 writes some 1,300.
_MOST_REMEMBERED = 16 << 10
#: More sources than any query has; an entry with more lines is garbage.
MAX_SOURCES = 1_000


@dataclass(frozen=True, slots=True)
class SourceMetadataInfo:
    """The record of a source in version 2 (``SourceMetadataInfo``)."""

    source_id: str
    provider_name: str
    api_version: str


@dataclass(frozen=True, slots=True)
class ControlBatchInfo:
    """Marks a batch that an operation wrote, not the query (``OffsetSeqControlBatchInfo``)."""

    operation_type: str
    operation_info: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetSeqMetadata:
    """The second line of an entry (``OffsetSeqMetadata``, ``OffsetSeqMetadataV2``).

    Args:
        batch_watermark_ms: Event-time watermark that the batch runs with, epoch milliseconds; 0 when there is none.
        batch_timestamp_ms: Processing time of the batch, epoch milliseconds.
        conf: The once-only confs by log key. A value can be None (JSON null); Spark stops at that when it restarts.
        sources: Version 2 alone: what is known of each source, by source id.
        control: Version 2 alone: set when an operation such as a repartition wrote the batch.
        fence: True if the entry is that of a fence, which this package has written.
    """

    batch_watermark_ms: int = 0
    batch_timestamp_ms: int = 0
    conf: Mapping[str, str | None] = field(default_factory=dict)
    sources: Mapping[str, SourceMetadataInfo] = field(default_factory=dict)
    control: ControlBatchInfo | None = None
    fence: bool = False
    _text: str | None = field(init=False, default=None, compare=False, repr=False)

    def json(self, version: int) -> str:
        """The line as it was read, or as Spark would write it."""
        if self._text is not None:
            return self._text
        fields: dict[str, Any] = {
            "batchWatermarkMs": self.batch_watermark_ms,
            "batchTimestampMs": self.batch_timestamp_ms,
            "conf": self.conf,
        }
        if version >= 2:
            fields["sourceMetadataInfo"] = {key: _source_fields(info) for key, info in self.sources.items()}
            if self.control is not None:
                fields["controlBatchInfo"] = _control_fields(self.control)
        if self.fence:
            fields[FENCE] = True
        return jvm_text.write_json(fields)


@dataclass(frozen=True, slots=True)
class OffsetSeq(Verbatim):
    """One entry of the offset log (``OffsetSeq`` in version 1, ``OffsetMap`` in version 2).

    Args:
        version: Version of the log format, 1 or 2.
        metadata: None when the line is empty, which version 1 allows (continuous processing writes it so).
        offsets: ``(source id, offset or None)`` in the order of the file; ids are positions "0", "1", … in version 1.
    """

    version: int
    metadata: OffsetSeqMetadata | None
    offsets: tuple[tuple[str, SourceOffset | None], ...]

    def offset(self, source_id: str) -> SourceOffset | None:
        """The offset of one source, or None when it is void or not in the entry."""
        return dict(self.offsets).get(source_id)

    @property
    def empty_lines(self) -> tuple[int, ...]:
        """Numbers of the lines, counted from 1, that are empty although Spark leaves none so.

        Version 1 counts each of them after the second as a source, and takes an empty second line for the metadata,
        which is a source then. Version 2 has no such lines. One source alone may have an offset without a text.
        """
        if self.version > 1:
            return ()
        empty = [number for number, (_, offset) in enumerate(self.offsets, 3) if offset and is_empty(offset.json)]
        if len(empty) == len(self.offsets):
            return tuple(empty[1:])
        first = next(offset for number, (_, offset) in enumerate(self.offsets, 3) if number not in empty)
        moved = self.metadata is None and first is not None and _is_metadata(first.json)
        return (2, *empty) if moved else tuple(empty)

    def without_empty_lines(self) -> OffsetSeq:
        """The entry as it was before somebody left empty lines in it; the same one where there is none."""
        if not (empty := self.empty_lines):
            return self
        given = [offset for number, (_, offset) in enumerate(self.offsets, 3) if number not in empty]
        metadata = self.metadata
        if empty[0] == 2 and (moved := given.pop(0)) is not None:
            metadata = _decode_metadata(moved.json, self.version, "")
        return OffsetSeq(self.version, metadata, tuple((str(at), offset) for at, offset in enumerate(given)))

    def _serialise(self) -> bytes:
        if self.version >= 2 and self.metadata is None:
            raise ValueError("an offset log entry of version 2 needs metadata")
        lines = [f"v{self.version}", self.metadata.json(self.version) if self.metadata else ""]
        for source_id, offset in self.offsets:
            text = VOID_OFFSET if offset is None else offset.json
            lines.append(f"{source_id}:{text}" if self.version >= 2 else text)
        if any("\n" in line or "\r" in line for line in lines):
            raise ValueError("a source offset or a source id has a line break")
        return jvm_text.encode_utf8("\n".join(lines))


def decode(data: bytes, name: str) -> OffsetSeq:
    """Read one entry as Spark's ``OffsetSeqLog.deserialize`` does.

    Raises:
        IncompleteLogFileError: Empty.
        UnsupportedVersionError: A later log version.
        CheckpointClosedError: The entry that closes a checkpoint.
        MalformedEntryError: Anything else that Spark would stop at.
    """
    if not data:
        raise IncompleteLogFileError("Incomplete log file: the entry is empty.", name=name)
    if data == CLOSING:
        raise CheckpointClosedError(
            "a change by ckpt has not ended, and this entry keeps Spark from starting until it has",
            name=name,
            hint="ckpt history shows the change. If it was interrupted, run its command again, which completes it, or "
            "take it back with ckpt undo. If there is no record of it, the checkpoint was copied meanwhile: copy it "
            "again when the change has ended.",
        )
    lines = jvm_text.lines_of(jvm_text.decode_utf8(data, name))
    version = parse_version(next(lines), MAX_VERSION, "offset log", name)
    metadata_line = next(lines, None)
    if metadata_line is None:
        raise MalformedEntryError(
            "the entry ends after its version line", name=name, spark_error="NoSuchElementException"
        )
    metadata = _decode_metadata(metadata_line, version, name)
    return remember(OffsetSeq(version, metadata, _decode_offsets(lines, version, name)), data)


def _decode_offsets(lines: Iterator[str], version: int, name: str) -> tuple[tuple[str, SourceOffset | None], ...]:
    offsets: dict[str, SourceOffset | None] = {}
    for position, line in enumerate(lines):
        if position == MAX_SOURCES:
            raise MalformedEntryError(f"the entry has more than {MAX_SOURCES:,} source offsets", name=name)
        if version == 1:
            offsets[str(position)] = _offset(line)
            continue
        source_id, colon, text = line.partition(":")
        if not colon:
            raise MalformedEntryError(
                f"the entry has a line without a source id: {jvm_text.abbreviate(line)}",
                name=name,
                spark_error="IllegalStateException",
            )
        offsets[source_id] = _offset(text)
    return tuple(offsets.items())


def _is_metadata(text: str) -> bool:
    """True if the line of a source is the metadata line, which Spark writes before the sources."""
    if f'"{_WATERMARK}"' not in text or f'"{_TIMESTAMP}"' not in text:
        return False
    try:
        return _decode_metadata(text, 1, "") is not None
    except MalformedEntryError:
        return False


def _offset(text: str) -> SourceOffset | None:
    return None if text == VOID_OFFSET else SourceOffset(text)


def _decode_metadata(line: str, version: int, name: str) -> OffsetSeqMetadata | None:
    text = jvm_text.trim(line)
    if not text:
        if version >= 2:
            raise MalformedEntryError("the metadata line is empty", name=name, spark_error="IllegalStateException")
        return None
    metadata = _metadata_by_times(text, version) or _metadata_by_fields(text, version, name)
    if metadata is not None:
        object.__setattr__(metadata, "_text", line)
    return metadata


def _metadata_by_fields(text: str, version: int, name: str) -> OffsetSeqMetadata | None:
    read = jvm_text.read_json_defaults(text, name, _LINE)
    if read is None:
        return None  # Spark has none then, as with an empty line
    fields = jvm_text.Fields(read, name, _LINE)
    return OffsetSeqMetadata(
        batch_watermark_ms=fields.long(_WATERMARK, 0),
        batch_timestamp_ms=fields.long(_TIMESTAMP, 0),
        conf=_decode_conf(fields, name),
        sources=_decode_sources(fields, name) if version >= 2 else {},
        control=_decode_control(fields, name) if version >= 2 else None,
        fence=read.get(FENCE) is True,
    )


def _metadata_by_times(text: str, version: int) -> OffsetSeqMetadata | None:
    """The same of a line as Spark writes it: the two times first, the rest as in the batch before, read once.

    None for any other line, and for one with which something is wrong.
    """
    times = _TIMES.match(text)
    if times is None or len(text) > _MOST_REMEMBERED:
        return None
    rest = _rest_of("{" + text[times.end() :], version)
    return replace(rest, batch_watermark_ms=int(times[1]), batch_timestamp_ms=int(times[2])) if rest else None


@lru_cache(maxsize=64)
def _rest_of(text: str, version: int) -> OffsetSeqMetadata | None:
    """A line without its times; None where something is wrong with it, or a time is given again."""
    try:
        again = {_WATERMARK, _TIMESTAMP} & jvm_text.read_json_object(text, "", _LINE).keys()
        return None if again else _metadata_by_fields(text, version, "")
    except MalformedEntryError:
        return None


def _decode_conf(fields: jvm_text.Fields, name: str) -> dict[str, str | None]:
    given = fields.object("conf")
    if set(map(type, given.values())) <= {str}:  # as Spark writes it
        return given
    conf: dict[str, str | None] = {}
    for key, value in given.items():
        conf[key] = jvm_text.as_text(value)
        if conf[key] is None and value is not None:
            raise MalformedEntryError(
                f"the conf {key!r} is not a text but {jvm_text.abbreviate(str(value))}",
                name=name,
                hint="Spark would stop here with a MappingException.",
            )
    return conf


def _decode_sources(fields: jvm_text.Fields, name: str) -> dict[str, SourceMetadataInfo]:
    sources = {}
    for key, value in fields.object("sourceMetadataInfo").items():
        if not isinstance(value, dict):
            raise fields.error("sourceMetadataInfo", f"does not have an object for {key!r}")
        info = jvm_text.Fields(value, name, f"sourceMetadataInfo of {key!r}")
        sources[key] = SourceMetadataInfo(info.text("sourceId"), info.text("providerName"), info.text("apiVersion"))
    return sources


def _decode_control(fields: jvm_text.Fields, name: str) -> ControlBatchInfo | None:
    value = fields.object("controlBatchInfo")
    if not value:
        return None
    info = jvm_text.Fields(value, name, "controlBatchInfo")
    return ControlBatchInfo(info.text("operationType"), jvm_text.as_text(value.get("operationInfo")))


def _source_fields(info: SourceMetadataInfo) -> dict[str, str]:
    return {"sourceId": info.source_id, "providerName": info.provider_name, "apiVersion": info.api_version}


def _control_fields(control: ControlBatchInfo) -> dict[str, str]:
    fields = {"operationType": control.operation_type}
    return fields if control.operation_info is None else {**fields, "operationInfo": control.operation_info}


# --- the entry that closes a checkpoint, while ckpt changes more than one object of it --------------------------------
# It has the latest log version that Java can count, so every Spark refuses to start from it
# (``MetadataVersionUtil.validateVersion``), and a query that runs finds the name of its next batch taken. Nothing else
# changes: without the entry the checkpoint is what it was.

#: The version in it, as Spark names it in its error.
CLOSING_VERSION = 2147483647
#: The whole content.
CLOSING = (
    b"v2147483647\n"
    b"A change by ckpt has not ended. See it with ckpt history LOCATION. The command that began it completes it, and "
    b"ckpt undo LOCATION takes it back.\n"
)
