"""Steps of a restart that concern the sink."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import file_sink, sink_log
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.logs import newest_commit
from airflow_provider_ckpt.checks.registry import checks_of
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import FILE_FORMATS

SINK_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSinkEvolution"


def name(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT223: with sink evolution the sink has a name."""
    if deploy.sink_name == "" and deploy.switches_on(SINK_EVOLUTION):
        yield an_error(
            "CKPT223",
            "sink evolution is on, and the sink has no name",
            hint=f"Name the sink, or deploy without {SINK_EVOLUTION}.",
            spark_error="STREAMING_QUERY_EVOLUTION_ERROR.UNNAMED_STREAMING_SINKS_WITH_ENFORCEMENT",
        )


def sink_takes_it(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The file sink writes the batch, rather than skipping it."""
    for judge in checks_of(file_sink, sink_log):
        yield from judge(view)


def file_format(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT240: the files in the log of the sink have another format than the deploy writes."""
    declared, written = deploy.sink.said if deploy.sink else "", view.sink.file_format if view.sink else None
    if written is not None and declared in FILE_FORMATS and declared != written:
        yield a_warning(
            "CKPT240",
            f"the newest file in the log of the sink has the format {written}, and the deploy writes {declared}: "
            "readers of the directory cannot read both",
            None,
            layout.SINK_LOG,
            f"Declare the sink as {written}:URI if the query still writes {written}. If not, write to a new directory, "
            "with a new checkpoint location.",
        )


def evolution(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT223: once the commit log names sinks, it goes on doing so."""
    commit = newest_commit(view)
    if commit is not None and commit.version >= 3 and not deploy.switches_on(SINK_EVOLUTION):
        yield an_error(
            "CKPT223",
            "the commit log has version 3, which needs sink evolution, but the deploy switches it off",
            view.latest_committed,
            layout.commit_entry(view.latest_committed or 0),
            f"Deploy with {SINK_EVOLUTION}=true and a named sink.",
            "IllegalArgumentException",
        )
    active = [sink.sink_name for sink in (commit.sinks if commit else {}).values() if sink.is_active]
    if active and deploy.sink_name and deploy.sink_name not in active:
        yield a_warning(
            "CKPT240",
            f"the query wrote to the sink {active[0]} before, and the deploy writes to {deploy.sink_name}",
            view.latest_committed,
            layout.commit_entry(view.latest_committed or 0),
            "The rows that were written so far stay in the old sink. Keep the name if the sink is the same.",
        )
