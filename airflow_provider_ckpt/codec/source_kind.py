"""The contract that the offsets of one source type fulfil."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.codec.jvm_text import LONG_MAX, LONG_MIN

#: The position of each partition (topic partition, shard, …) of a source; tuples compare within one partition.
Positions = Mapping[str, tuple[int, ...]]
Question = Literal["end", "judge", "resolve_goal"]


@dataclass(frozen=True, slots=True)
class SourceKind:
    """One kind of source. Every function takes the parsed JSON of an offset that ``fits``.

    Args:
        name: The name that ``readStream.format`` takes.
        fits: Tells if any parsed JSON is an offset of the kind. It may raise ValueError, which says why not.
        positions: The position of each partition. One that cannot be read is left out, and has a scale.
        unit: The unit of the distance between two positions of a partition; None without one.
        identity: Offsets with another identity cannot be compared (Delta: the table id).
        ordered: False when positions have no order outside the source (Iceberg snapshot ids).
        in_first_snapshot: Tells if the source still reads what the table held when the query began (Delta); until it
            has, nothing of that counts as read.
        origin: The first position of every partition, when it is known; what the first batch read counts from there.
        marks: True if an entry of the offset log holds where its batch ``end``s or ``begin``s. In the latter case the
            entry after it says where the batch ended (Kinesis).
        span: The numbers between which a partition was read, from its earlier position and its later one; None for the
            first where the earlier position does not tell. Without a function they are the first of each position.
        scales: The scale of the positions of each partition, where a source mixes several (sequence numbers and
            timestamps); positions on different scales cannot be compared.
        pieces: The JSON of each partition, where an offset has several; None for one that cannot be taken apart.
        joined: An offset with other pieces, from an offset of the source and the pieces. None as for ``pieces``.
        ends_partitions: A partition that an offset lacks may have ended, and not only not have begun (shards).
        answers: Questions that ckpt can ask of such a source itself, by the modules of ``sources/`` that answer them:
            ``end`` (where its data ends), ``judge`` (what stops a restart, of a table or a directory), and
            ``resolve_goal`` (where it can be moved to). Of a kind that was registered, none.
        problem: Why nothing is known of the offsets, although the kind was registered; a sentence.
    """

    name: str
    fits: Callable[[Any], bool]
    positions: Callable[[Any], Positions]
    unit: str | None = None
    identity: Callable[[Any], str] = lambda value: ""
    ordered: bool = True
    in_first_snapshot: Callable[[Any], bool] = lambda value: False
    origin: int | None = None
    marks: Literal["end", "begin"] = "end"
    scales: Callable[[Any], Mapping[str, str]] = lambda value: {}
    span: Callable[[tuple[int, ...] | None, tuple[int, ...]], tuple[int | None, int]] | None = None
    pieces: Callable[[Any], Mapping[str, Any]] | None = None
    joined: Callable[[Any, Mapping[str, Any]], Any] | None = None
    ends_partitions: bool = False
    answers: tuple[Question, ...] = ()
    problem: str = ""


def is_long(value: Any) -> bool:
    """True if parsed JSON is a number in the range of Java's ``long``."""
    return type(value) is int and LONG_MIN <= value <= LONG_MAX


def has_longs(value: Any, *keys: str) -> bool:
    """True if parsed JSON is an object with such a number at each key."""
    return isinstance(value, dict) and all(is_long(value.get(key)) for key in keys)


def is_flag(value: Any, key: str) -> bool:
    """True if the object has true or false at a key, or lacks the key, which Java reads as false."""
    return type(value.get(key, False)) is bool
