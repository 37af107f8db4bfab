"""Where a source is, as Spark tells it: JSON text, or none at the beginning."""

from __future__ import annotations

import json
from typing import Any


def as_json(text: str | None) -> Any:
    """What the text holds; None for none."""
    return None if text is None else json.loads(text)


def record_of(text: str | None) -> int:
    """The next record of the one partition of a topic."""
    return sum(sum(of.values()) for of in (as_json(text) or {}).values())


def entry_of(text: str | None) -> int:
    """The newest entry of the log of a file source, each of which has one file; -1 for none."""
    return int((as_json(text) or {"logOffset": -1})["logOffset"])
