"""Names of queries, from where their checkpoints are: as short as they can be with each its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from airflow_provider_ckpt.checkpoint.flows import flow_of

#: What a directory is called because a checkpoint is in it, and that says nothing of the query; and its version.
_OF_NO_QUERY = re.compile(r"_?(checkpoints?|checkpoint_?location|chk|ckpts?|cps?)", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+", re.IGNORECASE)
#: More characters than a name is typed with.
MOST_CHARS = 100
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def names_of(locations: Sequence[str]) -> list[str]:
    """A name for each location, such as ``orders``; where several would be called so, with the directories above."""
    choices = [list(_choices(location)) for location in locations]
    chosen = [0] * len(choices)
    while True:
        names = [choice[at] for choice, at in zip(choices, chosen, strict=True)]
        counts = Counter(name.lower() for name in names)
        longer = [
            number
            for number, name in enumerate(names)
            if counts[name.lower()] > 1 and chosen[number] + 1 < len(choices[number])
        ]
        if not longer:
            return numbered(names)
        for number in longer:
            chosen[number] += 1


def _choices(location: str) -> Iterator[str]:
    """Names for a location, the shortest first."""
    parts = _parts(location)
    last = max((at for at, part in enumerate(parts) if not _VERSION.fullmatch(part)), default=len(parts) - 1)
    yield _joined(parts[last : last + 1])
    for first in range(last, -1, -1):
        if first < last or last + 1 < len(parts):
            yield _joined(parts[first:])


def _parts(location: str) -> list[str]:
    """The directories that say something of the query, the outermost first."""
    flow = flow_of(location)
    if flow is not None:
        return [*flow.parts, flow.name]
    parts = [part for part in location.rpartition("://")[2].split("/") if part]
    return [part for part in parts if not _OF_NO_QUERY.fullmatch(part)] or parts or ["query"]


def _joined(parts: Sequence[str]) -> str:
    return plain_name("_".join(parts))[-MOST_CHARS:].lstrip(".-") or "query"


def plain_name(text: str) -> str:
    """A text without what no name in a query file has; may be empty."""
    return _NOT_IN_A_NAME.sub("_", text).lstrip(".-")


def numbered(names: Sequence[str], others: Iterable[str] = ()) -> list[str]:
    """The names, with a number behind each that one before it has, or one of some others."""
    seen = Counter({name.lower() for name in others})
    taken, found = {*seen, *(name.lower() for name in names)}, list[str]()
    for name in names:
        seen[name.lower()] += 1
        number = seen[name.lower()]
        while number > 1 and f"{name}_{number}".lower() in taken:
            number += 1
        found.append(name if number == 1 else f"{name}_{number}")
        taken.add(found[-1].lower())
    return found
