"""Rules about the watermark, which Spark lets rise alone, as far as the data goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning
from airflow_provider_ckpt.checks.logs import entry_before, newest_commit, newest_entry
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup, from_backup_or_before
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.times import time_text

_DAY_MS = 24 * 60 * 60 * 1000
#: A watermark that is so much later than the time of the batch comes of no zone of time.
AHEAD_MS, FAR_AHEAD_MS = _DAY_MS, 366 * _DAY_MS


@rule("CKPT118")
def watermark_goes_back(view: CheckpointView) -> Iterator[Finding]:
    """CKPT118: Spark never lets a watermark fall; an edit or a mixed-up copy does."""
    newest, before, commit = newest_entry(view), entry_before(view), newest_commit(view)
    seen: list[tuple[str, int]] = []
    for batch_id, entry in ((None, before), (view.latest_planned, newest)):
        if entry is not None and entry.metadata is not None:
            name = "the entry before" if batch_id is None else layout.offset_entry(batch_id)
            seen.append((name, entry.metadata.batch_watermark_ms))
    if commit is not None and view.latest_committed == view.latest_planned and commit.next_batch_watermark_ms:
        seen.append((f"commits/{view.latest_committed}", commit.next_batch_watermark_ms))
    for (_, earlier), (name, later) in pairwise(seen):
        if later < earlier:
            yield a_warning(
                "CKPT118",
                f"the watermark goes back from {earlier} to {later} ms",
                view.latest_planned,
                name if "/" in name else None,
                **from_backup(
                    view,
                    "the file",
                    why="Spark has already dropped the state before the later watermark, so late rows would start new "
                    "aggregations.",
                ),
            )


@rule("CKPT147")
def watermark_ahead(view: CheckpointView) -> Iterator[Finding]:
    """CKPT147: every row that is older than the watermark is dropped, and no later batch lets it fall.

    The checkpoint itself is whole: it can be backed up and changed. Only a restart loses rows, which the gate judges.
    """
    yield from _ahead(view, AHEAD_MS)


def watermark_far_ahead(view: CheckpointView) -> Iterator[Finding]:
    """The same for a restart: an error from 366 days on, unless there is no state, which drops no rows."""
    lasting = view.stateful or not view.complete  # without state nothing drops rows
    far = tuple(_ahead(view, FAR_AHEAD_MS)) if lasting else ()
    yield from (replace(finding, severity="error") for finding in far) if far else watermark_ahead(view)


def _ahead(view: CheckpointView, least_ms: int) -> Iterator[Finding]:
    newest, commit = newest_entry(view), newest_commit(view)
    if newest is None or newest.metadata is None or newest.metadata.batch_timestamp_ms <= 0:
        return
    marks = [(newest.metadata.batch_watermark_ms, layout.offset_entry(view.latest_planned or 0))]
    if commit is not None and view.latest_committed == view.latest_planned:
        marks.append((commit.next_batch_watermark_ms, layout.commit_entry(view.latest_committed or 0)))
    watermark_ms, name = max(marks, key=lambda mark: mark[0])
    ahead_ms = watermark_ms - newest.metadata.batch_timestamp_ms
    if ahead_ms <= least_ms:
        return
    yield a_warning(
        "CKPT147",
        f"the watermark in {name} is {time_text(watermark_ms)}, {ahead_ms // _DAY_MS:,} days after the time of its "
        "batch: a stateful operator drops every row that is older than this watermark, without an error",
        view.latest_planned,
        name,
        **from_backup_or_before(
            view,
            "the file",
            view.latest_planned,
            why="An event of a wrong time, or an edit, moved it; it never falls again by itself.",
        ),
    )
