"""Rows as Arrow record batches, with the very schema that Spark derives from the columns' types.

PyArrow comes with Spark's Python workers; nothing but Spark's faces loads this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from airflow_provider_ckpt.batches.columns import (
    BIGINT,
    BOOLEAN,
    CONFS,
    FINDINGS,
    INT,
    PARTITIONS,
    STRING,
    TEXTS,
    TIMESTAMP,
    Column,
)
from airflow_provider_ckpt.codec.jvm_text import LONG_MAX, LONG_MIN
from airflow_provider_ckpt.times import FIRST_MS, LAST_MS

#: A record batch holds at most so many rows, and about so many bytes of offsets and positions. While one is sent, the
#: rows of the next are held: larger ones save nothing.
BATCH_ROWS = 1_000
BATCH_BYTES = 16 << 20
_POSITION_BYTES = 64


def _struct_list(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", pa.struct([pa.field(name, kind) for name, kind in fields.items()])))


ARROW_TYPES: Mapping[str, pa.DataType] = {
    STRING: pa.string(),
    BOOLEAN: pa.bool_(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    CONFS: pa.map_(pa.string(), pa.field("value", pa.string())),
    PARTITIONS: _struct_list(partition=pa.string(), start=pa.int64(), end=pa.int64(), advanced=pa.int64()),
    FINDINGS: _struct_list(
        code=pa.string(),
        severity=pa.string(),
        batch_id=pa.int64(),
        name=pa.string(),
        message=pa.string(),
        hint=pa.string(),
    ),
    TEXTS: pa.list_(pa.field("element", pa.string())),
}


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The schema of record batches with these columns."""
    return pa.schema([pa.field(column.name, ARROW_TYPES[column.type]) for column in columns])


def record_batch(rows: Sequence[Any], columns: Sequence[Column]) -> pa.RecordBatch:
    """Rows as one record batch. A time that no calendar reaches is null."""
    arrays = [_ARRAYS[column.type]([column.value(row) for row in rows]) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(columns))


def record_batches(rows: Iterable[Any], columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """Rows as record batches of at most BATCH_ROWS rows and about BATCH_BYTES; lazily."""
    held: list[Any] = []
    held_bytes = 0
    for row in rows:
        held.append(row)
        held_bytes += _bytes_of(row)
        if len(held) == BATCH_ROWS or held_bytes > BATCH_BYTES:
            yield record_batch(held, columns)
            held, held_bytes = [], 0
    if held:
        yield record_batch(held, columns)


def _bytes_of(row: Any) -> int:
    """About how many bytes of offsets and positions a row holds."""
    source = getattr(row, "source", None)
    if source is None:
        return 0
    return len(source.start_offset or "") + len(source.end_offset or "") + _POSITION_BYTES * len(source.partitions)


def _texts(values: Iterable[str | None]) -> pa.Array:
    values = list(values)
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell and UTF-8 cannot
        valid = [None if value is None else value.encode("utf-8", "replace").decode() for value in values]
        return pa.array(valid, pa.string())


def _times(values: Iterable[int | None]) -> pa.Array:
    micros = [None if value is None or not FIRST_MS <= value <= LAST_MS else value * 1000 for value in values]
    return pa.array(micros, ARROW_TYPES[TIMESTAMP])


def _longs(values: Iterable[int | None]) -> pa.Array:
    return pa.array([value if value is None or LONG_MIN <= value <= LONG_MAX else None for value in values], pa.int64())


def _offsets(values: Sequence[Sequence[Any] | Mapping[str, Any] | None]) -> pa.Array:
    """Where each list begins among the items of all of them; null where there is none."""
    ends = list(accumulate((len(value or ()) for value in values), initial=0))
    return pa.array(
        [None if value is None else start for value, start in zip(values, ends, strict=False)] + ends[-1:], pa.int32()
    )


def _confs(values: Sequence[Mapping[str, str | None] | None]) -> pa.Array:
    keys = _texts(chain.from_iterable(value or () for value in values))
    items = _texts(chain.from_iterable((value or {}).values() for value in values))
    return pa.MapArray.from_arrays(_offsets(values), keys, items, type=ARROW_TYPES[CONFS])


def _lists_of_texts(values: Sequence[Sequence[str] | None]) -> pa.Array:
    items = _texts(chain.from_iterable(value or () for value in values))
    return pa.ListArray.from_arrays(_offsets(values), items, type=ARROW_TYPES[TEXTS])


def _lists_of_structs(type_name: str) -> Callable[[Sequence[Sequence[tuple[Any, ...]]]], pa.Array]:
    kind = ARROW_TYPES[type_name]
    fields = list(kind.value_type)

    def arrays(values: Sequence[Sequence[tuple[Any, ...]]]) -> pa.Array:
        columns = list(zip(*chain.from_iterable(values), strict=True)) or [()] * len(fields)
        of_field: dict[pa.DataType, Callable[[Any], pa.Array]] = {pa.string(): _texts, pa.int64(): _longs}
        children = [of_field[field.type](column) for field, column in zip(fields, columns, strict=True)]
        return pa.ListArray.from_arrays(
            _offsets(values), pa.StructArray.from_arrays(children, fields=fields), type=kind
        )

    return arrays


_ARRAYS: Mapping[str, Callable[[Any], pa.Array]] = {
    STRING: _texts,
    BOOLEAN: lambda values: pa.array(values, pa.bool_()),
    INT: lambda values: pa.array(values, pa.int32()),
    BIGINT: _longs,
    TIMESTAMP: _times,
    CONFS: _confs,
    PARTITIONS: _lists_of_structs(PARTITIONS),
    FINDINGS: _lists_of_structs(FINDINGS),
    TEXTS: _lists_of_texts,
}
