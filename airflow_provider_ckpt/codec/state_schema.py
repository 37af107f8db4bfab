"""The schema of state stores (Spark's ``SchemaHelper``, versions 1 to 3).

Versions 1 and 2 are one file a store, ``state/<op>/0/[store/]_metadata/schema``; version 3 (transformWithState, joins
from state format 3 on) one file a change of schema, ``state/<op>/_stateSchema/<store>/<batch>_<uuid>``, which holds
every column family. All are written by ``java.io.DataOutputStream``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.codec.jvm_text import write_json
from airflow_provider_ckpt.codec.versions import parse_version
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError

MAX_VERSION = 3
#: Of a schema there are 64 KiB in a chunk; Spark itself never writes more than a few.
_MOST_CHUNKS = 4096
#: What Spark stops with at a schema whose JSON it cannot read, and what is said of that here.
NO_TYPE, DATA_TYPE = "UNSUPPORTED_DATATYPE", "data type of Spark's"


@dataclass(frozen=True, slots=True)
class ColumnFamily:
    """Name and type of the columns of one column family; a type is Spark's JSON, such as ``long``, or ``struct``."""

    name: str
    key: tuple[tuple[str, str], ...]
    value: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StateSchema:
    """The schema file of a state store; ``data`` are its bytes."""

    version: int
    families: tuple[ColumnFamily, ...]
    data: bytes = field(repr=False, compare=False)

    def encode(self) -> bytes:
        """The bytes."""
        return self.data


def decode(data: bytes, name: str) -> StateSchema:
    """Read a schema file as Spark's ``SchemaReader`` does; what follows the schema is ignored, as there.

    Raises:
        IncompleteLogFileError: Empty.
        UnsupportedVersionError: A later version than 3.
        MalformedEntryError: Cut, or anything else.
    """
    if not data:
        raise IncompleteLogFileError("the state schema is empty", name=name)
    stream = _Stream(data, name)
    version = parse_version(stream.text(), MAX_VERSION, "state schema", name)
    if version < 3:
        read = stream.chunks if version == 2 else stream.text
        families = [ColumnFamily("default", _columns(read(), name), _columns(read(), name))]
    else:
        families = _families(stream, name)
    return StateSchema(version, tuple(families), data)


def _families(stream: _Stream, name: str) -> list[ColumnFamily]:
    """Since Spark 4.1 an id is before either schema; 4.0 writes none."""
    start = stream.at
    try:
        return _families_with(stream, name, ids=True)
    except MalformedEntryError as error:
        stream.at = start
        with suppress(MalformedEntryError):
            return _families_with(stream, name, ids=False)
        raise error


def _families_with(stream: _Stream, name: str, *, ids: bool) -> list[ColumnFamily]:
    families = []
    for _ in range(stream.count()):
        family = stream.text()
        columns = []
        for _ in ("key", "value"):
            if ids:
                stream.skip_short()
            columns.append(_columns(stream.chunks(), name))
        for _ in ("encoder of the key", "encoder of a user's key"):
            stream.chunks()
        families.append(ColumnFamily(family, columns[0], columns[1]))
    return families


def _columns(text: str, name: str) -> tuple[tuple[str, str], ...]:
    """Name and type of the columns; Spark stops at all that it cannot read with one error condition."""
    try:
        schema = jvm_text.read_json_object(text, name, "state schema")
    except MalformedEntryError as error:
        raise MalformedEntryError(error.message, name=name, spark_error=NO_TYPE) from error
    unknown = unknown_type(schema)
    if unknown is not None or schema["type"] != "struct":
        unknown = jvm_text.abbreviate(text if unknown is None else unknown)
        message = f"the state schema has {unknown}, which is not a {DATA_TYPE}"
        raise MalformedEntryError(message, name=name, spark_error=NO_TYPE)
    kinds = ((field["name"], field["type"]) for field in schema["fields"])
    return tuple((column, kind if isinstance(kind, str) else "struct") for column, kind in kinds)


class _Stream:
    """``java.io.DataInputStream`` over some bytes."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name, self.at = data, name, 0

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at : self.at + size]
        if len(taken) < size:
            raise MalformedEntryError("the state schema is cut off", name=self._name, spark_error="EOFException")
        self.at += size
        return taken

    def skip_short(self) -> None:
        """``readShort``."""
        self._take(2)

    def count(self) -> int:
        """A number of things that follow, by ``readInt``."""
        value = int.from_bytes(self._take(4), "big", signed=True)
        if not 0 <= value <= _MOST_CHUNKS:
            raise MalformedEntryError(
                f"the state schema says that {value} parts follow, which is too many", name=self._name
            )
        return value

    def text(self) -> str:
        """``readUTF``."""
        size = int.from_bytes(self._take(2), "big")
        return jvm_text.decode_utf8(self._take(size), self._name)

    def chunks(self) -> str:
        """A text that is cut into pieces of 64 KiB."""
        return "".join(self.text() for _ in range(self.count()))


# --- data types as Spark's JSON spells them (``DataType.fromJson``), measured on Spark 4.3 ----------------------------

_PLAIN = frozenset(
    {"null", "void", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary"}
    | {"date", "timestamp", "timestamp_ltz", "timestamp_ntz", "variant", "interval"}
)
_DAY_TIME, _YEAR_MONTH = ("day", "hour", "minute", "second"), ("year", "month")
_INTERVALS = frozenset(
    f"interval {first}" if first == last else f"interval {first} to {last}"
    for units in (_DAY_TIME, _YEAR_MONTH)
    for position, first in enumerate(units)
    for last in units[position:]
)
_WITH_PARAMETERS = re.compile(
    r"(?:var)?char\(\s*\d+\s*\)|string\s+collate\s+\w+|time\(\s*[0-9]\s*\)"
    r"|timestamp_ntz\(\s*[6-9]\s*\)|timestamp_ltz\(\s*[7-9]\s*\)"
    r"|geometry\(\s*\w+:-?\w+\s*\)|geography\(\s*\w+(?::-?\w+)?\s*(?:,\s*\w+\s*)?\)",
    re.ASCII,
)
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*\)", re.ASCII)
_MOST_DIGITS = 38


def unknown_type(data_type: Any) -> str | None:
    """The first part of a data type in JSON that Spark does not know, as JSON text; None when it knows all."""
    todo = [data_type]
    while todo:
        part = todo.pop()
        parts = _parts(part)
        if parts is None:
            return write_json(part)
        todo += reversed(parts)
    return None


def _parts(data_type: Any) -> list[Any] | None:
    """The data types within one; None when Spark does not read it."""
    if getattr(data_type, "repeated", None):
        return None
    match data_type:
        case str():
            return [] if _is_name(data_type) else None
        case {"type": "struct", "fields": list(fields), **rest} if not rest and all(map(_is_field, fields)):
            return [field["type"] for field in fields]
        case {"type": "array", "elementType": element, "containsNull": bool(), **rest} if not rest:
            return [element]
        case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": bool(), **rest} if not rest:
            return [key, value]
        case {"type": "udt", "sqlType": stored}:
            return [stored]
    return None


def _is_field(field: Any) -> bool:
    match field:
        case {"name": str(), "type": _, **rest}:
            known = rest.keys() <= {"nullable", "metadata"} and not getattr(field, "repeated", None)
            return known and isinstance(rest.get("nullable", True), bool) and isinstance(rest.get("metadata", {}), dict)
    return False


def _is_name(name: str) -> bool:
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        return int(decimal[2]) <= int(decimal[1]) <= _MOST_DIGITS
    return name in _PLAIN or name in _INTERVALS or _WITH_PARAMETERS.fullmatch(name) is not None
