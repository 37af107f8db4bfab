"""JSON that anybody may have written, parsed within a bound: a megabyte of brackets takes forty megabytes once parsed.

What has a long list of small objects (a manifest, a plan) is parsed one object after the other.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from airflow_provider_ckpt.untrusted.limits import MIB

Item = TypeVar("Item")

#: Memory that one document may take once it is parsed, bytes.
MOST_MEMORY = 128 * MIB
#: Deeper JSON is refused: some Pythons read thousands of levels, at which what goes down into them later fails.
MOST_DEPTH = 200
#: Memory that all values beside the long list may take, bytes.
_MOST_BESIDE = 64 * MIB
_TOO_DEEP = "the JSON is nested too deep"
_WINDOW = MIB
_DECODER = json.JSONDecoder()
#: At least what Python takes for each: a list, a dict, an element, a key with its slot.
_LIST, _DICT, _ELEMENT, _KEY = 88, 232, 72, 200
#: What an item of a list takes beside its text.
_ITEM = 350
#: Strings up to this length count as if they held values.
_LONG = 256
#: A string, or the rest of the text where one has no end. Never steps back, whatever the text is.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_STRING_BYTES = re.compile(_STRING.pattern.encode(), re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*+")


def parse_json(data: bytes | str, most: int = MOST_MEMORY, *, keys_once: bool = False) -> Any:
    """The value of a JSON text. Raises ValueError, also for one that takes more memory than ``most`` bytes.

    Args:
        data: The text.
        most: Bytes.
        keys_once: Refuse an object that has a key twice, of which Python takes the last one.
    """
    require_bounded(data, most)
    try:
        value = json.loads(data, object_pairs_hook=_keys_once if keys_once else None)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _require_shallow(value, data)
    return value


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def require_bounded(data: bytes | str, most: int = MOST_MEMORY) -> None:
    """Raise ValueError for a JSON text that would take more memory than ``most`` bytes once it is parsed."""
    _require_memory(_memory_of(data), most)


def parse_with_list(
    data: bytes, key: str, item: Callable[[Any], Item], before: Callable[[Mapping[str, Any]], None] = lambda _: None
) -> tuple[dict[str, Any], list[Item]]:
    """Parse a JSON object of which one value is a list that may be long.

    Args:
        data: The text.
        key: Key of the long list.
        item: Function for each of its values, as soon as it is read.
        before: Called with the values that are before the list; what it raises ends the reading.

    Returns:
        The other values by key, and what was made of the list.

    Raises:
        ValueError: It is no such object, or takes more memory than MOST_MEMORY. Also what ``item`` raises.
    """
    try:
        return _parse_with_list(_Reader(data), key, item, before)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _parse_with_list(
    reader: _Reader, key: str, item: Callable[[Any], Item], before: Callable[[Mapping[str, Any]], None]
) -> tuple[dict[str, Any], list[Item]]:
    fields: dict[str, Any] = {}
    items: list[Item] | None = None
    beside = 0

    def add_field() -> None:
        nonlocal items, beside
        name, _ = reader.value()
        reader.expect(":")
        if name != key:
            fields[name], text = reader.value()
            beside += _memory_of(text) + _KEY
            _require_memory(beside, _MOST_BESIDE)
        elif items is None:
            before(fields)
            items = _items(reader, item)
        else:
            raise ValueError(f"{key!r} is given twice")

    reader.each("{", "}", add_field)
    reader.expect("")
    if items is None:
        raise ValueError(f"it does not have the key {key!r}")
    return fields, items


def _items(reader: _Reader, item: Callable[[Any], Item]) -> list[Item]:
    items: list[Item] = []
    held = 0

    def add_item() -> None:
        nonlocal held
        value, text = reader.value()
        items.append(item(value))
        held += _ITEM + len(text) * (1 if text.isascii() else 4)
        _require_memory(held, MOST_MEMORY)

    reader.each("[", "]", add_item)
    return items


class _Reader:
    """Reads JSON a value at a time; of the text a window is held, which grows to the size of a value."""

    def __init__(self, data: bytes) -> None:
        self._data, self._next = data, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at = "", 0

    def each(self, opening: str, closing: str, read: Callable[[], None]) -> None:
        """Read what is between two brackets, parted by commas."""
        self.expect(opening)
        if self._peek() == closing:
            self._at += 1
            return
        read()
        while self._peek() == ",":
            self._at += 1
            read()
        self.expect(closing)

    def expect(self, wanted: str) -> None:
        """Read one character, or with an empty text the end. Raises ValueError for another one."""
        if (found := self._peek()) != wanted:
            raise ValueError(f"it has {found!r} where {wanted!r} is expected")
        self._at += 1

    def value(self) -> tuple[Any, str]:
        """The next value, and its text. Raises ValueError."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more():
                    raise
                continue
            if end == len(self._text) and self._more():  # a number may go on
                continue
            text, self._at = self._text[self._at : end], end
            _require_shallow(value, text)
            return value, text

    def _peek(self) -> str:
        while True:
            if space := _SPACE.match(self._text, self._at):
                self._at = space.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _more(self) -> bool:
        """Take in more of the text; false at its end. Raises ValueError when a value is too large."""
        if self._next >= len(self._data):
            return False
        self._text, self._at = self._text[self._at :], 0
        if len(self._text) >= _WINDOW:
            _require_memory(_memory_of(self._text), _MOST_BESIDE)
        piece = self._data[self._next : self._next + max(_WINDOW, len(self._text))]
        self._next += len(piece)
        self._text += self._decoder.decode(piece, self._next >= len(self._data))
        return True


def _memory_of(text: bytes | str) -> int:
    """At most so many bytes are taken by a JSON text and its values."""
    most = len(text) * (2 if text.isascii() else 5) + _counted(text, 0, len(text))
    if most <= _WINDOW:
        return most
    # what a long string holds, such as the text of a whole file, is no value
    strings = _STRING.finditer(text) if isinstance(text, str) else _STRING_BYTES.finditer(text)
    return most - sum(_counted(text, *found.span()) for found in strings if found.end() - found.start() > _LONG)


def _counted(text: bytes | str, start: int, end: int) -> int:
    comma, colon, bracket, brace = (b",", b":", b"[", b"{") if isinstance(text, bytes) else (",", ":", "[", "{")
    values = text.count(comma, start, end) * _ELEMENT + text.count(colon, start, end) * _KEY  # type: ignore[arg-type]  # of the same kind as text
    return values + text.count(bracket, start, end) * _LIST + text.count(brace, start, end) * _DICT  # type: ignore[arg-type]  # of the same kind as text


def _require_shallow(value: Any, text: bytes | str) -> None:
    """Raise ValueError for a value of more than MOST_DEPTH levels; the text tells at once that most have fewer."""
    opened = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if opened <= MOST_DEPTH:
        return
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        if depth > MOST_DEPTH:
            raise ValueError(_TOO_DEEP)
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]


def _require_memory(needed: int, most: int) -> None:
    if needed > most:
        raise ValueError(f"it would take more than {most // MIB} MiB of memory")
