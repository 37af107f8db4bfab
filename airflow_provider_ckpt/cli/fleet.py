"""The command that judges many checkpoints: fleet."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import open_store, pairs, shared
from airflow_provider_ckpt.cli.render import print_error, print_tables, say
from airflow_provider_ckpt.confs import parse_spark_version
from airflow_provider_ckpt.deploy import DeploySpec
from airflow_provider_ckpt.errors import CheckpointNotFoundError, GateFailedError
from airflow_provider_ckpt.findings import SEVERITIES
from airflow_provider_ckpt.formats import printable
from airflow_provider_ckpt.lifecycle import FleetRow
from airflow_provider_ckpt.lifecycle.fleet import DEPTH, THREADS
from airflow_provider_ckpt.report import fleet_table
from airflow_provider_ckpt.store import Store


@dataclass(slots=True)
class _Summary:
    """What the rows add up to: checkpoints, how many of them with what at worst, and what could not be read."""

    checkpoints: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    unreadable: int = 0
    replaced: int = 0
    blocked: int = 0
    requests: int = 0
    requests_per_checkpoint: float | None = None

    @property
    def found(self) -> int:
        """How many directories were a checkpoint, or could not be read."""
        return self.checkpoints + self.unreadable + self.replaced

    @property
    def failed(self) -> bool:
        """Whether the answer is no."""
        return bool(self.errors or self.blocked or self.unreadable)

    def sentence(self) -> str:
        """One line for people."""
        counted = [f"{self.errors} with errors", f"{self.warnings} with warnings"]
        if self.unreadable:
            counted.append(f"{self.unreadable} not readable")
        if self.replaced:
            counted.append(f"{self.replaced} replaced by a full refresh")
        each = "" if self.requests_per_checkpoint is None else f", {self.requests_per_checkpoint:.1f} a checkpoint"
        return f"{self.checkpoints} checkpoints: {', '.join(counted)}. {self.requests} requests{each}."


@click.command()
@click.argument("roots", nargs=-1, required=True, metavar="ROOT...")
@click.option("--deep", is_flag=True, help="List and verify everything: state chains, source logs, checksums.")
@click.option("--depth", default=DEPTH, show_default=True, type=click.IntRange(min=0), help="Levels below a root.")
@click.option("--threads", default=THREADS, show_default=True, type=click.IntRange(1, 64), help="Checks at a time.")
@click.option("--spark-version", help="Forecast the restart of each with this Spark.")
@click.option(
    "--conf", "confs", multiple=True, metavar="KEY=VALUE", help="Forecast with a conf that is set explicitly."
)
@click.option("--allow-empty", is_flag=True, help="Roots without any checkpoint are no error.")
@shared
def fleet(
    roots: tuple[str, ...],
    deep: bool,
    depth: int,
    threads: int,
    spark_version: str | None,
    confs: tuple[str, ...],
    allow_empty: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find every checkpoint under some roots and check it; a row each, worst first.

    Exit code 1 when there is an error, or a directory that could not be read; 3 when there is no checkpoint. Of a flow
    of a declarative pipeline the newest version alone is checked, the others are shown as replaced. With --json the
    rows are printed as they come, in the order of their directories.
    """
    deploy = _deploy(spark_version, confs)
    stores = [open_store(root, storage_options) for root in roots]
    found = lifecycle.find_checkpoints(stores, depth=depth, threads=threads)
    summary = _Summary()
    judged = lifecycle.judge_checkpoints(found, deep=deep, deploy=deploy, threads=threads)
    rows = _count(_watch(judged), stores, summary)
    (_stream if as_json else _print_for_people)(rows, summary)
    if not summary.found and not allow_empty:
        error = CheckpointNotFoundError(
            f"no checkpoint stands here, down to {depth} levels below.",
            location=" ".join(store.location for store in stores),
            hint="Give the directory that holds the checkpoints, or a greater --depth.",
        )
        print_error(error, as_json=False)  # with --json, the document is written already
        raise click.exceptions.Exit(error.exit_code)
    raise click.exceptions.Exit(GateFailedError.exit_code if summary.failed else 0)


def _deploy(spark_version: str | None, confs: tuple[str, ...]) -> DeploySpec | None:
    if spark_version is None and not confs:
        return None
    deploy = DeploySpec(confs=dict(pairs(confs, "--conf")))
    try:
        return deploy if spark_version is None else DeploySpec(parse_spark_version(spark_version), deploy.confs)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--spark-version") from None


def _watch(rows: Iterator[FleetRow]) -> Iterator[FleetRow]:
    """The same rows, and a bar on stderr that counts them where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield from rows
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(rows, total=None)


def _count(rows: Iterable[FleetRow], stores: Sequence[Store], summary: _Summary) -> Iterator[FleetRow]:
    """The same rows; when the last one has passed, the summary is complete."""
    for row in rows:
        summary.checkpoints += row.error is None and row.replaced_by is None
        summary.replaced += row.replaced_by is not None
        summary.unreadable += row.error is not None
        summary.errors += row.error is None and row.worst == "error"
        summary.warnings += row.worst == "warning"
        summary.notes += row.worst == "note"
        summary.blocked += row.verdict == "block"
        yield row
    summary.requests = sum(store.calls.count for store in stores)
    if summary.checkpoints:
        summary.requests_per_checkpoint = round(summary.requests / summary.checkpoints, 2)


def _stream(rows: Iterable[FleetRow], summary: _Summary) -> None:
    """Print one document, each row as soon as it is there, and keep none."""
    separator = '{"checkpoints": [\n'
    for row in rows:
        click.echo(f"{separator}{json.dumps(row.to_dict())}", nl=False)
        separator = ",\n"
    start = "\n" if summary.found else separator
    click.echo(f'{start}], "summary": {json.dumps(asdict(summary))}}}')


def _print_for_people(rows: Iterable[FleetRow], summary: _Summary) -> None:
    kept = sorted(rows, key=lambda row: (SEVERITIES.index(row.worst) if row.worst else len(SEVERITIES), row.location))
    if kept:
        table = fleet_table(kept)
        print_tables([replace(table, rows=tuple(map(_printable, table.rows)))])
    colour = "red" if summary.failed else "yellow" if summary.warnings else "green"
    say(summary.sentence(), colour=colour)


def _printable(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(printable(cell) if isinstance(cell, str) else cell for cell in cells)


COMMANDS = (fleet,)
