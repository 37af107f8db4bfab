"""The command that judges a deploy: gate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.changes.bookmark_file import write_bookmark
from airflow_provider_ckpt.cli.files import WrittenFile, named_by, read_text
from airflow_provider_ckpt.cli.findings_output import Outputs, judge, judging
from airflow_provider_ckpt.cli.options import (
    DURATION,
    Whole,
    command,
    directories,
    open_store,
    opening,
    option,
    pairs,
    shared,
    triggered,
    with_kafka_config,
    with_sources,
)
from airflow_provider_ckpt.cli.positions.topic_memory import TopicMemory, with_topic_ids
from airflow_provider_ckpt.cli.query_names import META, PIPELINE, Named, Piped, declared_deploy, query_of
from airflow_provider_ckpt.cli.render import COLLECTED, say
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.query.declared import OF_ONE_QUERY, options_of_clusters
from airflow_provider_ckpt.query.deploy import DeploySpec, declare, parse_conf_file
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.query.source import MOST_SOURCES, Source
from airflow_provider_ckpt.query.spark_version import SPARK_MAX, version_text
from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS
from airflow_provider_ckpt.report.ci import Judged
from airflow_provider_ckpt.restart.forecast import Forecast
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.fleet.gated_pipeline import Foretell

_OF_ONE_QUERY = (*("--source", "--source-count", "--source-option", "--sink", "--operator", "--full-refresh"),)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@command(
    "ckpt gate s3://lake/checkpoints/orders --conf spark.sql.shuffle.partitions=8 --source 0=kafka",
    "ckpt gate s3://lake/checkpoints/orders --spark-version 4.3 --sink delta:s3://lake/orders --fail-on warn",
    names=Names(several="in turn", pipeline="itself", of_one=_OF_ONE_QUERY),
)
@click.argument("location", shell_complete=directories)
@option("--conf KEY=VALUE", "SQL conf that the deploy sets. Can be given more than once.", "confs", multiple=True)
@option("--conf-file FILE", "Read SQL confs of the deploy from a spark-defaults.conf; --conf wins over it.", type=_FILE)
@option(
    "--spark-version VERSION",
    f"Spark version of the deploy. Without it, the forecast is that of {version_text(SPARK_MAX)}, and the "
    "version is named as not judged.",
)
@option(
    "--source-count SOURCES",
    "Number of sources of the query, where their types are not declared.",
    type=Whole(1, MOST_SOURCES),
)
@with_sources(
    "Source of the query, by its name or position, such as 0=kafka; 0= for a type that ckpt does not know. With "
    "0=kafka:host:9092/topic the broker is asked what a restart would lose. Can be given more than once.",
    metavar="NAME=TYPE[:PLACE]",
)
@option(
    "--source-option NAME.KEY=VALUE",
    "Option of a source, such as 0.failOnDataLoss=false or 0.streaming-skip-delete-snapshots=true. Can be given more "
    "than once.",
    "source_options",
    multiple=True,
)
@with_kafka_config
@with_topic_ids
@option(
    "--will-lose-data-within DURATION",
    "Block when unread data may be deleted before this time has passed, such as 6h. The age of unread records is then "
    "asked, in nine more requests for each partition. A plain number is seconds.",
    "within_ms",
    type=DURATION,
)
@option(
    "--sink TYPE[:URI]", "Sink of the query, such as kafka or file:URI. With a URI, what the sink remembers is read."
)
@option(
    "--operator NAME",
    "Stateful operator of the query, such as stateStoreSave. Give all of them, in Spark's order. Give --operator none "
    "when the query has no state.",
    "operators",
    multiple=True,
)
@option(
    "--class NAME",
    "Class that the deploy has and open Spark does not, such as a state store provider. Can be given more than once.",
    "classes",
    multiple=True,
)
@triggered
@option(
    "--bookmark FILE",
    "Write where the query is into this file, for ckpt rollback --to-before-deploy FILE. Of a pipeline or of several "
    "queries it is a directory, with NAME.json for each.",
    type=WrittenFile(Path, may_be_directory=True),
)
@option(
    "--full-refresh TABLE",
    "Of a pipeline: table that the run refreshes in full, or all. Can be given more than once.",
    "full_refresh",
    multiple=True,
)
@option("--quick", "Read only the two logs. State, source logs and checksum files are then not judged.")
@option(
    "--fail-on", "Least decision for which the exit code is 1.", type=click.Choice(("block", "warn")), default="block"
)
@judging
@shared
def gate(
    location: str,
    confs: tuple[str, ...],
    conf_file: Path | None,
    quick: bool,
    fail_on: Literal["block", "warn"],
    kafka_config: tuple[str, ...],
    topic_ids: Path | None,
    within_ms: int | None,
    bookmark: Path | None,
    full_refresh: tuple[str, ...],
    storage_options: tuple[str, ...],
    outputs: Outputs,
    **said: Any,
) -> None:
    """Forecast what Spark will do when this deploy restarts.

    Several names of the query file are judged in turn, and without any all its queries and pipelines. The name of a
    pipeline means all its flows: those that its files define, each at the version that
    runs, and the pipeline as a whole.

    The decision is pass, warn or block. Exit code 1 when it is block, or with --fail-on warn when it is not pass. The
    first line names what was not judged because it was neither declared nor read; the decision is then not pass.
    """
    context = click.get_current_context()
    piped: Piped | None = context.meta.get(PIPELINE)
    if full_refresh and piped is None:
        raise click.UsageError("--full-refresh is of a pipeline: give its name in the query file")
    config = dict(pairs(kafka_config, "--kafka-config"))
    remembered = TopicMemory(topic_ids)
    configs = options_of_clusters(_queries(context))

    def foretell(
        store: Store, deploy: DeploySpec, beside: frozenset[str] | None = None
    ) -> tuple[CheckpointView, Forecast]:
        view, foretold = forecast_restart(
            store,
            deploy,
            opening(storage_options),
            quick=quick,
            kafka_config=config,
            kafka_configs=configs,
            topic_ids=remembered.of(store.location),
            will_lose_within_ms=within_ms,
            beside=beside,
        )
        remembered.see(store, foretold.topic_ids)
        return view, foretold

    if piped is not None:
        from airflow_provider_ckpt.fleet.read_query_file import read_deploy  # a room that a location does not need

        _require_shared(said)

        def of_flow(query: Query, beside: frozenset[str] | None) -> tuple[CheckpointView, Forecast]:
            base = read_deploy(query)
            store = open_store(query.checkpoint, storage_options)
            view, foretold = foretell(store, _declare(base, conf_file, confs, **said), beside)
            if bookmark is not None:
                write_bookmark("--bookmark", _file_in(bookmark, query.name), store, view)
            return view, foretold

        outputs.finish(_pipeline_judged(piped, of_flow, full_refresh, fail_on))
    deploy = _declare(declared_deploy(context), conf_file, confs, **said)

    def evaluate(store: Store) -> Judged:
        view, foretold = foretell(store, deploy)
        if bookmark is not None:
            is_one, named = COLLECTED not in context.meta, query_of(location)
            name = location.rstrip("/").rpartition("/")[2] if named is None else named.name
            write_bookmark("--bookmark", bookmark if is_one else _file_in(bookmark, name), store, view)
        return Judged(store.location, foretold.findings, foretold, unknown=foretold.unknown, fail_on=fail_on)

    outputs.finish([judge(location, storage_options, evaluate)])


def _queries(context: click.Context) -> Collection[Query]:
    """The queries of the file that the command is about."""
    piped: Piped | None = context.meta.get(PIPELINE)
    named: Named | None = context.meta.get(META)
    if piped is not None:
        return [piped.file.queries[name] for name in piped.seen.names]
    return () if named is None else (named.query,)


def _file_in(directory: Path, name: str) -> Path:
    """The file of the bookmark of one of several queries, in a directory that is made where there is none."""
    with named_by("--bookmark", directory):
        directory.mkdir(exist_ok=True)
    return directory / f"{name}.json"


def _require_shared(said: Mapping[str, Any]) -> None:
    """Raise click.UsageError for an option that is of one query."""
    of_one = {"source_count", *OF_ONE_QUERY}
    given = {name for name, value in said.items() if name in of_one and value}
    for param in click.get_current_context().command.params:
        if param.name in given:
            raise click.UsageError(
                f"{param.opts[0]} is of one query; give it with the name of a flow, or in the query file"
            )


def _pipeline_judged(
    piped: Piped, foretell: Foretell, full_refresh: tuple[str, ...], fail_on: Literal["block", "warn"]
) -> list[Judged]:
    """The pipeline as a whole, and each of its flows. Raises click.UsageError."""
    from airflow_provider_ckpt.fleet.gated_pipeline import judge_pipeline  # the same
    from airflow_provider_ckpt.fleet.pipeline_findings import reasons_of

    for reason in reasons_of(piped.seen):
        say(reason, colour="yellow", err=True)
    try:
        gated = judge_pipeline(piped.file, piped.seen, foretell, full_refresh=full_refresh)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    flows = [
        Judged(flow.query.checkpoint, error=flow.error)
        if flow.forecast is None
        else Judged(
            flow.query.checkpoint, flow.forecast.findings, flow.forecast, unknown=flow.forecast.unknown, fail_on=fail_on
        )
        for flow in gated.flows
    ]
    return [Judged(gated.storage, gated.findings, unknown=gated.unknown, fail_on=fail_on, is_gate=True), *flows]


def _declare(
    deploy: DeploySpec,
    conf_file: Path | None,
    confs: tuple[str, ...],
    *,
    spark_version: str | None,
    source_count: int | None,
    sources: dict[str, Source],
    sink: str | None,
    operators: tuple[str, ...],
    classes: tuple[str, ...],
    trigger: str | None,
    source_options: tuple[str, ...],
) -> DeploySpec:
    """The deploy with what the command line adds; it wins over the query file. Raises click.UsageError."""
    if conf_file is not None:
        with named_by("--conf-file", conf_file):
            deploy = deploy.with_confs(parse_conf_file(read_text(conf_file, MOST_YAML_CHARS), conf_file.name))
    if source_count is not None and sources:
        raise click.UsageError("give either --source-count or --source")
    said = {
        "spark_version": spark_version,
        "confs": dict(pairs(confs, "--conf")) or None,
        "sources": source_count or tuple(sources.values()) or None,
        "sink": sink,
        "operators": [] if operators == ("none",) else list(operators) or None,
        "classes": list(classes) or None,
        "trigger": trigger,
        "source_options": dict(pairs(source_options, "--source-option")) or None,
    }
    try:
        return declare(deploy, said)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
