"""Values that encode to the very bytes they came from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A value read from a file. It remembers the bytes; ``dataclasses.replace`` makes a new value without them."""

    _data: bytes | None = field(init=False, default=None, compare=False, repr=False)

    def encode(self) -> bytes:
        """The bytes it was decoded from, or for a new value those that Spark would write."""
        return self._serialise() if self._data is None else self._data

    @abstractmethod
    def _serialise(self) -> bytes:
        """The bytes that Spark would write."""


Value = TypeVar("Value", bound=Verbatim)


def remember(value: Value, data: bytes) -> Value:
    """Tie a value that was just decoded to its bytes."""
    object.__setattr__(value, "_data", data)
    return value
