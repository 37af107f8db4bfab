"""Whether several queries went on where they had stopped, such as the flows of a pipeline after its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error, worst_first
from airflow_provider_ckpt.checks.flows import two_flows
from airflow_provider_ckpt.restart.bookmark import Bookmark
from airflow_provider_ckpt.restart.continuity import continuity

#: From the best to the worst.
STATUSES = ("continued", "idle", "doubtful", "in flight", "broken")


@dataclass(frozen=True, slots=True)
class FlowContinuity:
    """What one query did since its bookmark.

    Args:
        location: URI of its checkpoint.
        bookmark: Where it had stopped.
        latest_committed: The newest committed batch now.
        findings: Findings against a continuation, the worst first.
    """

    location: str
    bookmark: Bookmark
    latest_committed: int | None
    findings: tuple[Finding, ...] = ()

    @property
    def status(self) -> str:
        """``broken`` by an error, ``in flight``, ``doubtful`` by a warning, ``idle`` without a new batch, else
        ``continued``.
        """
        severities = {finding.severity for finding in self.findings}
        if "error" in severities:
            return "broken"
        if any(finding.code == "CKPT306" for finding in self.findings):
            return "in flight"
        if "warning" in severities:
            return "doubtful"
        is_idle = self.latest_committed is None or self.latest_committed < self.bookmark.next_batch
        return "idle" if is_idle else "continued"


def flow_continuity(
    bookmark: Bookmark, view: CheckpointView, kinds: Mapping[str, str], newest: str | None = None
) -> FlowContinuity:
    """Compare one query with its bookmark. A run that says that it is completed proves nothing.

    Args:
        bookmark: Taken by the gate; without a query id when there was no checkpoint.
        view: The checkpoint now, with the entries of the bookmark's batch and of the next one, and what is beside it.
        kinds: Declared type by source id.
        newest: Location of the version of the flow that runs now; None when it is no flow.

    Raises:
        CheckpointFormatError: An entry is damaged, or an offset does not have the form of its source.
        CheckpointError: A declared type is unknown.
    """
    findings = list(two_flows(view))
    if newest is not None and newest != view.location:
        findings.append(
            an_error(
                "CKPT305",
                f"the flow has begun anew at {newest} since the gate: a full refresh, of which the gate was not told",
                hint="Check what reads its table, and what its sources still have.",
            )
        )
    elif view.in_flight is not None and view.objects:
        findings.append(
            a_warning(
                "CKPT306",
                f"batch {view.in_flight} is planned and not committed: the flow failed in it, or the run goes on",
                view.in_flight,
                hint="Check through the server whether the run goes on, and start no second one before it has ended.",
            )
        )
    if bookmark.query_id is not None and view.objects:
        findings += continuity(bookmark, view, kinds).findings
    return FlowContinuity(view.location, bookmark, view.latest_committed, worst_first(findings))


def worst_status(flows: Mapping[str, FlowContinuity]) -> str:
    """The worst status of all; ``idle`` when there is none."""
    return max((flow.status for flow in flows.values()), key=STATUSES.index, default="idle")
