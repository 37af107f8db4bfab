"""One checkpoint of a fleet, in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from airflow_provider_ckpt.checks.findings import SEVERITIES, Finding, Severity
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.documents.positions import LagSummaryFields
from airflow_provider_ckpt.sources.lag import SourceLag, summary_of

#: The time is divided into so many parts.
PARTS = 24


@dataclass(frozen=True, slots=True)
class BatchRate(Documented):
    """Committed batches in equal parts of a time."""

    from_ms: Annotated[int, "when the oldest batch of the commit log was committed, epoch milliseconds"]
    until_ms: Annotated[int, "when the checkpoint was listed, epoch milliseconds"]
    batches: Annotated[tuple[int, ...], "number of committed batches in each part, oldest first"]


def batch_rate(commits_ms: Iterable[int], until_ms: int, parts: int = PARTS) -> BatchRate | None:
    """The rate of commits.

    Args:
        commits_ms: When each batch was committed, epoch milliseconds.
        until_ms: Now, by the same clock.
        parts: Into how many parts the time is divided.

    Returns:
        None for less than two commits, or for commits of one moment: they make no rate.
    """
    times = sorted(commits_ms)
    if len(times) < 2 or times[0] == times[-1]:
        return None
    until_ms = max(until_ms, times[-1])
    counts = [0] * parts
    for at_ms in times:
        counts[min(parts - 1, (at_ms - times[0]) * parts // (until_ms - times[0]))] += 1
    return BatchRate(times[0], until_ms, tuple(counts))


def rate_from_dict(fields: Mapping[str, Any] | None) -> BatchRate | None:
    """Parse the result of :meth:`BatchRate.to_dict`. Raises ValueError for anything else."""
    if fields is None:
        return None
    batches = fields.get("batches")
    numbers: list[Any] = [fields.get("from_ms"), fields.get("until_ms")]
    numbers += batches if isinstance(batches, list) and 0 < len(batches) <= PARTS else [None]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise ValueError("the batch rate is not made of whole numbers")
    return BatchRate(numbers[0], numbers[1], tuple(numbers[2:]))


@dataclass(frozen=True, slots=True)
class FleetRow(Documented):
    """One checkpoint of a fleet.

    :func:`row_from_dict` makes it of its document again, but for the lag, of which that has the summary.

    Args:
        sources: How far the query is behind each source; None when nobody asked.
    """

    last_keys: ClassVar = ("lag", "expires_ms", "lag_error", "last_commit_ms", "rate", "stalled_ms")

    location: Annotated[str, "URI of the checkpoint"]
    query_id: Annotated[str | None, "id of the query"] = None
    latest_planned_batch: Annotated[int | None, "latest batch of the offset log"] = None
    latest_committed_batch: Annotated[int | None, "latest batch of the commit log"] = None
    in_flight: Annotated[int | None, "batch that is planned and not committed"] = None
    watermark_ms: Annotated[int | None, "watermark, epoch milliseconds"] = None
    last_commit_age_ms: Annotated[int | None, "milliseconds since the latest commit, by the clock of the storage"] = (
        None
    )
    findings: Annotated[tuple[Finding, ...], "what the rules found, worst first"] = ()
    decision: Annotated[str | None, "`pass`, `warn` or `block`; null without a deploy"] = None
    unknown: Annotated[tuple[str, ...], "what was not judged"] = ()
    error: Annotated[str | None, "why the checkpoint could not be read; the other fields are then empty"] = None
    replaced_by: Annotated[
        str | None,
        "version of a declarative pipeline's flow that has replaced this checkpoint; the other fields are then empty",
    ] = None
    planned_at_ms: Annotated[int | None, "when the latest committed batch began, epoch milliseconds"] = None
    sources: tuple[SourceLag, ...] | None = None
    expires_ms: Annotated[
        int | None, "until a source may delete the first that the query needs; for Kafka null without `--ages`"
    ] = None
    lag_error: Annotated[str | None, "why the sources could not be asked"] = None
    last_commit_ms: Annotated[int | None, "when the latest batch was committed, by the clock of the storage"] = None
    rate: Annotated[BatchRate | None, "batches over the time of the commit log; null for fewer than two"] = None
    stalled_ms: Annotated[
        int | None,
        "for how long there is no commit, where that is much longer than the query's own rhythm, else null",
    ] = None

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding; ``error`` when there is no knowing."""
        if self.error or self.lag_error:
            return "error"
        return min((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    @property
    def quiet(self) -> str | None:
        """What is said of a query without a commit for much longer than usual; None where there is nothing to say.

        ``stalled`` where something is in flight or unread, ``stalled or idle`` where nobody knows, and nothing where
        all is read: an idle query has nothing to do.
        """
        if self.stalled_ms is None:
            return None
        sources = self.sources or ()
        if self.in_flight is not None or any(source.total or source.lost for source in sources):
            return "stalled"
        has_read_all = sources and all(
            source.is_known and source.total == 0 and not source.is_partial for source in sources
        )
        return None if has_read_all else "stalled or idle"

    @property
    def lag(
        self,
    ) -> Annotated[list[LagSummaryFields] | None, "how far the query is behind each source; null when nobody asked"]:
        """How far the query is behind each source, bounded; None when nobody asked."""
        return None if self.sources is None else [summary_of(source) for source in self.sources]


def row_from_dict(fields: Mapping[str, Any]) -> FleetRow:
    """The row that :meth:`FleetRow.to_dict` wrote, without its lag."""
    findings = tuple(_finding(item) for item in fields["findings"])
    given = {key: value for key, value in fields.items() if key != "lag"}
    rate = rate_from_dict(fields.get("rate"))
    return FleetRow(**{**given, "findings": findings, "unknown": tuple(fields["unknown"]), "rate": rate})


def _finding(fields: Mapping[str, Any]) -> Finding:
    given = {key: value for key, value in fields.items() if key != "doc"}
    return Finding(**{**given, "commands": tuple(fields.get("commands", ()))})
