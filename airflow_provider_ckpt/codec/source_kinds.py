"""The kinds of sources whose offsets are known: the shape of their JSON, and the position of each partition in it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.codec import checkpoint_offset, iceberg_offset
from airflow_provider_ckpt.codec.checkpoint_offset import read_between
from airflow_provider_ckpt.codec.jvm_text import LONG_MAX, LONG_MIN

#: The position of each partition (topic partition, shard, …) of a source; tuples compare within one partition.
Positions = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class SourceKind:
    """What is known of the offsets of one kind of source.

    Args:
        name: The name that ``readStream.format`` takes.
        fits: Whether parsed JSON has the shape.
        positions: The position of each partition.
        unit: What the distance between two positions of a partition counts; None when it counts nothing.
        identity: Offsets with another identity cannot be compared (Delta: the table id).
        ordered: False when positions have no order outside the source (Iceberg snapshot ids).
        in_first_snapshot: Whether the source still reads what the table held when the query began (Delta); until it
            has, nothing of that counts as read.
        origin: The first position of every partition, when it is known; what the first batch read counts from there.
        marks: Whether an entry of the offset log holds where its batch ``end``s or ``begin``s. In the latter case the
            entry after it says where the batch ended (Kinesis).
        span: The numbers between which a partition was read, from its earlier position and its later one; None for the
            first where the earlier position does not tell. Without a function they are the first of each position.
        scales: By partition what its positions are in, where a source mixes several (sequence numbers and timestamps);
            positions on different scales cannot be compared.
    """

    name: str
    fits: Callable[[Any], bool]
    positions: Callable[[Any], Positions]
    unit: str | None
    identity: Callable[[Any], str] = lambda value: ""
    ordered: bool = True
    in_first_snapshot: Callable[[Any], bool] = lambda value: False
    origin: int | None = None
    marks: Literal["end", "begin"] = "end"
    scales: Callable[[Any], Mapping[str, str]] = lambda value: {}
    span: Callable[[tuple[int, ...] | None, tuple[int, ...]], tuple[int | None, int]] | None = None


def _is_number(value: Any) -> bool:
    return type(value) is int and LONG_MIN <= value <= LONG_MAX


def _has_numbers(*keys: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(_is_number(value.get(key)) for key in keys)


def _is_partitioned(value: Any) -> bool:
    """``{"topic": {"0": 500}}``; the types of 10,000 partitions are read in one go."""
    if not isinstance(value, dict) or not set(map(type, value.values())) <= {dict}:
        return False
    offsets = list[Any]()
    for partitions in value.values():
        offsets += partitions.values()
    if list(map(type, offsets)).count(int) != len(offsets):
        return False
    try:
        struct.pack(f"{len(offsets)}q", *offsets)  # Java's longs; in a third of the time that comparing them takes
    except struct.error:
        return False
    return True


def _partitions(value: Any) -> Positions:
    return {
        f"{topic}-{partition}": (offset,)
        for topic, partitions in value.items()
        for partition, offset in partitions.items()
    }


def _is_file(value: Any) -> bool:
    return _is_number(value) or _has_numbers("logOffset")(value)


def _file(value: Any) -> Positions:
    return {"log": (value if _is_number(value) else value["logOffset"],)}


#: Versions that Delta writes: 3 only for the indices of a change of metadata (-20, -19); it refuses 2 and later ones.
_DELTA_VERSIONS = (1, 3)
#: The index before all files of a version. Version 1 writes -1 for it.
DELTA_BASE_INDEX = -100


def _is_delta(value: Any) -> bool:
    return (
        _has_numbers("reservoirVersion", "index")(value)
        and isinstance(value.get("reservoirId"), str)
        and value.get("sourceVersion", 1) in _DELTA_VERSIONS
    )


def _delta(value: Any) -> Positions:
    is_base = value["index"] == -1 and value.get("sourceVersion", 1) == 1
    return {"table": (value["reservoirVersion"], DELTA_BASE_INDEX if is_base else value["index"])}


def _shards(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((partition, shard) for partition, shard in value.items() if partition != "metadata")


def _is_kinesis(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(shard, dict) and isinstance(shard.get("iteratorPosition"), str | int) for _, shard in _shards(value)
    )


#: What the position of an iterator is in.
_SCALES: Mapping[str, str] = {
    "TRIM_HORIZON": "sequence number",
    "AT_SEQUENCE_NUMBER": "sequence number",
    "AFTER_SEQUENCE_NUMBER": "sequence number",
    "SHARD_END": "sequence number",
    "AT_TIMESTAMP": "timestamp",
    "LATEST": "moving end",
}
_UNREADABLE = "position that ckpt cannot read"


def _iterator(shard: Mapping[str, Any]) -> str:
    return str(shard.get("iteratorType", "AFTER_SEQUENCE_NUMBER"))


def _shard_position(shard: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The position of a shard; None when that cannot be read, which says nothing of the other shards.

    After the record 5 is ``(5,)``, before it ``(4, 0)``, and after a part of it ``(4, 1, part)``.
    """
    number, part = _digits(shard["iteratorPosition"]), _digits(shard.get("subSequenceNumber", -1))
    match _iterator(shard):
        case "TRIM_HORIZON" | "LATEST":
            return (-1,)
        case "SHARD_END":
            return (10**_MOST_DIGITS,)
        case "AFTER_SEQUENCE_NUMBER" if number is not None and part is not None:
            return (number,) if part < 0 else (number - 1, 1, part)
        case "AT_SEQUENCE_NUMBER" if number is not None:
            return (number - 1, 0)
        case "AT_TIMESTAMP" if number is not None:
            return (number,)
    return None


def _digits(value: Any) -> int | None:
    text = str(value)
    return int(text) if len(text) <= _MOST_DIGITS and text.removeprefix("-").isdecimal() else None


def _kinesis(value: Any) -> Positions:
    return {partition: at for partition, shard in _shards(value) if (at := _shard_position(shard)) is not None}


def _kinesis_scales(value: Any) -> dict[str, str]:
    return {
        partition: _UNREADABLE if _shard_position(shard) is None else _SCALES[_iterator(shard)]
        for partition, shard in _shards(value)
    }


def _is_union(value: Any) -> bool:
    """``followedBy``: the active source is one of all, and no longer one of the completed."""
    if not isinstance(value, dict) or not isinstance(value.get("activeSourceName"), str):
        return False
    names, done = value.get("allSourceNames"), value.get("completedSourceNames")
    if not isinstance(names, list) or not isinstance(done, list):
        return False
    if not all(isinstance(name, str) for name in (*names, *done)):
        return False
    return value["activeSourceName"] in {*names} - {*done} and {*done} <= {*names}


def _is_hudi(value: Any) -> bool:
    text = value.get("commitTime") if isinstance(value, dict) else None
    return isinstance(text, str) and text.isdecimal() and len(text) <= _INSTANT_DIGITS


#: ``yyyyMMddHHmmssSSS``; older releases of Hudi left out the milliseconds.
_INSTANT_DIGITS = 17
#: More than any number of a source has; sequence numbers of Kinesis have 56.
_MOST_DIGITS = 200


def _is_pulsar(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(data, list) and all(_is_number(byte) and -128 <= byte < 256 for byte in data)
        for data in value.values()
    )


def _pulsar(value: Any) -> Positions:
    """Message ids are protobuf: field 1 the ledger, 2 the entry, 4 the index in a batched entry."""
    partitions = {topic: _varint_fields(data) for topic, data in value.items()}
    return {topic: (ids.get(1, 0), ids.get(2, 0), ids.get(4, -1)) for topic, ids in partitions.items()}


def _varint_fields(data: list[int]) -> dict[int, int]:
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift = min(shift + 7, 70)  # a number has 64 bits
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    return {tag >> 3: number for tag, number in zip(numbers[::2], numbers[1::2], strict=False)}


def _long(name: str, unit: str, origin: int) -> SourceKind:
    return SourceKind(name, _is_number, lambda value: {"value": (value,)}, unit, origin=origin)


KINDS: Mapping[str, SourceKind] = {
    kind.name: kind
    for kind in (
        SourceKind("kafka", _is_partitioned, _partitions, "records"),
        SourceKind("eventhubs", _is_partitioned, _partitions, "events"),
        SourceKind("file", _is_file, _file, "log entries", origin=-1),
        _long("rate", "seconds", 0),
        _long("socket", "records", -1),
        SourceKind(
            "rate-micro-batch",
            _has_numbers("offset", "timestamp"),
            lambda value: {"offset": (value["offset"],)},
            "rows",
            origin=0,
        ),
        SourceKind(
            "delta",
            _is_delta,
            _delta,
            "table versions",
            identity=lambda value: str(value["reservoirId"]),
            in_first_snapshot=lambda value: bool(value.get("isStartingVersion")),
        ),
        SourceKind(
            "iceberg",
            lambda value: iceberg_offset.of_value(value) is not None,
            lambda value: {"table": (value["snapshot_id"], value["position"])},
            None,
            ordered=False,
        ),
        SourceKind("kinesis", _is_kinesis, _kinesis, None, marks="begin", scales=_kinesis_scales),
        SourceKind("pulsar", _is_pulsar, _pulsar, None),
        SourceKind("cloudFiles", _has_numbers("seqNum"), lambda value: {"files": (value["seqNum"],)}, "files"),
        SourceKind("pubsub", _has_numbers("seqNum"), lambda value: {"batches": (value["seqNum"],)}, None),
        SourceKind(
            "sequential-union",
            _is_union,
            lambda value: {"sources": (len(value["completedSourceNames"]),)},
            "completed sources",
            identity=lambda value: ", ".join(sorted(value["allSourceNames"])),
            origin=0,
        ),
        SourceKind(
            "hudi", _is_hudi, lambda value: {"table": (int(value["commitTime"].ljust(_INSTANT_DIGITS, "0")),)}, None
        ),
        SourceKind(
            "paimon",
            _has_numbers("snapshotId", "index"),
            lambda value: {"table": (value["snapshotId"], value["index"])},
            "snapshots",
        ),
        SourceKind(
            "checkpoint", checkpoint_offset.fits, checkpoint_offset.numbers, "batches", origin=-1, span=read_between
        ),
    )
}


def kind_of_provider(provider_name: str) -> str | None:
    """The kind of source behind a provider name of offset log version 2, or None when it is not known."""
    name = provider_name.rsplit(".", 1)[-1].lower()
    return _PROVIDERS.get(name) or next((kind for kind in KINDS if kind.lower() == name), None)


_PROVIDERS = {
    "kafkasourceprovider": "kafka",
    "eventhubssourceprovider": "eventhubs",
    "filestreamsource": "file",
    "ratestreamprovider": "rate",
    "ratepermicrobatchprovider": "rate-micro-batch",
    "textsocketsourceprovider": "socket",
    "deltadatasource": "delta",
    "icebergsource": "iceberg",
    "kinesissourceprovider": "kinesis",
    "pulsarprovider": "pulsar",
}
