"""Rules about flows of declarative pipelines: their versions, and what else writes to their tables."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning, an_error
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.untrusted.spans import batches_text


@rule("CKPT156")
def replaced(view: CheckpointView) -> Iterator[Finding]:
    """CKPT156: a version of a flow that Spark does not run any more."""
    around = view.surroundings
    if around is not None and around.replaced_by is not None:
        yield a_note(
            "CKPT156",
            f"this is version {around.flow.version} of {around.flow.called}, which version {around.newest} has "
            "replaced at a full refresh: Spark does not run it",
            hint=f"The version that runs is {around.replaced_by}. No change is made here.",
        )


@rule("CKPT157")
def two_flows(view: CheckpointView) -> Iterator[Finding]:
    """CKPT157: two flows write the files of one table, whose log takes each batch id once."""
    around = view.surroundings
    if around is None or not around.neighbours or around.replaced_by is not None or not view.objects:
        return
    if around.is_delta or view.marker is not None:  # a table that tells its writers apart
        return
    flow, names = around.flow, ", ".join(other.name for other in around.neighbours)
    log = view.sink or around.log
    both = f"the flows {flow.name} and {names} write to {flow.wrote}"
    shared = [other for other in around.neighbours if other.committed is not None and view.latest_committed is not None]
    if log is None or log.latest is None:
        yield a_warning(
            "CKPT157",
            f"{both}: if it keeps files (Parquet, the format without another one, JSON, …), they share one log, and "
            "rows are lost in silence",
            hint="Name the sink to have it judged: ckpt gate --sink TYPE:URI. A table in the format of Delta or "
            "Iceberg takes the rows of both. If a flow is not in the pipeline any more, remove its directory.",
        )
        return
    lost = ""
    if shared:
        last = min(view.latest_committed or 0, *(other.committed or 0 for other in shared))
        lost = f"; of {batches_text(0, last)}, which both have committed, the rows of one are not in the table"
    yield an_error(
        "CKPT157",
        f"{both}, and share the log of its files, {log.location}/{layout.SINK_LOG}, which takes each batch id "
        f"once{lost}",
        name=None,
        hint="Keep one flow, which reads all inputs of the table; or give the table the format of Delta or Iceberg, "
        "which take the rows of both. Then refresh it in full, which reads again what the sources still have. If "
        "one of the flows is not in the pipeline any more, its batches keep those of the other one out all the same.",
    )
