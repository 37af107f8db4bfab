"""Rules about who writes: two queries at once, and the fence behind which none goes on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning
from airflow_provider_ckpt.checks.logs import entry_before, newest_entry
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.temporary_names import is_own_temporary

#: What a temporary file adds to the name that it will have, after a dot.
_TEMPORARY_OF = re.compile(r"(?:\.[^.]*)?\.tmp\Z")


@rule("CKPT150")
def two_writers(view: CheckpointView) -> Iterator[Finding]:
    """CKPT150: traces of a second query: batch times that go back, or two temporary files for one entry."""
    newest, before = newest_entry(view), entry_before(view)
    if newest and before and newest.metadata and before.metadata and view.latest_planned is not None:
        earlier, later = before.metadata.batch_timestamp_ms, newest.metadata.batch_timestamp_ms
        if 0 < later < earlier:
            yield a_warning(
                "CKPT150",
                f"batch {view.latest_planned} has a time {earlier - later} ms before that of the batch before it",
                view.latest_planned,
                layout.offset_entry(view.latest_planned),
                "Two queries may share the checkpoint, or a clock was set back. Make sure that only one query runs; a "
                "fence stops one that cannot be reached.",
                commands=(_fence(view),),
            )
    temporary: dict[str, int] = {}
    for name in view.objects:
        log, _, base = name.rpartition("/")
        if isinstance(layout.parse(name), layout.Temporary) and base.endswith(".tmp") and not is_own_temporary(base):
            entry = f"{log}/{_TEMPORARY_OF.sub('', base.removeprefix('.'))}"
            temporary[entry] = temporary.get(entry, 0) + 1
    for entry, count in temporary.items():
        if count > 1:
            yield a_warning(
                "CKPT150",
                f"{count} writers have left temporary files of {entry}",
                name=entry,
                hint="Two queries may share the checkpoint. Make sure that only one query runs; a fence stops one that "
                "cannot be reached.",
                commands=(_fence(view),),
            )


@rule("CKPT151")
def fenced(view: CheckpointView) -> Iterator[Finding]:
    """CKPT151: the newest entry is a fence, behind which no query has started yet."""
    newest, batch_id = newest_entry(view), view.in_flight
    if batch_id is None or newest is None or newest.metadata is None or not newest.metadata.fence:
        return
    yield a_note(
        "CKPT151",
        f"the checkpoint is fenced behind batch {batch_id - 1}: a query that was there stops at its next batch",
        batch_id,
        layout.offset_entry(batch_id),
        f"The next start runs batch {batch_id} without rows, and goes on. ckpt undo takes the fence back.",
    )


def _fence(view: CheckpointView) -> str:
    return f"ckpt fence {shlex.quote(view.location)}"
