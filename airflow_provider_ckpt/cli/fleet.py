"""The command that judges many checkpoints: fleet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.checks.findings import SEVERITIES
from airflow_provider_ckpt.cli.files import WrittenFile, require_outside
from airflow_provider_ckpt.cli.options import (
    Whole,
    directories,
    examples,
    open_store,
    opening,
    pairs,
    shared,
    triggered,
)
from airflow_provider_ckpt.cli.render import print_error, print_tables, say
from airflow_provider_ckpt.cli.sources import asked_sources, asking
from airflow_provider_ckpt.cli.topic_memory import TopicMemory
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointNotFoundError, GateFailedError
from airflow_provider_ckpt.fleet.find import DEPTH, THREADS, Unsearched, find_checkpoints
from airflow_provider_ckpt.fleet.index import left_out_text
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.read_positions import FleetPositions
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.fleet.write_index import IndexWriter
from airflow_provider_ckpt.report.ci import printable
from airflow_provider_ckpt.report.openmetrics import fleet_metrics
from airflow_provider_ckpt.report.tables import fleet_table, not_judged_text
from airflow_provider_ckpt.restart.deploy import DeploySpec, declare
from airflow_provider_ckpt.restart.forecast import DECISIONS
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import FleetSummaryFields

NO_ROOT = (
    "name at least one ROOT, a directory with checkpoints in it or below it, such as ckpt fleet s3://lake/checkpoints. "
    "A root of backups, as of --backups, is none."
)


@dataclass(slots=True)
class _Summary:
    """What the rows add up to: checkpoints, how many of them with what at worst, and what could not be read.

    ``decision`` is that of a gate on all of them, the worst; None without a deploy.
    """

    decision: str | None = None
    unknown: tuple[str, ...] = ()
    checkpoints: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    unreadable: int = 0
    replaced: int = 0
    blocked: int = 0
    sources_unreadable: int = 0
    not_searched: int = 0
    requests: int = 0
    requests_per_checkpoint: float | None = None

    @property
    def found(self) -> int:
        """How many directories were a checkpoint, or could not be read."""
        return self.checkpoints + self.unreadable + self.replaced

    @property
    def failed(self) -> bool:
        """Whether the answer is no."""
        return bool(self.errors or self.blocked or self.unreadable or self.sources_unreadable)

    def add(self, row: FleetRow) -> None:
        """Count a row."""
        self.checkpoints += row.error is None and row.replaced_by is None
        self.replaced += row.replaced_by is not None
        self.unreadable += row.error is not None
        self.errors += row.error is None and any(finding.severity == "error" for finding in row.findings)
        self.warnings += row.worst == "warning"
        self.notes += row.worst == "note"
        self.blocked += row.decision == "block"
        self.sources_unreadable += row.lag_error is not None
        self.unknown = tuple(dict.fromkeys((*self.unknown, *row.unknown)))
        if row.decision is not None:
            self.decision = max(self.decision or "pass", row.decision, key=DECISIONS.index)

    def to_dict(self) -> FleetSummaryFields:
        """JSON-ready."""
        return {
            "decision": self.decision,
            "unknown": list(self.unknown),
            "checkpoints": self.checkpoints,
            "errors": self.errors,
            "warnings": self.warnings,
            "notes": self.notes,
            "unreadable": self.unreadable,
            "replaced": self.replaced,
            "blocked": self.blocked,
            "sources_unreadable": self.sources_unreadable,
            "not_searched": self.not_searched,
            "requests": self.requests,
            "requests_per_checkpoint": self.requests_per_checkpoint,
        }

    def headline(self) -> str:
        """The first line for people: the decision, what was found, and what was not judged."""
        counted = [f"{self.errors} with errors", f"{self.warnings} with warnings"]
        if self.decision is not None:
            counted.insert(0, f"{self.blocked} blocked")
        if self.unreadable:
            counted.append(f"{self.unreadable} not readable")
        if self.sources_unreadable:
            counted.append(f"{self.sources_unreadable} whose sources could not be asked")
        if self.replaced:
            counted.append(f"{self.replaced} replaced by a full refresh")
        if self.not_searched:
            counted.append(f"{self.not_searched} directories deeper than --depth, which were not searched")
        decision = "" if self.decision is None else f"{self.decision.upper()} "
        plural = "" if self.checkpoints == 1 else "s"
        what = f"{decision}{self.checkpoints} checkpoint{plural}: {', '.join(counted)}"
        return f"{what}{not_judged_text(self.unknown)}"

    def cost(self) -> str:
        """The last line for people."""
        each = "" if self.requests_per_checkpoint is None else f", {self.requests_per_checkpoint:.1f} per checkpoint"
        return f"{self.requests} requests{each}."


@click.command(
    epilog=examples(
        "ckpt fleet s3://lake/checkpoints s3://lake/tables",
        "ckpt fleet s3://lake/checkpoints --spark-version 4.3",
        "ckpt fleet s3://lake/checkpoints --source 0=kafka:broker:9092 --format openmetrics",
        "ckpt fleet s3://lake/checkpoints --index s3://lake/ckpt/index --backups s3://lake/backups",
    )
)
@click.argument("roots", shell_complete=directories, nargs=-1, metavar="ROOT...")
@click.option(
    "--deep",
    is_flag=True,
    help="Also read all state chains, source logs and checksum files. By default only the two logs are read.",
)
@click.option(
    "--depth",
    default=DEPTH,
    show_default=True,
    type=Whole(min=0),
    metavar="LEVELS",
    help="Search this number of directory levels below each root; all levels below _checkpoints of a pipeline.",
)
@click.option(
    "--threads",
    default=THREADS,
    show_default=True,
    type=Whole(1, 64),
    metavar="THREADS",
    help="Check this number of checkpoints at the same time, 1 to 64.",
)
@click.option(
    "--spark-version", metavar="VERSION", help="Gate each checkpoint: forecast its restart with this Spark version."
)
@click.option(
    "--conf",
    "confs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Gate each checkpoint: SQL conf that the deploy sets. Can be given more than once.",
)
@asking
@triggered
@click.option(
    "--ages",
    is_flag=True,
    help="Ask the Kafka brokers also how old the first unread record of each partition is, in nine more requests, and "
    "when it may expire.",
)
@click.option(
    "--topic-ids",
    "topic_ids",
    type=WrittenFile(Path),
    metavar="FILE",
    help="File that remembers the ids of topics, to tell one that was created again. Topics that it does not have are "
    "added.",
)
@click.option(
    "--index",
    metavar="URL",
    help="Also write the index that the Checkpoints page in Airflow shows, into this directory of its own.",
)
@click.option(
    "--backups",
    "backup_roots",
    multiple=True,
    metavar="ROOT",
    help="Root of backups: the index says when the newest backup of each query was made. It needs --index, and is no "
    "ROOT of checkpoints. Can be given more than once.",
)
@click.option(
    "--format",
    "document",
    type=click.Choice(("text", "json", "openmetrics")),
    help="Format of the result. By default text.",
)
@click.option("--allow-empty", is_flag=True, help="End with exit code 0, not 3, when there is no checkpoint.")
@shared
def fleet(
    roots: tuple[str, ...],
    deep: bool,
    depth: int,
    threads: int,
    spark_version: str | None,
    confs: tuple[str, ...],
    ages: bool,
    topic_ids: Path | None,
    index: str | None,
    backup_roots: tuple[str, ...],
    document: str | None,
    allow_empty: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    **said: Any,
) -> None:
    """Find every checkpoint under the roots and check it. One row for each, worst first.

    With --spark-version or --conf the restart of each checkpoint is forecast, as by ckpt gate. With --source or
    --sources-file the sources are asked how far each query is behind, and what its restart would lose; one connection
    to a broker serves all queries. The first line names what was not judged because it was neither declared nor read;
    that is never a pass.
    Exit code 1 when there is an error, a decision to block, or a directory or a source that could not be read; 3 when
    there is no checkpoint. Directories that --depth leaves out are counted, and change no exit code. Of a flow of a
    declarative pipeline only the newest version is checked; the others are listed as replaced. With --json the rows
    are printed in the order of their directories, not worst first.
    """
    if not roots:
        raise click.UsageError(NO_ROOT)
    if as_json and document not in (None, "json"):
        raise click.UsageError(f"give either --json or --format {document}")
    deploy, remembered = _deploy(spark_version, confs), TopicMemory(topic_ids)
    positions = _positions(said, remembered, opening(storage_options), ages=ages)
    stores = [open_store(root, storage_options) for root in roots]
    writer = _index_writer(index, stores, backup_roots, storage_options)
    unsearched = Unsearched()
    found = find_checkpoints(stores, depth=depth, threads=threads, unsearched=unsearched)
    summary = _Summary()
    judged = judge_checkpoints(found, deep=deep, deploy=deploy, threads=threads, positions=positions)
    judged = judged if writer is None else writer.taking(judged)
    rows = _count(_watch(judged), stores, summary, unsearched)
    show = {"json": _stream, "openmetrics": _print_metrics}.get(
        "json" if as_json else document or "", _print_for_people
    )
    show(rows, summary)
    for location, ids in positions.topic_ids.items() if positions is not None else ():
        remembered.see(open_store(location, storage_options), ids)
    if writer is not None and writer.write() is None:
        say(f"{index}: a newer index is there already, so this one was not written.", err=True)
    if writer is not None and writer.left_out:
        say(left_out_text(writer.left_out), err=True)
    if not summary.found and not allow_empty:
        error = CheckpointNotFoundError(
            f"there is no checkpoint here, nor in the {depth} directory levels below.",
            location=" ".join(store.location for store in stores),
            hint="Give the directory that holds the checkpoints, or a greater --depth.",
        )
        print_error(error, as_json=False)  # with --json, the document is written already
        raise click.exceptions.Exit(error.exit_code)
    raise click.exceptions.Exit(GateFailedError.exit_code if summary.failed else 0)


def _index_writer(
    index: str | None, stores: Sequence[Store], backup_roots: tuple[str, ...], storage_options: tuple[str, ...]
) -> IndexWriter | None:
    """What writes the index; None when none is wanted."""
    if index is None:
        if backup_roots:
            raise click.UsageError("--backups needs --index URL: the index says when each query was backed up")
        return None
    store = open_store(index, storage_options)
    if store.is_local:
        require_outside("--index", Path(store.root, "index"))
    return IndexWriter(store, stores, [open_store(root, storage_options) for root in backup_roots])


def _deploy(spark_version: str | None, confs: tuple[str, ...]) -> DeploySpec | None:
    if spark_version is None and not confs:
        return None
    try:
        return declare(DeploySpec(), {"spark_version": spark_version, "confs": dict(pairs(confs, "--conf")) or None})
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _positions(
    said: dict[str, Any], remembered: TopicMemory, opened: Callable[[str], Store], *, ages: bool
) -> FleetPositions | None:
    """What asks the sources; None when none is declared. Raises click.UsageError."""
    asked = asked_sources(**said)
    if asked is None:
        if ages:
            raise click.UsageError("--ages needs --source or --sources-file")
        return None
    return FleetPositions(asked.deploys, opened, asked.kafka_config, now_ms(), ages=ages, known_ids=remembered.of)


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


def _count(
    rows: Iterable[FleetRow], stores: Sequence[Store], summary: _Summary, unsearched: Unsearched
) -> Iterator[FleetRow]:
    """The same rows; when the last one has passed, the summary is complete."""
    for row in rows:
        summary.add(row)
        yield row
    if summary.decision is not None and summary.unreadable:
        summary.decision = "block"
    summary.not_searched = unsearched.count
    summary.requests = sum(store.calls.count for store in stores)
    if summary.checkpoints:
        summary.requests_per_checkpoint = round(summary.requests / summary.checkpoints, 2)


def _stream(rows: Iterable[FleetRow], summary: _Summary) -> None:
    """Print one document, each row as soon as it is there, and keep none."""
    separator = f'{{"format_version": {FORMAT_VERSION}, "checkpoints": [\n'
    for row in rows:
        click.echo(f"{separator}{json.dumps(row.to_dict())}", nl=False)
        separator = ",\n"
    start = "\n" if summary.found else separator
    click.echo(f'{start}], "summary": {json.dumps(summary.to_dict())}}}')


def urgency(row: FleetRow) -> tuple[int, float, str]:
    """Worst first; of equal ones the one whose unread data may be deleted first."""
    expires_ms = inf if row.expires_ms is None else row.expires_ms
    return SEVERITIES.index(row.worst) if row.worst else len(SEVERITIES), expires_ms, row.location


def _print_for_people(rows: Iterable[FleetRow], summary: _Summary) -> None:
    kept = sorted(rows, key=urgency)
    colour = "red" if summary.failed else "yellow" if summary.warnings or summary.unknown else "green"
    say(summary.headline(), colour=colour)
    if kept:
        table = fleet_table(kept)
        print_tables([replace(table, rows=tuple(map(_printable, table.rows)))])
    say(summary.cost())


def _print_metrics(rows: Iterable[FleetRow], _: _Summary) -> None:
    """One exposition, of which each family holds the samples of all checkpoints."""
    click.echo(fleet_metrics(list(rows)), nl=False)


def _printable(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(printable(cell) if isinstance(cell, str) else cell for cell in cells)
