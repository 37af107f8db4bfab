"""Finds files that name the directory of a source by its absolute path, and so cannot follow it to another directory.

The schema log of a Delta source does. What Delta makes of a source in another directory was not tried: it is refused.
"""

from __future__ import annotations

import re

from airflow_provider_ckpt.changes.sources.source_change import SourceChange
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store

#: Names of the directories of such logs, and the path in an entry.
_SCHEMA_LOG = re.compile(r"(?:^|/)_schema_log_[^/]+/[^/]+$")
_PATH = re.compile(r'"sourceMetadataPath"\s*:\s*"(?:[^"\\]|\\.)*?/sources/([^"/\\]+)/?"')
#: An entry has two schemas of a table.
_MOST_BYTES = 8 << 20


def require_movable(store: Store, view: CheckpointView, change: SourceChange) -> None:
    """Raise PlanError for a source that would go on in another directory than the one that a file of it names."""
    moved = {old for new, old in change.continued if old is not None and old != new}
    if not moved:
        return
    for name in view.objects:
        if not _SCHEMA_LOG.search(name) or isinstance(layout.parse(name), layout.Sidecar | layout.Temporary):
            continue
        text = store.read_up_to(name, _MOST_BYTES).decode(errors="replace")
        if named := sorted(moved & {*_PATH.findall(text)}):
            raise PlanError(
                f"source {named[0]} cannot come to another place: this schema log of Delta names the directory "
                f"{layout.SOURCES}/{named[0]}, and it is not known what Delta makes of another one.",
                location=view.location,
                name=name,
                hint="Nothing was done. Keep the place of this source (--as "
                f"{named[0]}={named[0]}), or set another schemaTrackingLocation in the query and drop the source.",
            )
