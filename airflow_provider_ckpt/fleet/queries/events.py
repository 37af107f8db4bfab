"""What has happened to a query between two readings: a sentence each, for who is told of changes alone."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.fleet.queries.thresholds import Threshold


def events(before: QueryRow | None, row: QueryRow) -> Iterator[str]:
    """Sentences on what is new of a query, each with its name.

    Batches, and values that change on the same side of a threshold, are no news.

    Args:
        before: The query as it was read before; None at the first time, when all that is the matter with it is new.
        row: The query as it is now.
    """
    for sentence in _events(before, row):
        yield f"{row.name}: {sentence.rstrip('.')}."


def _events(before: QueryRow | None, row: QueryRow) -> Iterator[str]:
    if row.failure is not None:
        if before is None or before.failure is None or before.failure.message != row.failure.message:
            yield str(row.failure)
        return
    if before is not None and before.failure is not None:
        yield "it can be read again"
    was = {item.key: _side(item) for item in before.thresholds} if before else {}
    for threshold in row.thresholds:
        side = _side(threshold)
        if side != was.get(threshold.key, "holds"):
            yield f"{threshold.text}{', and holds again' if side == 'holds' else ''}"
    yield from _of_findings(before, row)
    yield from _of_sources(before, row)
    if before is not None and row.backup is not None and before.backup != row.backup:
        known = None if before.backup is None else before.backup.backup_id
        if known != row.backup.backup_id:
            yield f"there is a new backup, {row.backup.backup_id}, of batch {row.backup.batch_id}"
    if before is not None and row.change is not None:
        was_made = None if before.change is None else (before.change.plan_id, before.change.state)
        if was_made != (row.change.plan_id, row.change.state):
            by = f" by {row.change.by}" if row.change.by else ""
            yield f"the {row.change.kind} {row.change.plan_id}{by} is {row.change.state}"


def _side(threshold: Threshold) -> str:
    return "holds" if threshold.holds else "passed" if threshold.passed else "not known"


def _of_findings(before: QueryRow | None, row: QueryRow) -> Iterator[str]:
    found, was = _findings(row), _findings(before)
    for key, finding in found.items():
        if key not in was:
            yield f"{finding.severity} {finding.code}: {finding.message}"
    for key, finding in was.items():
        if key not in found:
            yield f"{finding.code} is found no more"


def _findings(row: QueryRow | None) -> dict[tuple[str, str], Finding]:
    """The findings but for notes, once each by rule and severity: their texts may name the newest batch."""
    findings = row.checkpoint.findings if row is not None and row.checkpoint is not None else ()
    return {(item.code, item.severity): item for item in reversed(findings) if item.severity != "note"}


def _of_sources(before: QueryRow | None, row: QueryRow) -> Iterator[str]:
    error = row.checkpoint.lag_error if row.checkpoint else None
    was = before.checkpoint.lag_error if before is not None and before.checkpoint is not None else None
    if error is not None and was is None and error not in {threshold.why for threshold in row.thresholds}:
        yield f"a source cannot be asked: {error}"
    elif error is None and was is not None:
        yield "all sources can be asked again"
