"""The kinds of sources whose offsets are known: those of ckpt itself, and those that others have registered."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_provider_ckpt.codec import checkpoint_offset, registered_kinds
from airflow_provider_ckpt.codec.offsets import delta as delta_offset
from airflow_provider_ckpt.codec.offsets import hudi as hudi_offset
from airflow_provider_ckpt.codec.offsets import iceberg as iceberg_offset
from airflow_provider_ckpt.codec.offsets import kinesis as kinesis_offset
from airflow_provider_ckpt.codec.offsets import pulsar as pulsar_offset
from airflow_provider_ckpt.codec.source_kind import Positions, Question, SourceKind, has_longs, is_flag, is_long


class SourceKinds(Mapping[str, SourceKind]):
    """Source kinds by name. What others have registered is asked for when a name is not that of a built-in one."""

    def __init__(self, built_in: Iterable[SourceKind]) -> None:
        self._built_in = {kind.name: kind for kind in built_in}

    @property
    def built_in(self) -> frozenset[str]:
        """The names that nobody else can register."""
        return frozenset(self._built_in)

    def __getitem__(self, name: str) -> SourceKind:
        known = self._built_in.get(name)
        return known if known is not None else registered_kinds.load(name, self.built_in)

    def answering(self, question: Question) -> tuple[str, ...]:
        """The names of the kinds whose sources answer a question."""
        return tuple(name for name, kind in self._built_in.items() if question in kind.answers)

    def spelled(self, name: str) -> str:
        """The known name that one means, whatever its case: ``Kafka`` is ``kafka``; one that is not known stays."""
        if name in self:
            return name
        return next((known for known in self if known.lower() == name.lower()), name)

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in registered_kinds.names(self.built_in)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._built_in, *registered_kinds.names(self.built_in)))

    def __len__(self) -> int:
        return len(self._built_in) + len(registered_kinds.names(self.built_in))


# --- partitions by number: Kafka and Event Hubs --------------------------------------------------------------------


def _is_partitioned(value: Any) -> bool:
    """``{"topic": {"0": 500}}``; the types of 10,000 partitions are read in one go."""
    if not isinstance(value, dict) or not set(map(type, value.values())) <= {dict}:
        return False
    offsets = list[Any]()
    for partitions in value.values():
        offsets += partitions.values()
        numbers = "".join(partitions)
        if partitions and not (numbers.isascii() and numbers.isdigit() and "" not in partitions):
            return False
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


def _offset_of_each(value: Any) -> dict[str, int]:
    return {partition: offset for partition, (offset,) in _partitions(value).items()}


def _with_offsets(value: Any, offsets: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """An offset of partitions such as ``topic-0``: the name of a topic may have a dash, a number has none."""
    topics: dict[str, dict[str, int]] = {}
    for partition, offset in offsets.items():
        topic, _, number = partition.rpartition("-")
        topics.setdefault(topic, {})[number] = offset
    return topics


def _partitioned(name: str, unit: str, *answers: Question) -> SourceKind:
    return SourceKind(
        name, _is_partitioned, _partitions, unit, pieces=_offset_of_each, joined=_with_offsets, answers=answers
    )


# --- the rest ------------------------------------------------------------------------------------------------------


def _long(name: str, unit: str, origin: int) -> SourceKind:
    return SourceKind(name, is_long, lambda value: {"value": (value,)}, unit, origin=origin)


def _file(value: Any) -> Positions:
    return {"log": (value if is_long(value) else value["logOffset"],)}


def _delta(value: Any) -> Positions:
    offset = delta_offset.of_value(value)
    return {"table": (offset.version, offset.index)}


def _iceberg(value: Any) -> Positions:
    offset = iceberg_offset.of_value(value)
    return {"table": (offset.snapshot_id, offset.position)}


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


_BUILT_IN = (
    _partitioned("kafka", "records", "end", "resolve_goal"),
    _partitioned("eventhubs", "events"),
    _long("rate", "seconds", 0),
    _long("socket", "records", -1),
    SourceKind(
        "rate-micro-batch",
        lambda value: has_longs(value, "offset", "timestamp"),
        lambda value: {"offset": (value["offset"],)},
        "rows",
        origin=0,
    ),
    SourceKind(
        "delta",
        lambda value: delta_offset.of_value(value) is not None,
        _delta,
        "table versions",
        identity=lambda value: delta_offset.of_value(value).table_id,
        in_first_snapshot=lambda value: delta_offset.of_value(value).in_first_snapshot,
        answers=("end", "judge", "resolve_goal"),
    ),
    SourceKind(
        "iceberg",
        lambda value: iceberg_offset.of_value(value) is not None,
        _iceberg,
        ordered=False,
        answers=("end", "judge", "resolve_goal"),
    ),
    SourceKind(
        "file",
        lambda value: is_long(value) or has_longs(value, "logOffset"),
        _file,
        "log entries",
        origin=-1,
        answers=("end", "judge"),
    ),
    SourceKind(
        "kinesis",
        kinesis_offset.fits,
        kinesis_offset.positions,
        identity=kinesis_offset.stream_name,
        marks="begin",
        scales=kinesis_offset.scales,
        pieces=kinesis_offset.shards,
        joined=kinesis_offset.with_shards,
        ends_partitions=True,
    ),
    SourceKind(
        "pulsar",
        pulsar_offset.fits,
        pulsar_offset.positions,
        pieces=lambda value: value,
        joined=lambda value, pieces: pieces,
    ),
    SourceKind(
        "cloudFiles", lambda value: has_longs(value, "seqNum"), lambda value: {"files": (value["seqNum"],)}, "files"
    ),
    SourceKind("pubsub", lambda value: has_longs(value, "seqNum"), lambda value: {"batches": (value["seqNum"],)}),
    SourceKind(
        "sequential-union",
        _is_union,
        lambda value: {"sources": (len(value["completedSourceNames"]),)},
        "completed sources",
        identity=lambda value: ", ".join(sorted(value["allSourceNames"])),
        origin=0,
    ),
    SourceKind("hudi", hudi_offset.fits, hudi_offset.positions, scales=hudi_offset.scales),
    SourceKind(
        "paimon",
        lambda value: has_longs(value, "snapshotId", "index") and is_flag(value, "scanSnapshot"),
        lambda value: {"table": (value["snapshotId"], value["index"])},
        "snapshots",
    ),
    SourceKind(
        "checkpoint",
        checkpoint_offset.fits,
        checkpoint_offset.numbers,
        "batches",
        origin=-1,
        span=checkpoint_offset.read_between,
        pieces=checkpoint_offset.decode,
        joined=lambda value, pieces: checkpoint_offset.encode(pieces),
    ),
)

KINDS = SourceKinds(_BUILT_IN)


def unknown_kind(name: str) -> str:
    """Error message for a name that is not a known source type."""
    return f"unknown source type {name!r:.60}; the known types are {', '.join(sorted(KINDS))}"


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
