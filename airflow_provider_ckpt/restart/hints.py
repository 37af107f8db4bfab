"""Words that several findings share."""

from __future__ import annotations

from collections.abc import Iterable

NEW_LOCATION = "or start the query with a new checkpoint location."


def listed(names: Iterable[str]) -> str:
    """Names with commas."""
    return ", ".join(names) or "none"
