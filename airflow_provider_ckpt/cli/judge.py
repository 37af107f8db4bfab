"""Commands that judge: check a checkpoint, gate a deploy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import open_store, pairs, shared
from airflow_provider_ckpt.cli.render import print_json, print_tables
from airflow_provider_ckpt.confs import SPARK_MAX, parse_spark_version
from airflow_provider_ckpt.deploy import (
    DeclaredSource,
    DeploySpec,
    count_of_sources,
    parse_conf_file,
    parse_deploy_file,
)
from airflow_provider_ckpt.errors import GateFailedError
from airflow_provider_ckpt.forecast import forecast
from airflow_provider_ckpt.report import findings_table, forecast_tables


@click.command()
@click.argument("locations", nargs=-1, required=True)
@click.option("--deep", is_flag=True, help="List and verify everything: state chains, source logs, checksums.")
@shared
def check(locations: tuple[str, ...], deep: bool, storage_options: tuple[str, ...], as_json: bool) -> None:
    """Damage and hazards, by stable rule codes. Exit code 1 when there is an error."""
    documents, failed = [], False
    for location in locations:
        store = open_store(location, storage_options)
        findings = lifecycle.inspect(store, deep=deep)
        failed |= any(finding.severity == "error" for finding in findings)
        documents.append({"location": store.location, "findings": [finding.to_dict() for finding in findings]})
        if not as_json:
            click.secho(store.location, bold=True)
            if findings:
                print_tables([findings_table(findings)])
            else:
                click.secho("No findings.", fg="green")
    if as_json:
        print_json(documents[0] if len(documents) == 1 else {"checkpoints": documents})
    raise click.exceptions.Exit(1 if failed else 0)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("location")
@click.option("--conf", "confs", multiple=True, metavar="KEY=VALUE", help="A conf that the deploy sets explicitly.")
@click.option("--conf-file", type=_FILE, help="A spark-defaults file, or a YAML deploy file (.yaml, .yml).")
@click.option("--spark-version", help=f"Spark of the deploy; {'.'.join(map(str, SPARK_MAX))} when nothing says it.")
@click.option("--sources", "source_count", type=click.IntRange(min=1), help="How many sources the query has.")
@click.option("--source", "sources", multiple=True, metavar="NAME=TYPE", help="A source, by name or position.")
@click.option("--sink", metavar="KIND[:URI]", help="The sink, such as file:s3://lake/orders.")
@shared
def gate(
    location: str,
    confs: tuple[str, ...],
    conf_file: Path | None,
    spark_version: str | None,
    source_count: int | None,
    sources: tuple[str, ...],
    sink: str | None,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Forecast the restart: may this deploy go ahead on this checkpoint? Exit code 1 when it may not."""
    deploy = _read_deploy(conf_file).with_confs(dict(pairs(confs, "--conf")))
    deploy = _declare(deploy, spark_version, source_count, sources, sink)
    view = lifecycle.observe(open_store(location, storage_options))
    foretold = forecast(view, deploy)
    if as_json:
        print_json({"location": view.location, **foretold.to_dict()})
    else:
        print_tables(forecast_tables(view.location, foretold))
    raise click.exceptions.Exit(GateFailedError.exit_code if foretold.verdict == "block" else 0)


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
