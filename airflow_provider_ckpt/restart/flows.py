"""Steps of a restart that concern a flow of a declarative pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.flows import Surroundings
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import flows
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.registry import checks_of
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.untrusted.spans import batches_text


def without_finished(view: CheckpointView, beside: frozenset[str] | None) -> CheckpointView:
    """A flow without the flows beside it that write no more, where their batches keep none of its own out.

    Args:
        view: The checkpoint of the flow.
        beside: The flows that still write to its table; None is not known.
    """
    around = view.surroundings
    if beside is None or around is None or not view.objects:
        return view
    log = view.sink or around.log
    latest = None if log is None else log.latest
    if latest is not None and (view.latest_committed is None or view.latest_committed < latest):
        return view
    running = tuple(other for other in around.neighbours if other.name in beside)
    return replace(view, surroundings=replace(around, neighbours=running))


def version(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT206: Spark starts the highest version of a flow, and no other one."""
    around = view.surroundings
    if around is not None and around.replaced_by is not None:
        yield an_error(
            "CKPT206",
            f"Spark starts version {around.newest} of {around.flow.called}, and not this one, version "
            f"{around.flow.version}",
            hint=f"Give the version that runs: {around.replaced_by}.",
        )


def writers(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT157: nothing else writes the files of its table."""
    for judge in checks_of(flows):
        yield from (finding for finding in judge(view) if finding.code != "CKPT156")


def first_start(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT207: a query without a checkpoint begins at batch 0, and a log of files drops every batch that it has."""
    if view.objects:
        return
    around = view.surroundings
    log = view.sink or (around.log if around is not None else None)
    if log is not None and log.latest is not None:
        yield an_error(
            "CKPT207",
            f"there is no checkpoint yet, so Spark begins with batch 0, and {log.location} has batches up to "
            f"{log.latest} of another query: the rows of {batches_text(0, log.latest)} are dropped{_by_whom(around)}",
            0,
            f"{layout.SINK_LOG}/{log.latest}",
            "Give the flow its earlier name, so that it goes on from its checkpoint; or refresh the table in full, "
            "which empties it; or write to a new table or directory.",
        )
    elif log is None and around is not None and around.neighbours and not around.is_delta and not deploy.sink:
        yield a_warning(
            "CKPT207",
            f"there is no checkpoint yet, so Spark begins with batch 0{_by_whom(around)}: if the table keeps files, "
            "its log drops every batch that it has, and their rows are lost",
            0,
            hint="Declare the sink: --sink TYPE:URI.",
        )


def _by_whom(around: Surroundings | None) -> str:
    """Who has written to the table before."""
    if around is None or not around.neighbours:
        return ""
    names = ", ".join(other.name for other in around.neighbours)
    return f"; {around.flow.wrote} was written by {names} before"
