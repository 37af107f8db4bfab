"""Text as the JVM reads and writes it: lines, integers and the JSON of json4s on Jackson.

Spark reads its logs with ``scala.io.Source.getLines``, ``String.toInt`` / ``toLong`` and json4s. Python's own
``splitlines``, ``int`` and ``json`` accept and refuse other texts; the functions here follow the JVM.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from airflow_provider_ckpt.errors import MalformedEntryError

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
INT_MIN, INT_MAX = -(2**31), 2**31 - 1

#: Deeper JSON than this is refused (Jackson stops at 1,000); Spark itself never nests deeper than 6.
MAX_JSON_DEPTH = 200
#: Jackson's limit on the length of a number.
MAX_NUMBER_CHARS = 1000

_INTEGER = re.compile(r"[+-]?\d+\Z")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')
_TRIM = "".join(map(chr, range(0x21)))


class RepeatedKeys(dict[str, Any]):
    """A JSON object in which at least one key is given twice; as in json4s the last value wins."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated = frozenset(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)


def decode_utf8(data: bytes, name: str) -> str:
    """Decode strictly, as Spark's readers do. Raises MalformedEntryError."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        raise MalformedEntryError(message, name=name, spark_error="MalformedInputException") from error


def lines_of(text: str) -> Iterator[str]:
    r"""Lines as ``java.io.BufferedReader.readLine`` gives them: ended by ``\n``, ``\r`` or ``\r\n`` alone."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def trim(text: str) -> str:
    """``java.lang.String.trim``: strip every character up to and including the space."""
    return text.strip(_TRIM)


def parse_long(text: str) -> int | None:
    """``java.lang.Long.parseLong``, or None where that throws: ``007``, ``+7``, ``٧`` are 7, ``1_0`` is nothing."""
    return _parse_integer(text, LONG_MIN, LONG_MAX)


def parse_int(text: str) -> int | None:
    """``java.lang.Integer.parseInt``, or None where that throws."""
    return _parse_integer(text, INT_MIN, INT_MAX)


def _parse_integer(text: str, low: int, high: int) -> int | None:
    # Java reads UTF-16 units, so a digit outside the basic plane is no digit to it.
    if len(text) > MAX_NUMBER_CHARS or not _INTEGER.match(text) or max(text) > "\uffff":
        return None
    value = int(text)
    return value if low <= value <= high else None


def abbreviate(text: str, limit: int = 60) -> str:
    """Quote a piece of foreign text for a message."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def read_json(text: str, name: str, what: str) -> Any:
    """Read the first JSON value of a text as Jackson does; what follows it is ignored, as json4s ignores it.

    Raises:
        MalformedEntryError: Not JSON, nested deeper than MAX_JSON_DEPTH, or a number longer than Jackson takes.
    """
    start = text.lstrip(" \t\r\n")
    try:
        if _is_too_deep(start):
            raise ValueError(f"nested deeper than {MAX_JSON_DEPTH} levels")
        value, end = _DECODER.raw_decode(start)
        if type(value) in (int, float) and start[end : end + 1].strip():
            raise json.JSONDecodeError("a number is followed by other characters", start, end)
    except (ValueError, RecursionError) as error:
        detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        message = f"the {what} is not JSON ({detail}): {abbreviate(text)}"
        raise MalformedEntryError(message, name=name, spark_error=_jackson_error(start, error)) from error
    return value


def _jackson_error(text: str, error: Exception) -> str:
    """Jackson's exception for a text that is no JSON: nothing at all, cut off, or wrong."""
    if not text:
        return "MismatchedInputException"
    if isinstance(error, json.JSONDecodeError):
        cut_off = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip())
        return "JsonEOFException" if cut_off else "JsonParseException"
    return "StreamConstraintsException"


def read_json_object(text: str, name: str, what: str) -> dict[str, Any]:
    """Like :func:`read_json`, and the value must be an object: nothing else has the fields that json4s needs."""
    value = read_json(text, name, what)
    if value is None:
        raise MalformedEntryError(f"the {what} is null", name=name, spark_error="NullPointerException")
    if not isinstance(value, dict):
        raise MalformedEntryError(f"the {what} is not a JSON object: {abbreviate(text)}", name=name)
    return value


def read_json_defaults(text: str, name: str, what: str) -> dict[str, Any] | None:
    """Like :func:`read_json`, for a class whose fields all have defaults: json4s takes anything but an object for an
    empty one. None for null.
    """
    value = read_json(text, name, what)
    return value if value is None or isinstance(value, dict) else {}


def _is_too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_JSON_DEPTH:
        return False
    depth = 0
    for match in _BRACKET.finditer(text):
        token = match.group()
        depth += 1 if token in "[{" else -1 if token in "]}" else 0
        if depth > MAX_JSON_DEPTH:
            return True
    return False


def _number(text: str) -> int:
    if len(text) > MAX_NUMBER_CHARS:
        raise ValueError("a number of more than 1,000 digits")
    return int(text)


def _no_constant(text: str) -> None:
    raise json.JSONDecodeError(f"{text} is not JSON", text, 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else RepeatedKeys(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_number, parse_constant=_no_constant)


class Fields:
    """The fields of one JSON object, extracted as json4s fills a case class; every failure names the field."""

    def __init__(self, fields: Mapping[str, Any], name: str, what: str) -> None:
        self._fields, self._name, self._what = fields, name, what
        self._repeated: frozenset[str] = getattr(fields, "repeated", frozenset())

    def _get(self, key: str) -> Any:
        if key in self._repeated:
            raise self.error(key, "is given twice")
        return self._fields.get(key)

    def has(self, key: str) -> bool:
        """True if the field exists and is not null."""
        return self._get(key) is not None

    def is_null(self, key: str) -> bool:
        """True if the field exists and is null."""
        return key in self._fields and self._get(key) is None

    def is_empty_list(self, key: str) -> bool:
        """True if the field is ``[]``, which json4s takes for an empty map."""
        return bool(self._get(key) == [])

    def error(self, key: str, problem: str) -> MalformedEntryError:
        """The error for a field that cannot be used."""
        return MalformedEntryError(f"{key!r} in the {self._what} {problem}", name=self._name)

    def long(self, key: str, default: int | None = None) -> int:
        """A 64 bit number. A missing or null field gives the default, a fraction is cut off, an overflow wraps."""
        value = self._get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"is not a number but {abbreviate(str(value))}")
        return _to_long(value)

    def text(self, key: str) -> str:
        """A string; numbers are taken by their spelling, a missing field is an error."""
        value = as_text(self._get(key))
        if value is None:
            raise self.error(key, f"is not a text but {abbreviate(str(self._fields.get(key)))}")
        return value

    def flag(self, key: str) -> bool:
        """A boolean."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self.error(key, f"is neither true nor false but {abbreviate(str(value))}")
        return value

    def object(self, key: str) -> dict[str, Any]:
        """A nested object; a missing or null field is an empty one."""
        value = self._get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(key, f"is not an object but {abbreviate(str(value))}")
        return value

    def array(self, key: str) -> list[Any]:
        """A nested array; a missing or null field is an empty one."""
        value = self._get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, f"is not an array but {abbreviate(str(value))}")
        return value


def as_text(value: Any) -> str | None:
    """A JSON scalar as json4s turns it into a ``String``; None for null and for what it refuses."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    return _double_text(value) if isinstance(value, float) else None


def _to_long(value: float) -> int:
    if isinstance(value, int):
        return (value + 2**63) % 2**64 - 2**63
    if math.isinf(value):
        return LONG_MAX if value > 0 else LONG_MIN
    return max(LONG_MIN, min(LONG_MAX, int(value)))


def _double_text(value: float) -> str:
    """``java.lang.Double.toString``: plain from 10^-3 up to 10^7, else one digit before the point and an exponent."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return repr(value)
    number = Decimal(repr(value)).normalize()
    if 1e-3 <= abs(value) < 1e7:
        plain = f"{number:f}"
        return plain if "." in plain else plain + ".0"
    sign, digits, _ = number.as_tuple()
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{number.adjusted()}"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


def write_json(value: Any) -> str:
    """JSON as json4s on Jackson writes it: no spaces, non-ASCII as it is, control characters in upper-case hex."""
    if isinstance(value, str):
        return '"' + _ESCAPED.sub(lambda match: _escape(match.group()), value) + '"'
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{write_json(key)}:{write_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Iterable):
        return "[" + ",".join(map(write_json, value)) + "]"
    return json.dumps(value)


def _escape(character: str) -> str:
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"


def encode_utf8(text: str) -> bytes:
    """``String.getBytes(UTF_8)``: half a surrogate pair becomes ``?``."""
    return text.encode("utf-8", errors="replace")
