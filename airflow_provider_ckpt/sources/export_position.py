"""Exporting where one source of a query was after a committed batch, as what starts another reader there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets.kinesis import METADATA, shards
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError, PlanError, located
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS
from airflow_provider_ckpt.sources.position import Position
from airflow_provider_ckpt.sources.read_position import read_position
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json


@dataclass(frozen=True, slots=True)
class Exported:
    """A position for another reader.

    Args:
        location: URI of the checkpoint.
        source_id: The source.
        batch_id: The batch after which the other reader begins.
        text: Text that the reader takes.
    """

    location: str
    source_id: str
    batch_id: int
    text: str


def export_position(store: Store, form: str, source_id: str | None = None, batch_id: int | None = None) -> Exported:
    """The position of a source after a committed batch.

    Args:
        store: The checkpoint.
        form: One of FORMS: what the text is for.
        source_id: The source; None for the one that the query has.
        batch_id: The batch; None for the newest committed one.

    Raises:
        CheckpointError: There is no such position, as for :func:`read_position`.
        MalformedEntryError: The source is not of the type that has this option.
        PlanError: No value of the option means this position, or the files do not say where the batch ended.
    """
    wanted = FORMS[form]
    position = read_position(store, source_id, batch_id)
    with located(position.location):
        _require_type(position, wanted.source_type)
        text = wanted.text(read_end(store, position, wanted.source_type), position.entry)
    return Exported(position.location, position.source_id, position.batch_id, text)


def _require_type(position: Position, source_type: str) -> None:
    try:
        position.offset.view(source_type, position.entry)
    except MalformedEntryError as error:
        error.hint = f"Choose with --source a source of the type {source_type}, or another form with --as."
        raise


#: Where the side files of a source are, below its directory.
SHARD_SOURCE = "shard-source"
_ITERATOR = ("iteratorType", "iteratorPosition", "subSequenceNumber", "isLast")
_SHARD_END = "SHARD_END"
#: More than any side file has, bytes.
_MOST_BYTES = 1 << 16


# --- where a batch ended ----------------------------------------------------------------------------------------------
# The connectors of Kinesis say in an entry where a batch begins. Where it ended is in the entry of the next batch, once
# that is planned. Until then the side files of the batch say it, one for each shard, from which the connector takes the
# next entry (awslabs' ``HDFSMetadataCommitter``).


def read_end(store: Store, position: Position, source_type: str) -> SourceOffset:
    """Where a committed batch of a source ended.

    Args:
        store: The checkpoint.
        position: The offset of the source in the entry of the batch.
        source_type: Type of the source.

    Raises:
        PlanError: The files do not say it.
        MalformedEntryError: An entry or a side file cannot be read.
    """
    if KINDS[source_type].marks == "end":
        return position.offset
    own = position.offset.view(source_type, position.entry).value
    counter = _counter(own, position.entry)
    batch_id = position.batch_id + 1
    while (offset := _offset_in(store, batch_id, position.source_id)) is not None:
        name = layout.offset_entry(batch_id)
        following = _counter(offset.view(source_type, name).value, name)
        if following == counter + 1:
            return offset
        if following != counter:
            break
        batch_id += 1  # a batch without data: the source was not asked
    return _from_side_files(store, position, own, counter)


def _counter(value: dict[str, Any], name: str) -> int:
    """The number that the source itself gives the batch of an entry."""
    text = str(value.get(METADATA, {}).get("batchId", ""))
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise MalformedEntryError("the offset of Kinesis does not have the number of its batch", name=name)
    return int(text)


def _offset_in(store: Store, batch_id: int, source_id: str) -> SourceOffset | None:
    name = layout.offset_entry(batch_id)
    try:
        entry = codec.decode(name, store.read(name))
    except CheckpointNotFoundError:
        return None
    return entry.offset(source_id) if isinstance(entry, OffsetSeq) else None


def _from_side_files(store: Store, position: Position, own: dict[str, Any], counter: int) -> SourceOffset:
    """The offset that the connector would make of them: a shard without a file is where it began."""
    folder = f"{layout.SOURCES}/{position.source_id}/{SHARD_SOURCE}/{counter}"
    found, _ = store.ls(folder)
    if not found:
        raise PlanError(
            f"an entry of a Kinesis source says where its batch begins, and the batch after {position.batch_id} is not "
            f"planned; there is no directory {folder} either, in which the source writes where it has ended",
            location=position.location,
            name=position.entry,
            batch_id=position.batch_id,
            hint="Export the position of the batch before (--batch), or start the query until it has planned another "
            "batch. A source with kinesis.metadataCommitterType DYNAMODB keeps these positions in DynamoDB.",
        )
    ends = {}
    for shard_id, began in shards(own).items():
        name = f"{folder}/{shard_id}"
        ends[shard_id] = _shard(store, name) if name in found else began
        if str(ends[shard_id].get("iteratorType")).upper() == _SHARD_END:
            raise PlanError(
                f"batch {position.batch_id} has read the shard {shard_id} to its end, and which shards follow it is "
                "known only when the next batch is planned: a reader would begin with their newest records",
                location=position.location,
                name=name,
                batch_id=position.batch_id,
                hint="Export the position of the batch before (--batch), or start the query until it has planned "
                "another batch.",
            )
    value = {METADATA: {**own[METADATA], "batchId": str(counter + 1)}, **ends}
    return SourceOffset(json.dumps(value, separators=(",", ":")))


def _shard(store: Store, name: str) -> dict[str, str]:
    """The iterator in a side file, all of it as text, as in an offset."""
    try:
        fields = parse_json(store.read_up_to(name, _MOST_BYTES))
        if not isinstance(fields, dict) or not all(key in fields for key in _ITERATOR):
            raise ValueError("a field of the iterator is missing")
    except ValueError as error:
        raise MalformedEntryError(f"not the position of a shard: {error}", name=name, location=store.location) from None
    return {key: _text(fields[key]) for key in _ITERATOR}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
