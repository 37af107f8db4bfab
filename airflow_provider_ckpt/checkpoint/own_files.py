"""Names of the files that this package writes beside checkpoints and into backup roots, so that it recognises them."""

from __future__ import annotations

import re
from typing import Any

from airflow_provider_ckpt.codec import layout

MANIFEST = "manifest.json"
INTENT = "intent.json"
#: The manifest of a backup that a prune has dropped, while objects in its directory are still named by others.
DROPPED = "dropped.json"
DATA = "checkpoint"
#: The plan in the record of a change.
PLAN = "plan.json"
UNDO_DIRECTORY = "_ckpt_undo"
#: Directories that Spark and table formats own: what is in them is read as theirs.
_LOGS = (layout.SINK_LOG, "_delta_log", ".hoodie")
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,120}\Z")


def log_in(location: str) -> str | None:
    """The log of a sink or a table that a location is inside of, by the names in its path; None for any other."""
    return next((part for part in location.split("/") if part in _LOGS), None)


def is_backup_id(text: Any) -> bool:
    """True if a text can be a backup id: one path segment that is not hidden."""
    return isinstance(text, str) and bool(_ID.match(text))
