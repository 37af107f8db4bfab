"""Commands that judge: check a checkpoint, gate a deploy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import open_store, pairs, shared
from airflow_provider_ckpt.cli.outputs import Outputs, judge, judging
from airflow_provider_ckpt.confs import SPARK_MAX, parse_spark_version
from airflow_provider_ckpt.deploy import (
    DeclaredSource,
    DeploySpec,
    count_of_sources,
    parse_conf_file,
    parse_deploy_file,
)
from airflow_provider_ckpt.forecast import forecast
from airflow_provider_ckpt.formats import Judged
from airflow_provider_ckpt.store import Store


@click.command()
@click.argument("locations", nargs=-1, required=True)
@click.option("--deep", is_flag=True, help="List and verify everything: state chains, source logs, checksums.")
@judging
@shared
def check(locations: tuple[str, ...], deep: bool, storage_options: tuple[str, ...], outputs: Outputs) -> None:
    """Damage and hazards, by stable rule codes. Exit code 1 when there is an error."""

    def look(store: Store) -> Judged:
        return Judged(store.location, lifecycle.inspect(store, deep=deep))

    outputs.finish([judge(location, storage_options, look) for location in locations])


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("location")
@click.option("--conf", "confs", multiple=True, metavar="KEY=VALUE", help="A conf that the deploy sets explicitly.")
@click.option("--conf-file", type=_FILE, help="A spark-defaults file, or a YAML deploy file (.yaml, .yml).")
@click.option("--spark-version", help=f"Spark of the deploy; {'.'.join(map(str, SPARK_MAX))} when nothing says it.")
@click.option("--sources", "source_count", type=click.IntRange(min=1), help="How many sources the query has.")
@click.option("--source", "sources", multiple=True, metavar="NAME=TYPE", help="A source, by name or position.")
@click.option("--sink", metavar="KIND[:URI]", help="The sink; the log of file:URI is read, too.")
@click.option("--operator", "operators", multiple=True, metavar="NAME", help="A stateful operator, in Spark's order.")
@click.option("--deep", is_flag=True, help="Also look at state, source logs and checksums.")
@judging
@shared
def gate(
    location: str,
    confs: tuple[str, ...],
    conf_file: Path | None,
    spark_version: str | None,
    source_count: int | None,
    sources: tuple[str, ...],
    sink: str | None,
    operators: tuple[str, ...],
    deep: bool,
    storage_options: tuple[str, ...],
    outputs: Outputs,
) -> None:
    """Forecast the restart: may this deploy go ahead on this checkpoint? Exit code 1 when it may not."""
    deploy = _read_deploy(conf_file).with_confs(dict(pairs(confs, "--conf")))
    deploy = _declare(deploy, spark_version, source_count, sources, sink)
    deploy = replace(deploy, operators=operators) if operators else deploy
    uri = deploy.file_sink
    sink_store = None if uri is None else open_store(uri, storage_options)

    def look(store: Store) -> Judged:
        foretold = forecast(lifecycle.examine(store, deep=deep, sink=sink_store), deploy)
        return Judged(store.location, foretold.findings, foretold)

    outputs.finish([judge(location, storage_options, look)])


def _read_deploy(conf_file: Path | None) -> DeploySpec:
    if conf_file is None:
        return DeploySpec()
    text = conf_file.read_text(encoding="utf-8")
    if conf_file.suffix not in (".yaml", ".yml"):
        return DeploySpec(confs=parse_conf_file(text))
    try:
        return parse_deploy_file(text)
    except ValueError as error:
        raise click.BadParameter(f"{conf_file}: {error}", param_hint="--conf-file") from None


def _declare(
    deploy: DeploySpec, spark_version: str | None, source_count: int | None, sources: tuple[str, ...], sink: str | None
) -> DeploySpec:
    """The deploy with what the command line adds; it wins over the file."""
    if spark_version is not None:
        try:
            deploy = replace(deploy, spark_version=parse_spark_version(spark_version))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--spark-version") from None
    if source_count is not None and sources:
        raise click.UsageError("give either --sources or --source")
    if source_count is not None:
        deploy = replace(deploy, sources=count_of_sources(source_count))
    if sources:
        declared = tuple(DeclaredSource(name, kind) for name, kind in pairs(sources, "--source"))
        deploy = replace(deploy, sources=declared)
    return deploy if sink is None else replace(deploy, sink=sink)


COMMANDS = (check, gate)
