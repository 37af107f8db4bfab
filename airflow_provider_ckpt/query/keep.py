"""Which backups of a query a prune keeps, as its query file says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What rules count, by their keys in the file; each is the option ``--keep-…`` of that name.
KEPT = ("last", "hourly", "daily", "weekly", "monthly")
#: The key of the tags whose backups are kept.
TAG = "tag"
KEEP_KEYS = (*KEPT, TAG)
#: More backups than anybody has.
_MOST = 1_000_000_000


def declare_keep(said: Mapping[str, Any]) -> dict[str, Any]:
    """The rules of an entry, of which one has to keep something: numbers, and tags.

    Raises:
        ValueError: A rule makes no sense; its arguments are the key below the entry, and then the problem.
    """
    for key in said.keys() & {*KEPT}:
        if type(said[key]) is not int or not 0 <= said[key] <= _MOST:
            raise ValueError(key, f"it is {said[key]!r:.40}, and has to be a whole number up to {_MOST:,}")
    if not isinstance(tags := said.get(TAG, []), list):
        raise ValueError(TAG, "it is a list of tags, such as [before-4.3]")
    for at, tag in enumerate(tags):
        if not isinstance(tag, str) or not tag or tag != tag.strip():
            raise ValueError(TAG, at, f"it is {tag!r:.40}, and has to be a text")
    if not any(said.values()):
        raise ValueError("no rule in it keeps a backup, such as last: 7")
    return {**{key: said[key] for key in KEPT if key in said}, **({TAG: tuple(tags)} if tags else {})}
