"""Source offsets: JSON text that belongs to the source, and typed views for the sources whose text is known.

Two offsets are equal when their texts are equal. Anything more (order, distance) needs to know the source, and the
kind of a source is never guessed from the shape: Kafka and Event Hubs, say, write the same shape with other meaning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from airflow_provider_ckpt.codec.jvm_text import abbreviate
from airflow_provider_ckpt.codec.source_kinds import KINDS, unknown_kind
from airflow_provider_ckpt.codec.typed_offset import TypedOffset
from airflow_provider_ckpt.errors import MalformedEntryError


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source's position after a batch, as text. Any JSON is legal, and a bare number; Spark never reads it."""

    json: str

    def view(self, kind: str, name: str = "") -> TypedOffset:
        """Parse the text as the offset of a ``kind`` of source.

        Args:
            kind: One of KINDS.
            name: The log entry it is in, for the error.

        Raises:
            MalformedEntryError: The text is no offset of that kind, or the kind is unknown.
        """
        if kind not in KINDS:
            raise MalformedEntryError(unknown_kind(kind), name=name or None)
        known = KINDS[kind]
        problem = f"not an offset of the source type {kind}: {abbreviate(self.json)}"
        try:
            value = _DECODER.decode(self.json)
            if known.fits(value):
                return TypedOffset(known, value)
        except (json.JSONDecodeError, RecursionError) as error:  # the text itself says more than where the JSON ends
            raise MalformedEntryError(problem, name=name or None) from error
        except ValueError as error:
            raise MalformedEntryError(f"{problem} ({error})", name=name or None) from error
        raise MalformedEntryError(problem, name=name or None)

    def fits(self, kind: str) -> bool:
        """True if the text is an offset of a kind of source; it may be one of others as well."""
        try:
            self.view(kind)
        except MalformedEntryError:
            return False
        return True


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
