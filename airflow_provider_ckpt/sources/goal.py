"""Parses the goal of a source, as a person or a template wrote it, into one strategy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from types import MappingProxyType
from typing import Any

from airflow_provider_ckpt.codec.jvm_text import INT_MAX, LONG_MAX
from airflow_provider_ckpt.sources.kafka.extent import Partition
from airflow_provider_ckpt.sources.kafka.kafka_csv import read_csv, write_csv
from airflow_provider_ckpt.sources.kafka.strategies import (
    EARLIEST,
    ByDuration,
    FromFile,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
    text_of,
)
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class ToVersion:
    """Right after a version of a Delta table: the next batch begins with the version after it."""

    version: int


@dataclass(frozen=True, slots=True)
class ToSnapshot:
    """Right after a snapshot of an Iceberg table: the next batch begins with the snapshot after it."""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class SkipVersion:
    """Skip exactly one version of a Delta table, which the next batch would start with."""

    version: int


@dataclass(frozen=True, slots=True)
class SkipSnapshot:
    """Skip exactly one snapshot of an Iceberg table, which the next batch would start with."""

    snapshot_id: int


Goal = Strategy | ToVersion | ToSnapshot | SkipVersion | SkipSnapshot
#: Goals that sources of one type alone have.
OF_DELTA, OF_ICEBERG = (ToVersion, SkipVersion), (ToSnapshot, SkipSnapshot)


def parse_goal(
    *,
    earliest: bool = False,
    latest: bool = False,
    current: bool = False,
    at_ms: int | None = None,
    duration_ms: int | None = None,
    shift: int | None = None,
    offsets: str | int | Mapping[str, Any] | None = None,
    csv: str | None = None,
    version: int | None = None,
    snapshot: int | None = None,
    skip_version: int | None = None,
    skip_snapshot: int | None = None,
    called: Mapping[str, str] = MappingProxyType({}),
) -> Goal:
    """The one goal that was given.

    Args:
        earliest: To the earliest offsets.
        latest: To the latest offsets.
        current: To the committed offsets.
        at_ms: To the first records from a time on, epoch milliseconds.
        duration_ms: To the first records of the last milliseconds.
        shift: Move forward by this number of offsets; a negative number goes back.
        offsets: One offset, or offsets by topic and partition as in Spark's ``startingOffsets``; JSON when it is text.
        csv: Positions as ``kafka-consumer-groups --export`` writes them.
        version: Right after a version of a Delta table.
        snapshot: Right after a snapshot of an Iceberg table, by its id.
        skip_version: Delta: skip exactly this version, which the next batch would start with.
        skip_snapshot: The same of a snapshot of an Iceberg table, by its id.
        called: Names of these arguments at the caller, for the error.

    Raises:
        ValueError: None or several are given, or one makes no sense.
    """
    given: dict[str, Goal | None] = {
        "earliest": ToEarliest() if earliest else None,
        "latest": ToLatest() if latest else None,
        "current": ToCurrent() if current else None,
        "at_ms": None if at_ms is None else ToDatetime(at_ms),
        "duration_ms": None if duration_ms is None else ByDuration(duration_ms),
        "shift": None if shift is None else ShiftBy(shift),
        "offsets": None if offsets is None else _to_offsets(offsets),
        "csv": None if csv is None else FromFile(read_csv(csv)),
        "version": None if version is None else ToVersion(version),
        "snapshot": None if snapshot is None else ToSnapshot(snapshot),
        "skip_version": None if skip_version is None else SkipVersion(skip_version),
        "skip_snapshot": None if skip_snapshot is None else SkipSnapshot(skip_snapshot),
    }
    named = [name for name, goal in given.items() if goal is not None]
    if len(named) != 1:
        known, found = ([called.get(name, name) for name in names] for names in (given, named))
        raise ValueError(f"give exactly one of {', '.join(known)}; given: {' and '.join(found) or 'none'}")
    goal = given[named[0]]
    assert goal is not None
    return goal


#: What :func:`goal_key` calls the goals. Plans hold a digest of it, so a name stays what it is.
_KEYS: Mapping[type[Goal], str] = {
    ToEarliest: "earliest",
    ToLatest: "latest",
    ToCurrent: "current",
    ToDatetime: "at_ms",
    ByDuration: "duration_ms",
    ShiftBy: "shift",
    ToOffsets: "offsets",
    FromFile: "csv",
    ToVersion: "version",
    ToSnapshot: "snapshot",
    SkipVersion: "skip_version",
    SkipSnapshot: "skip_snapshot",
}


class AbsoluteAim:
    """Part of an aim (:class:`~airflow_provider_ckpt.sources.move.Aim`) that has one goal, at a place of its own."""

    __slots__ = ()
    goal: Goal

    @property
    def text(self) -> str:
        """The goal as it was given."""
        return goal_text(self.goal)

    @property
    def key(self) -> str:
        """The goal as text for a digest; see :class:`~airflow_provider_ckpt.sources.move.Aim`."""
        return goal_key(self.goal)

    @property
    def is_relative(self) -> bool:
        """False: a version and a snapshot of a table are always absolute."""
        return False


def goal_key(goal: Goal) -> str:
    """A goal as text that tells it from every other one and is never reworded, such as ``shift=-5``."""
    match goal:
        case FromFile(offsets) | ToOffsets(offsets) if not isinstance(offsets, int):
            value = write_csv(offsets)
        case _:
            value = "".join(map(str, astuple(goal)))
    return f"{_KEYS[type(goal)]}={value}"


def goal_text(goal: Goal) -> str:
    """A goal in words, to go after ``goes to``."""
    match goal:
        case ToVersion(version):
            return f"the end of version {version}"
        case ToSnapshot(snapshot_id):
            return f"the end of snapshot {snapshot_id}"
        case SkipVersion(version):
            return f"the end of version {version}, which alone is skipped"
        case SkipSnapshot(snapshot_id):
            return f"the end of snapshot {snapshot_id}, which alone is skipped"
    return text_of(goal)


def _to_offsets(given: str | int | Mapping[str, Any]) -> ToOffsets:
    value = parse_json(given) if isinstance(given, str) else given
    if type(value) is int:
        return ToOffsets(_offset(value, "the offset", least=0))
    if not isinstance(value, Mapping) or not value or not all(isinstance(item, Mapping) for item in value.values()):
        raise ValueError(
            'offsets must be a number, or a JSON object by topic and partition, such as {"orders": {"0": 5}}'
        )
    offsets: dict[Partition, int] = {}
    for topic, partitions in value.items():
        for number, offset in partitions.items():
            partition = _partition(topic, number)
            if partition in offsets:
                raise ValueError(f"partition {topic}-{partition[1]} has two offsets")
            offsets[partition] = _offset(offset, f"the offset of {topic}-{number}", least=EARLIEST)
    if not offsets:
        raise ValueError("offsets must name at least one partition")
    return ToOffsets(offsets)


def _partition(topic: str, number: object) -> Partition:
    if not _NUMBER.fullmatch(str(number)) or int(str(number)) > INT_MAX:
        raise ValueError(f"{str(number)!r:.60} is not the number of a partition of {topic}")
    return topic, int(str(number))


def _offset(value: object, what: str, *, least: int) -> int:
    if type(value) is not int or not least <= value <= LONG_MAX:
        also = " (-2 is the earliest and -1 the latest one)" if least < 0 else ""
        raise ValueError(f"{what} is {value!r:.60}, and not a whole number from {least} on{also}")
    return value
