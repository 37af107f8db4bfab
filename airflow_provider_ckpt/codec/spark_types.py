"""Spark's data types as its JSON spells them (``DataType.fromJson``), to tell what no Spark reads.

Measured on Spark 4.3, which reads what earlier versions wrote.
"""

from __future__ import annotations

import re
from typing import Any

from airflow_provider_ckpt.codec.jvm_text import write_json

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
    """The first part of a data type, as read from JSON, that is none of Spark's, in JSON; None when all are."""
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
