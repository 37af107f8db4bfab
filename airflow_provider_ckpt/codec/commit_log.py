"""The commit log: one entry a batch, written when the batch has reached the sink (Spark's ``CommitLog``).

Version 1 holds the next watermark, version 2 adds the unique ids of the state files (state checkpoint format 2),
version 3 adds the sinks of the query (sink evolution).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.verbatim import Verbatim, remember
from airflow_provider_ckpt.codec.versions import parse_version
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError

MAX_VERSION = 3

#: What nearly every entry is: a watermark, and nothing else.
_PLAIN = re.compile(rb'v([12])\n\{ *"nextBatchWatermarkMs" *: *(0|-?[1-9][0-9]{0,17}) *\}')
#: Unique ids of the state files by operator id, partition and store, in the order of the store names.
StateUniqueIds = Mapping[int, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True)
class SinkMetadataInfo:
    """The record of a sink in version 3 (``SinkMetadataInfo``). ``commit_offset`` is ``-`` when the sink has none."""

    sink_name: str
    commit_offset: str
    provider_name: str
    api_version: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class CommitMetadata(Verbatim):
    """One entry of the commit log (``CommitMetadata``, ``CommitMetadataV2``, ``CommitMetadataV3``).

    Args:
        version: Version of the log format, 1 to 3.
        next_batch_watermark_ms: Watermark of the next batch, epoch milliseconds; 0 when there is none.
        state_unique_ids: Ids of the state, from version 2 on; None when the field is absent.
        sinks: Version 3 alone: every sink the query ever had, by name; exactly one is active.
    """

    version: int
    next_batch_watermark_ms: int = 0
    state_unique_ids: StateUniqueIds | None = None
    sinks: Mapping[str, SinkMetadataInfo] = field(default_factory=dict)

    def _serialise(self) -> bytes:
        fields: dict[str, Any] = {"nextBatchWatermarkMs": self.next_batch_watermark_ms}
        if self.version >= 2 and self.state_unique_ids is not None:
            fields["stateUniqueIds"] = {str(key): ids for key, ids in self.state_unique_ids.items()}
        if self.version >= 3:
            fields["sinkMetadataMap"] = {key: _sink_fields(sink) for key, sink in self.sinks.items()}
        return jvm_text.encode_utf8(f"v{self.version}\n{jvm_text.write_json(fields)}")


def decode(data: bytes, name: str) -> CommitMetadata:
    """Read one entry as Spark's ``CommitLog.readCommitMetadata`` does.

    Raises:
        IncompleteLogFileError: Empty.
        UnsupportedVersionError: A later log version.
        MalformedEntryError: Anything else that Spark would stop at.
    """
    if not data:
        raise IncompleteLogFileError("Incomplete log file in the offset commit log: the entry is empty.", name=name)
    if plain := _PLAIN.fullmatch(data):
        return remember(CommitMetadata(int(plain[1]), int(plain[2])), data)
    lines = jvm_text.lines_of(jvm_text.decode_utf8(data, name))
    version = parse_version(jvm_text.trim(next(lines)), MAX_VERSION, "commit log", name)
    what = "metadata line"
    read = jvm_text.read_json_defaults(next(lines, "{}"), name, what)
    if read is None:
        raise MalformedEntryError(f"the {what} is null", name=name, spark_error="NullPointerException")
    fields = jvm_text.Fields(read, name, what)
    entry = CommitMetadata(
        version,
        fields.long("nextBatchWatermarkMs", 0),
        _decode_ids(fields) if version >= 2 else None,
        _decode_sinks(fields, name) if version >= 3 else {},
    )
    return remember(entry, data)


def _decode_ids(fields: jvm_text.Fields) -> StateUniqueIds | None:
    key = "stateUniqueIds"
    if not fields.has(key):
        return None
    ids: dict[int, tuple[tuple[str, ...], ...]] = {}
    if fields.is_empty_list(key):
        return ids
    for operator, partitions in fields.object(key).items():
        operator_id = jvm_text.parse_long(operator)
        if operator_id is None:
            raise fields.error(key, f"has an operator that is not a number: {jvm_text.abbreviate(operator)}")
        ids[operator_id] = _partition_ids(partitions, fields)
    return ids


def _partition_ids(partitions: Any, fields: jvm_text.Fields) -> tuple[tuple[str, ...], ...]:
    key = "stateUniqueIds"
    if not isinstance(partitions, list) or not all(isinstance(stores, list) for stores in partitions):
        raise fields.error(key, "does not have a list of lists")
    ids = tuple(tuple(jvm_text.as_text(item) for item in stores) for stores in partitions)
    if any(item is None for stores in ids for item in stores):
        raise fields.error(key, "has an id that is not a text")
    return ids  # type: ignore[return-value]  # None was refused above


def _decode_sinks(fields: jvm_text.Fields, name: str) -> dict[str, SinkMetadataInfo]:
    key = "sinkMetadataMap"
    sinks = {}
    if not fields.has(key):
        raise fields.error(key, "is missing")
    for sink_name, value in fields.object(key).items():
        if not isinstance(value, dict):
            raise fields.error(key, f"does not have an object for {jvm_text.abbreviate(sink_name)}")
        sink = jvm_text.Fields(value, name, f"sink {jvm_text.abbreviate(sink_name)}")
        sinks[sink_name] = SinkMetadataInfo(
            sink.text("sinkName"),
            sink.text("commitOffset"),
            sink.text("providerName"),
            sink.text("apiVersion"),
            sink.flag("isActive"),
        )
    if sum(sink.is_active for sink in sinks.values()) != 1:
        raise MalformedEntryError(
            "an entry of version 3 needs exactly one active sink", name=name, spark_error="IllegalArgumentException"
        )
    return sinks


def _sink_fields(sink: SinkMetadataInfo) -> dict[str, Any]:
    return {
        "sinkName": sink.sink_name,
        "commitOffset": sink.commit_offset,
        "providerName": sink.provider_name,
        "apiVersion": sink.api_version,
        "isActive": sink.is_active,
    }
