"""JSON documents of dataclasses: a key for each field that says what it means, in the order of the fields.

Such a field is written ``size: Annotated[int, "bytes"]``, and so is what a property returns. ``docs/json.md`` is made
from the same annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar

from airflow_provider_ckpt.documents import FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class DocumentOf:
    """The dataclass of a document, beside its type: ``Annotated[dict[str, Any], DocumentOf("sources.lag", "Lag")]``.

    This room is below those of the dataclasses and cannot import them.

    Args:
        module: Module of the class, below the package.
        name: Name of the class.
    """

    module: str
    name: str


class Documented:
    """A dataclass that has a document.

    Attributes:
        last_keys: Keys that come behind all others, in this order.
    """

    __slots__ = ()
    last_keys: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document, JSON-ready."""
        return as_document(self)


class Versioned(Documented):
    """A dataclass that has a document with a version."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The document, JSON-ready."""
        return {"format_version": FORMAT_VERSION, **as_document(self)}


def as_document(value: Any) -> dict[str, Any]:
    """The document of an instance of a dataclass: first its fields, then its properties."""
    kind: Any = type(value)  # typeshed takes no class for hashable
    return {key: _json(getattr(value, key)) for key in keys_of(kind)}


@cache
def keys_of(kind: Any) -> tuple[str, ...]:
    """The keys of the document of a dataclass."""
    types = {field.name: field.type for field in fields(kind)}
    for name, held in vars(kind).items():
        if isinstance(held, property) and held.fget is not None:
            types[name] = held.fget.__annotations__.get("return")
    names = (name for name, text in types.items() if str(text).startswith("Annotated["))
    last: tuple[str, ...] = kind.last_keys
    return tuple(sorted(names, key=lambda name: last.index(name) if name in last else -1))


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value
