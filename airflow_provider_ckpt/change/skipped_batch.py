"""A batch in flight that the sink skips when it runs again: whether the query can go on after it.

A sink that skips a batch does not compute it, so Spark writes no state of it. That does no harm where the batch has
written its state before. Where a change takes that state away, or leaves a batch without it, the query stops for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.sink_marker import LEAVING_NO_STATE, SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.file_sink import ahead, state_not_written_again
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.storage.stored_object import StoredObject


def judged_by_sink(plan: Plan, after: CheckpointView, marker: SinkMarker) -> Plan:
    """The plan, whose effect is ``stops`` where the query stops for good after the batch in flight.

    Args:
        plan: A change that leaves the log of the sink as it is, with its effect on one sink.
        after: The whole checkpoint as the change leaves it.
        marker: What the sink remembers of the query.
    """
    found = next(_stopping(after, marker), None)
    if found is None:
        return plan
    trims = plan.kind == "salvage" and marker.kind == "file"
    remedy = "Trim the log of the sink with the salvage: --trim-sink-log." if trims else _remedy_of(found)
    stops = (replace(effect, effect="stops", reason=found.message, remedy=remedy) for effect in plan.effects)
    return replace(plan, effects=tuple(stops))


def _stopping(after: CheckpointView, marker: SinkMarker) -> Iterator[Finding]:
    """What stops a query that runs its batch in flight again; errors of CKPT140."""
    last = marker.last_batch
    if after.in_flight is None or last is None or last < after.in_flight or not after.stateful:
        return
    if marker.kind not in LEAVING_NO_STATE:
        return
    found = list(state_not_written_again(_with_sink(after, marker)))
    if marker.kind == "file" and last == after.in_flight:  # state checkpoint format 2 names its state in the commit
        found += ahead(_with_sink(after, marker))
    yield from (finding for finding in found if finding.severity == "error")


def _with_sink(after: CheckpointView, marker: SinkMarker) -> CheckpointView:
    if marker.kind != "file":
        return replace(after, marker=marker)
    names = (commit.version for commit in marker.commits)
    return replace(after, sink=SinkLog(marker.location, {name: StoredObject(name, 0, None, "") for name in names}))


def _remedy_of(finding: Finding) -> str:
    return " ".join([f"After the change: {finding.hint}", *finding.commands])
