"""Gating the next run of a pipeline: the pipeline as a whole, and the restart of each of its flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.pipeline import LOGGED_FORMATS, PipelineFlow, SeenPipeline
from airflow_provider_ckpt.fleet.pipeline_findings import ALL, not_judged_of, pipeline_findings, runs, table_of
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.restart.forecast import DECISIONS, Forecast

#: What is warned of where it is not known whether a table keeps files.
_OF_FILES = (("CKPT157", "warning"), ("CKPT207", "warning"))
#: Forecasts the restart of one flow.
Foretell = Callable[[Query, frozenset[str] | None], tuple[CheckpointView, Forecast]]


@dataclass(frozen=True, slots=True)
class GatedFlow:
    """A flow of a pipeline, gated.

    Args:
        name: Its name, such as ``shop.bronze``.
        query: What is declared of it.
        view: Its checkpoint; None when it could not be read.
        forecast: Its restart; None when its checkpoint could not be read.
        error: Why it could not be judged; None when it could.
    """

    name: str
    query: Query
    view: CheckpointView | None = None
    forecast: Forecast | None = None
    error: CheckpointError | None = None

    @property
    def decision(self) -> str:
        """That of its forecast; what cannot be read blocks."""
        return "block" if self.forecast is None else self.forecast.decision


@dataclass(frozen=True, slots=True)
class GatedQueries:
    """Several queries, gated.

    Args:
        flows: The queries.
        findings: Findings of all of them together, the worst first.
        unknown: What of them together was not judged.
    """

    flows: tuple[GatedFlow, ...] = ()
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """What an error names: the queries."""
        return ", ".join(flow.name for flow in self.flows)

    @property
    def decision(self) -> str:
        """The worst decision: of all together, and of each."""
        severities = {finding.severity for finding in self.findings}
        own = "block" if "error" in severities else "warn" if severities & {"warning"} or self.unknown else "pass"
        return max((own, *(flow.decision for flow in self.flows)), key=DECISIONS.index)

    def closes(self, fail_on: str) -> bool:
        """As that of a forecast (:meth:`~airflow_provider_ckpt.restart.forecast.Forecast.closes`)."""
        return self.decision in ("block", fail_on)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedPipeline(GatedQueries):
    """A pipeline, gated; its flows are those that the run may start, without those that it refreshes in full.

    Args:
        name: Its name in the query file.
        storage: URI of its storage.
    """

    name: str
    storage: str

    @property
    def place(self) -> str:
        """What an error names: the storage."""
        return self.storage


def judge_pipeline(
    file: QueryFile, seen: SeenPipeline, foretell: Foretell, *, full_refresh: Sequence[str] = ()
) -> GatedPipeline:
    """Judge the next run of a pipeline.

    Args:
        file: The query file with the flows of the pipeline.
        seen: The pipeline.
        foretell: Forecasts the restart of one flow, beside those that the pipeline defines.
        full_refresh: Tables that the run refreshes in full; ``all`` is all.

    Raises:
        ValueError: A table that is to be refreshed is none of the pipeline.
    """
    return GatedPipeline(
        name=seen.name,
        storage=seen.storage,
        findings=pipeline_findings(seen, full_refresh),
        unknown=not_judged_of(seen),
        flows=tuple(_gated(file, seen, foretell, full_refresh)),
    )


def _gated(file: QueryFile, seen: SeenPipeline, foretell: Foretell, full_refresh: Sequence[str]) -> Iterator[GatedFlow]:
    if ALL in full_refresh:
        return
    refreshed = {table_of(seen, table) for table in full_refresh}
    started, names = runs(seen), {flow.key: name for name, flow in seen.names.items()}
    for flow in started:
        if flow.target in refreshed:  # it begins anew in an empty table
            continue
        name = names[flow.key]
        judged = _judged(name, file.queries[name], foretell, _beside(flow, started, seen))
        kept = seen.format_of(flow.target)
        yield judged if kept is None or kept in LOGGED_FORMATS else _of_other_format(judged)


def _of_other_format(judged: GatedFlow) -> GatedFlow:
    """A flow into a table that is said to be of another format, without what is warned of a table that may keep files.

    Where a log of files was found, it is an error, and stays.
    """
    if judged.forecast is None:
        return judged
    findings = (found for found in judged.forecast.findings if (found.code, found.severity) not in _OF_FILES)
    return replace(judged, forecast=replace(judged.forecast, findings=tuple(findings)))


def judge_queries(queries: Mapping[str, Query], foretell: Foretell) -> GatedQueries:
    """Judge the restart of each query of several.

    Args:
        queries: The queries by name.
        foretell: Forecasts the restart of one.
    """
    return GatedQueries(tuple(_judged(name, query, foretell, None) for name, query in queries.items()))


def _judged(name: str, query: Query, foretell: Foretell, beside: frozenset[str] | None) -> GatedFlow:
    try:
        view, forecast = foretell(query, beside)
    except CheckpointError as error:
        return GatedFlow(name, query, error=error.at(query.checkpoint))
    return GatedFlow(name, query, view, forecast)


def _beside(flow: PipelineFlow, started: Sequence[PipelineFlow], seen: SeenPipeline) -> frozenset[str] | None:
    """Names of the other flows into the table of a flow that the run may start; None where they are not known."""
    if seen.definitions.not_read or not seen.definitions.flows:
        return None
    return frozenset(other.flow.name for other in started if other.target == flow.target and other != flow)
