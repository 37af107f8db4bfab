"""The sources of a query, as its user declares them: the one grammar, ``TYPE[:PLACE]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.untrusted.secrets import scrub

#: More sources than any query has.
MOST_SOURCES = 10_000
_WILD = frozenset("*?[{")


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a query.

    Args:
        id: Its name (source evolution), or its position as a text: ``"0"`` is the first; None when nobody has said.
        type: Its type as the codec spells it, such as ``kafka``; None when it is not known.
        place: The place it reads from, as declared: ``broker:9092/orders``, ``s3://lake/orders``; empty when that is
            not declared.
    """

    id: str | None
    type: str | None = None
    place: str = ""

    @property
    def text(self) -> str:
        """The declaration, which :func:`parse_source` reads again; empty for a type that is not known."""
        return f"{self.type or ''}:{self.place}" if self.place else self.type or ""

    @property
    def is_asked(self) -> bool:
        """True if the end of its data can be asked for; a Kafka client may know the brokers itself."""
        return self.type == "kafka" or (self.type in KINDS.answering("end") and bool(self.place))

    @property
    def is_stored(self) -> bool:
        """True if it reads a table or a directory, and is declared with that."""
        return self.type in KINDS.answering("judge") and bool(self.place)

    @property
    def is_endless(self) -> bool:
        """True if its type has no end that can be asked for."""
        return self.type is not None and self.type not in KINDS.answering("end")

    @property
    def location(self) -> str:
        """Bootstrap servers; table, for Iceberg also its metadata file; directory, with or without a pattern."""
        if self.type == "kafka":
            return self.place.removeprefix("//").partition("/")[0]
        return f"file:{self.place}" if self.place.startswith("//") else self.place

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of Kafka; none means those that the query has read from."""
        listed = self.place.removeprefix("//").partition("/")[2] if self.type == "kafka" else ""
        return tuple(topic for topic in listed.split(",") if topic)

    @property
    def directory(self) -> str:
        """Directory to open: the location up to the first part that is a pattern or a metadata file."""
        if self.metadata_file:
            return self.location.rpartition("/")[0]
        if not self.pattern:
            return self.location
        return self.location[: -len(self.pattern)].rstrip("/") or "/"

    @property
    def pattern(self) -> str:
        """The rest of the location from the first part with a wildcard on; empty without one."""
        parts = self.location.split("/") if self.type == "file" else []
        first = next((at for at, part in enumerate(parts) if _WILD & set(part)), len(parts))
        return "/".join(parts[first:])

    @property
    def metadata_file(self) -> str:
        """Name of the Iceberg metadata file that was declared, or empty."""
        is_file = self.type == "iceberg" and self.place.endswith(".json")
        return self.place.rpartition("/")[2] if is_file else ""


def parse_source(text: str, source_id: str | None = None) -> Source:
    """Read ``TYPE[:PLACE]``, with the type in any case; an empty text is a type that is not known.

    ``kafka:host:9092,host2:9092/topic,topic2`` (servers and topics may be left out), ``delta:s3://lake/orders``,
    ``iceberg:s3://lake/db/orders`` (or the URI of a metadata file), ``file:/data/in``, ``file:/data/in/*.json``, and
    ``file:/data/in/**`` for a source with ``recursiveFileLookup``.

    Raises:
        ValueError: The type is not known.
    """
    kind, _, place = text.partition(":")
    kind = KINDS.spelled(kind)
    if kind and kind not in KINDS:
        raise ValueError(
            f"unknown source type {kind!r}; the known types are {', '.join(sorted(KINDS))}; leave the type empty for "
            "any other"
        )
    return Source(source_id, kind or None, place)


def parse_asked(text: str, source_id: str | None = None) -> Source:
    """Read the declaration of a source that can be asked where its data ends.

    Raises:
        StoreError: It is none: of another type, or without the place of a table or a directory.
    """
    source = _parsed(text, source_id)
    require_asked(source)
    return source


def require_asked(source: Source) -> None:
    """Raise StoreError for a source that cannot be asked where its data ends."""
    if not source.is_asked:
        raise _not_asked(source.text)


def _not_asked(text: str) -> StoreError:
    return StoreError(
        f"{scrub(text)!r} is not a source",
        hint=f"Declare a source as TYPE:URI with one of {', '.join(KINDS.answering('end'))}; for example "
        "delta:s3://lake/orders, or kafka:broker:9092/orders.",
    )


def parse_item(text: str) -> Source:
    """Read ``ID=TYPE[:PLACE]``, as options take it: ``0=kafka:broker:9092/orders``; ``0=`` is a type that is not known.

    Raises:
        ValueError: It is none, or the type is not known.
    """
    source_id, equals, declared = (part.strip() for part in text.partition("="))
    if not equals or not source_id:
        raise ValueError(f"{text!r:.60} is not ID=TYPE[:PLACE], such as 0=kafka:broker:9092/orders")
    try:
        return parse_source(declared, source_id)
    except ValueError as error:
        raise ValueError(f"source {source_id}: {error}") from None


def unit_of(source_type: str) -> str | None:
    """Unit of a source type, such as ``records``; None if it has none."""
    return KINDS[source_type].unit


def types_said(declared: Mapping[str, str]) -> dict[str, str]:
    """The types in declarations by id, as they are spelled here; one that is not known stays, and may be a template."""
    return {source_id: KINDS.spelled(text.partition(":")[0]) for source_id, text in declared.items()}


def known_types(sources: Mapping[str, Source]) -> dict[str, str]:
    """The types of sources by id, of those that have one."""
    return {source_id: source.type for source_id, source in sources.items() if source.type is not None}


def parse_by_id(declared: Mapping[str, str]) -> dict[str, Source]:
    """The sources of a query by id.

    Raises:
        StoreError: A type is not known.
    """
    return {source_id: _parsed(text, source_id) for source_id, text in declared.items()}


def _parsed(text: str, source_id: str | None) -> Source:
    try:
        return parse_source(text, source_id)
    except ValueError:
        raise _not_asked(text) from None


def count_of_sources(count: int) -> tuple[Source, ...]:
    """This many sources, of which nothing else is known."""
    return (Source(None),) * count


def parse_sources(sources: Any) -> tuple[Source, ...]:
    """The sources of a query: their number, a list of declarations in order, or a mapping from name to declaration.

    Raises:
        ValueError: It is none of these, or a type is not known.
    """
    if isinstance(sources, int) and not isinstance(sources, bool) and 0 < sources <= MOST_SOURCES:
        return count_of_sources(sources)
    if isinstance(sources, tuple) and sources and all(isinstance(source, Source) for source in sources):
        return sources
    if isinstance(sources, list) and sources:
        return tuple(parse_source(str(text or ""), str(position)) for position, text in enumerate(sources))
    if isinstance(sources, Mapping) and sources:
        return tuple(parse_source(str(text or ""), str(name)) for name, text in sources.items())
    raise ValueError(f"sources must be a number, a list of types, or a mapping from name to type, not {sources!r}")
