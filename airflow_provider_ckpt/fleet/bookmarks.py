"""Matches queries of a fleet to bookmarks to go back to. A match that is not sure is refused, and never left out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.restart.bookmark import Bookmark, read_bookmark

#: What may be said of a query beside its checkpoint: arguments of a rollback, by name.
SAID = ("to_before_deploy", "backup_root", "sink", "sources", "trigger", "trim_sink_log")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refused part of a fleet, and the reason.

    Args:
        what: A checkpoint, or the place of a bookmark.
        reason: A sentence for people.
    """

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeptBookmark:
    """Content of a place where a bookmark is kept.

    Args:
        origin: The place: a file, or the task of a gate.
        bookmark: None when there is none.
        problem: Why there is none.
    """

    origin: str
    bookmark: Bookmark | None
    problem: str = ""

    @classmethod
    def of(cls, origin: str, given: Any) -> KeptBookmark:
        """A bookmark as a gate has left it, or the reason why it is none."""
        try:
            return cls(origin, read_bookmark(given))
        except CheckpointError as error:
            return cls(origin, None, sentence_of(error))


@dataclass(frozen=True, slots=True)
class Matched:
    """The queries of a fleet that can be planned.

    Args:
        queries: Arguments of a rollback for each: ``checkpoint``, ``to_before_deploy``, and what was said of it; or of
            an undo, ``checkpoint`` and ``undoes``.
        refused: Queries that cannot be planned.
        left_out: How many bookmarks are of queries that were not asked for.
    """

    queries: tuple[dict[str, Any], ...]
    refused: tuple[Refusal, ...]
    left_out: int = 0


def sentence_of(error: CheckpointError) -> str:
    """An error without its location, for a line that begins with that."""
    end = "" if error.message.endswith((".", "!", "?")) else "."
    name = f"{error.name}: " if error.name else ""
    return f"{name}{error.message}{end} {error.hint or ''}".strip()


def match_bookmarks(
    kept: Iterable[KeptBookmark],
    asked: Sequence[str | Mapping[str, Any]] | None,
    place_of: Callable[[str], Hashable],
) -> Matched:
    """Find the one bookmark of each query.

    Args:
        kept: The bookmarks of the deploy.
        asked: The queries that go back: each a location, or a mapping with ``checkpoint`` and what is said of it
            (``SAID``). Nothing is every query that has a bookmark.
        place_of: Tells checkpoints apart, however their locations are spelled; raises CheckpointError.

    Raises:
        CheckpointError: The request makes no sense.
    """
    matching = _Matching(place_of)
    for item in kept:
        matching.add(item)
    wanted = [_wanted(item) for item in asked or ()]
    return matching.of(wanted) if wanted else matching.all()


def _wanted(item: Any) -> dict[str, Any]:
    """Parse the goal of one query. Raises CheckpointError."""
    query = {"checkpoint": item} if isinstance(item, str) else item
    if not isinstance(query, Mapping) or not isinstance(query.get("checkpoint"), str) or not query["checkpoint"]:
        raise CheckpointError(f"a query is a location, or a mapping with its checkpoint, not {item!r:.60}")
    if strange := sorted(map(str, query.keys() - {"checkpoint", *SAID})):
        raise CheckpointError(
            f"a query has the keys checkpoint, {', '.join(SAID)}, and not {strange[0]!r:.60}",
            location=query["checkpoint"],
        )
    return {key: value for key, value in query.items() if value is not None}


class _Matching:
    """The bookmarks by the place of their checkpoint."""

    def __init__(self, place_of: Callable[[str], Hashable]) -> None:
        self._place_of = place_of
        self._kept: dict[Hashable, list[tuple[KeptBookmark, Bookmark]]] = {}
        self._refused: list[Refusal] = []

    def add(self, item: KeptBookmark) -> None:
        """Remember a bookmark, or refuse it."""
        if item.bookmark is None:
            self._refuse(item.origin, item.problem)
        elif item.bookmark.location is None:
            self._refuse(
                item.origin,
                "An earlier version of ckpt took the bookmark, which does not say where its checkpoint is. Give it "
                "with its checkpoint: queries, to_before_deploy.",
            )
        else:
            place = self._place(item.bookmark.location, item.origin)
            if place is not None:
                self._kept.setdefault(place, []).append((item, item.bookmark))

    def all(self) -> Matched:
        """Every query that has a bookmark."""
        found = {place: self._query({"checkpoint": kept[0][1].location}, kept) for place, kept in self._kept.items()}
        return self._matched(found)

    def of(self, wanted: Iterable[dict[str, Any]]) -> Matched:
        """The queries that are asked for."""
        by_place: dict[Hashable, list[dict[str, Any]]] = {}
        for query in wanted:
            place = self._place(query["checkpoint"], query["checkpoint"])
            if place is not None:
                by_place.setdefault(place, []).append(query)
        found = {place: self._asked(queries, self._kept.get(place, [])) for place, queries in by_place.items()}
        left_out = sum(len(kept) for place, kept in self._kept.items() if place not in by_place)
        return self._matched(found, left_out)

    def _asked(
        self, queries: Sequence[dict[str, Any]], kept: Sequence[tuple[KeptBookmark, Bookmark]]
    ) -> dict[str, Any] | None:
        first, *others = queries
        said = {key: value for key, value in first.items() if key != "checkpoint"}
        if any({key: value for key, value in other.items() if key != "checkpoint"} != said for other in others):
            names = listed_shortly([query["checkpoint"] for query in queries])
            self._refuse(first["checkpoint"], f"The query is asked for twice, with other arguments: {names}.")
            return None
        if "to_before_deploy" not in first:
            return self._query(first, kept)
        own = KeptBookmark.of(first["checkpoint"], first["to_before_deploy"])
        if own.bookmark is None:
            self._refuse(own.origin, own.problem)
            return None
        return first

    def _query(self, query: dict[str, Any], kept: Sequence[tuple[KeptBookmark, Bookmark]]) -> dict[str, Any] | None:
        """The arguments of one rollback; None when there is not one bookmark for it."""
        if not kept:
            self._refuse(query["checkpoint"], "It has no bookmark. Give the one that its gate took before the deploy.")
            return None
        if len({_position(bookmark) for _, bookmark in kept}) > 1:
            origins = listed_shortly([item.origin for item, _ in kept])
            self._refuse(
                query["checkpoint"],
                f"There is more than one bookmark of it, and they differ: {origins}. Keep the one of this deploy.",
            )
            return None
        return {**query, "to_before_deploy": kept[0][1].to_dict()}

    def _matched(self, found: Mapping[Hashable, dict[str, Any] | None], left_out: int = 0) -> Matched:
        """Without two checkpoints of one query: the same one by other names that cannot be told apart, or a copy."""
        queries = [query for query in found.values() if query is not None]
        by_id: dict[str, list[str]] = {}
        for query in queries:
            if query_id := read_bookmark(query["to_before_deploy"]).query_id:
                by_id.setdefault(query_id, []).append(query["checkpoint"])
        twice = {name: query_id for query_id, names in by_id.items() if len(names) > 1 for name in names}
        for name, query_id in twice.items():
            self._refuse(
                name,
                f"{len(by_id[query_id])} of the checkpoints are of query {query_id}: one under several names, or "
                f"copies ({listed_shortly(by_id[query_id])}). Ask for one of them, or roll each back by itself.",
            )
        kept = tuple(query for query in queries if query["checkpoint"] not in twice)
        return Matched(kept, tuple(self._refused), left_out)

    def _place(self, location: str, what: str) -> Hashable | None:
        try:
            return self._place_of(location)
        except CheckpointError as error:
            self._refuse(what, sentence_of(error))
            return None

    def _refuse(self, what: str, reason: str) -> None:
        self._refused.append(Refusal(what, reason))


def _position(bookmark: Bookmark) -> tuple[object, ...]:
    """Key that is equal for two equal bookmarks of one checkpoint."""
    return bookmark.query_id, bookmark.batch_id, bookmark.batch_timestamp_ms, tuple(sorted(bookmark.offsets.items()))
