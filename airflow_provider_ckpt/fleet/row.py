"""One checkpoint of a fleet, in a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checks.findings import SEVERITIES, Finding, Severity
from airflow_provider_ckpt.fleet.batch_rate import BatchRate, rate_from_dict
from airflow_provider_ckpt.sources.lag import SourceLag
from airflow_provider_ckpt.sources.lag_summary import summary_of

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import FleetRowFields


@dataclass(frozen=True, slots=True)
class FleetRow:
    """The row of one checkpoint of a fleet.

    Args:
        location: Its URI.
        query_id: Id of the query; None when ``metadata`` is missing or damaged.
        latest_planned_batch: The newest batch in the offset log.
        latest_committed_batch: The newest batch in the commit log.
        in_flight: The newest batch when it is planned and not committed.
        watermark_ms: Watermark of the newest committed batch, epoch milliseconds.
        last_commit_age_ms: Milliseconds from the newest commit to the listing, by the clock of the storage; None when
            it does not tell, or nothing was committed.
        findings: Findings of the rules, errors first.
        decision: Decision of a gate on the deploy, ``pass``, ``warn`` or ``block``; None when there is no deploy.
        unknown: Names of what was not judged, because it was neither declared nor read; in the words of a gate.
        error: Why the checkpoint, or a directory that may hold some, could not be read; all else is then empty.
        replaced_by: The version of a declarative pipeline's flow that has replaced this checkpoint at a full refresh;
            this checkpoint is not read, and the other fields are empty.
        planned_at_ms: When the newest committed batch began, epoch milliseconds.
        sources: How far the query is behind each source; None when nobody asked.
        expires_ms: Until a source may delete the first that the query needs, milliseconds; None when nobody asked, or
            nothing expires.
        lag_error: Why its sources could not be asked.
        last_commit_ms: When the newest batch was committed, epoch milliseconds by the clock of the storage.
        rate: Batches over the time that the commit log shows; None when that is too short to make a rate.
        stalled_ms: For how long the query has no commit, milliseconds, where that is much longer than its own rhythm;
            None where it is not, or nobody can tell.
    """

    location: str
    query_id: str | None = None
    latest_planned_batch: int | None = None
    latest_committed_batch: int | None = None
    in_flight: int | None = None
    watermark_ms: int | None = None
    last_commit_age_ms: int | None = None
    findings: tuple[Finding, ...] = ()
    decision: str | None = None
    unknown: tuple[str, ...] = ()
    error: str | None = None
    replaced_by: str | None = None
    planned_at_ms: int | None = None
    sources: tuple[SourceLag, ...] | None = None
    expires_ms: int | None = None
    lag_error: str | None = None
    last_commit_ms: int | None = None
    rate: BatchRate | None = None
    stalled_ms: int | None = None

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding; ``error`` when there is no knowing."""
        if self.error or self.lag_error:
            return "error"
        return min((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    def to_dict(self) -> FleetRowFields:
        """JSON-ready; :func:`row_from_dict` is the way back, but for the lag, of which this has the summary."""
        return {
            "location": self.location,
            "query_id": self.query_id,
            "latest_planned_batch": self.latest_planned_batch,
            "latest_committed_batch": self.latest_committed_batch,
            "in_flight": self.in_flight,
            "watermark_ms": self.watermark_ms,
            "last_commit_age_ms": self.last_commit_age_ms,
            "findings": [finding.to_dict() for finding in self.findings],
            "decision": self.decision,
            "unknown": list(self.unknown),
            "error": self.error,
            "replaced_by": self.replaced_by,
            "planned_at_ms": self.planned_at_ms,
            "lag": None if self.sources is None else [summary_of(source) for source in self.sources],
            "expires_ms": self.expires_ms,
            "lag_error": self.lag_error,
            "last_commit_ms": self.last_commit_ms,
            "rate": None if self.rate is None else self.rate.to_dict(),
            "stalled_ms": self.stalled_ms,
        }


def row_from_dict(fields: Mapping[str, Any]) -> FleetRow:
    """The row that :meth:`FleetRow.to_dict` wrote, without its lag."""
    findings = tuple(_finding(item) for item in fields["findings"])
    given = {key: value for key, value in fields.items() if key != "lag"}
    rate = rate_from_dict(fields.get("rate"))
    return FleetRow(**{**given, "findings": findings, "unknown": tuple(fields["unknown"]), "rate": rate})


def _finding(fields: Mapping[str, Any]) -> Finding:
    given = {key: value for key, value in fields.items() if key != "doc"}
    return Finding(**{**given, "commands": tuple(fields.get("commands", ()))})
