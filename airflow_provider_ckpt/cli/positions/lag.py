"""The command that shows how far a query is behind its sources: lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.options import (
    command,
    directories,
    format_of,
    formatted,
    open_store,
    option,
    shared,
    triggered,
    units_or_ms,
)
from airflow_provider_ckpt.cli.positions.source_options import AskedSources, asked_sources, asking
from airflow_provider_ckpt.cli.query_names import deploys_of_file, query_of
from airflow_provider_ckpt.cli.render import print_json, print_tables, say
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.query.declared import options_of_clusters
from airflow_provider_ckpt.report.lag_tables import LAG_COLUMNS, how_far, lag_row, partitions_table
from airflow_provider_ckpt.report.openmetrics import lag_metrics
from airflow_provider_ckpt.report.table import Table
from airflow_provider_ckpt.sources.lag import SPARK_STOPS, SourceLag
from airflow_provider_ckpt.sources.offer import hint_of
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, question_of, read_lag
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import LagDocument, LagsDocument

#: Partitions that people are shown, those with most unread first; ``--json`` has all of them.
MOST_ROWS = 100


@command(
    "ckpt lag s3://lake/checkpoints/orders --source 0=kafka:broker:9092",
    "ckpt lag s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --max 5m",
    "ckpt lag s3://lake/checkpoints/orders --source 0=delta:s3://lake/orders --format openmetrics",
    names=Names(several="at once", pipeline="flows"),
)
@click.argument("location", shell_complete=directories, nargs=-1)
@asking
@triggered
@option(
    "--ages",
    "Ask the Kafka broker also how old the first unread record of each partition is, in nine more requests, and when "
    "it may expire.",
)
@option(
    "--max HOW_FAR",
    "End with exit code 1 when a source is further behind: 5m for the age of its oldest unread data, or 10000 in the "
    "unit that is shown, such as offsets.",
    "most",
)
@formatted
@shared
def lag(
    location: tuple[str, ...],
    ages: bool,
    most: str | None,
    document: str | None,
    storage_options: tuple[str, ...],
    as_json: bool,
    **said: Any,
) -> int:
    """Show how far a query is behind, and what it reads next.

    For Kafka it counts offsets, and there may be fewer records than offsets; for tables and directories it counts
    versions, snapshots, files and bytes. Only committed batches count. With --max the exit code is 1 when the query is
    further behind than that, and also where nobody can tell. Without a location it shows every query of the query file,
    each with its own sources.
    """
    if not location:
        raise click.UsageError("give the location of a checkpoint, or declare queries in a ckpt.yaml")
    shown_as, asked = format_of(document, as_json=as_json), asked_sources(**said, declared=deploys_of_file())
    units, max_age_ms = (None, None) if most is None else units_or_ms(most)
    read: list[tuple[CheckpointView, tuple[SourceLag, ...]]] = []
    failed: dict[str, CheckpointError | click.UsageError] = {}
    for at in location:
        try:
            read.append(_read(at, asked, storage_options, ages=ages or max_age_ms is not None))
        except (CheckpointError, click.UsageError) as error:
            if len(location) == 1:
                raise
            failed[at] = error
    _show(read, failed, shown_as, are_many=len(location) > 1)
    behind = (
        []
        if most is None
        else [(view, source) for view, found in read for source in found if not source.is_within(units, max_age_ms)]
    )
    for view, source in behind:
        which = f"Source {source.source_id}{f' of {visible(view.location)}' if len(location) > 1 else ''}"
        say(f"{which} is more than {most} behind, or nobody can tell: {how_far(source)}.", colour="red", err=True)
    return max([int(bool(behind)), *(error.exit_code for error in failed.values())])


def _read(
    location: str, asked: AskedSources | None, storage_options: tuple[str, ...], *, ages: bool
) -> tuple[CheckpointView, tuple[SourceLag, ...]]:
    """How far a query is behind. Raises click.UsageError where no source is declared, CheckpointError."""
    store = open_store(location, storage_options)
    question = LagQuestion({}) if asked is None else question_of(asked.deploys.of(store.location), ages=ages)
    if asked is None or not question.sources:
        raise click.UsageError(
            "no source was declared, so nobody can be asked where it ends. " + hint_of(store, option="--source ")
        )
    query = query_of(location)
    configs = options_of_clusters([query] if query else [])
    access = Access(
        lambda place: open_store(place, storage_options), store, asked.kafka_config, "--source ", kafka_configs=configs
    )
    view = observe(store)
    return view, read_lag(view, question, access, now_ms())


def _show(
    read: Sequence[tuple[CheckpointView, tuple[SourceLag, ...]]],
    failed: Mapping[str, CheckpointError | click.UsageError],
    shown_as: str,
    *,
    are_many: bool,
) -> None:
    not_read = [f"{at}: {error}" for at, error in failed.items()]
    if shown_as == "openmetrics":
        rows = [_row_of(view, found) for view, found in read]
        click.echo(lag_metrics(*rows), nl=False)
    elif shown_as == "json":
        documents = [_document(view, found) for view, found in read]
        several: LagsDocument = {"format_version": FORMAT_VERSION, "queries": documents, "not_read": not_read}
        print_json(several if are_many else documents[0])
    else:
        for view, found in read:
            _print(view, found)
    for text in not_read:
        say(visible(text), colour="red", err=True)


def _row_of(view: CheckpointView, found: tuple[SourceLag, ...]) -> FleetRow:
    return FleetRow(
        view.location,
        view.query_id,
        latest_committed_batch=view.latest_committed,
        planned_at_ms=view.planned_at_ms,
        sources=found,
    )


def _document(view: CheckpointView, found: Sequence[SourceLag]) -> LagDocument:
    return {
        "format_version": FORMAT_VERSION,
        "location": view.location,
        "query_id": view.query_id,
        "latest_committed_batch": view.latest_committed,
        "planned_at_ms": view.planned_at_ms,
        "sources": [source.to_dict() for source in found],
    }


def _print(view: CheckpointView, found: Sequence[SourceLag]) -> None:
    at_ms = view.planned_at_ms
    batch = "no batch is committed" if view.latest_committed is None else f"batch {view.latest_committed}"
    title = f"{view.location}, {batch}{f' of {time_text(at_ms)}' if at_ms else ''}"
    tables = [Table(title, LAG_COLUMNS, tuple(map(lag_row, found)))]
    partitions = sorted((part for source in found for part in source.partitions), key=lambda part: -part.unread)
    if partitions:
        others = len(partitions) - len(partitions[:MOST_ROWS])
        name = f"Partitions, and {others} more with less" if others else "Partitions"
        tables.append(partitions_table(name, partitions[:MOST_ROWS]))
    _say_notes(found, first=True)
    print_tables(tables)
    _say_notes(found, first=False)


def _say_notes(found: Sequence[SourceLag], *, first: bool) -> None:
    """The notes of the sources: those that say that Spark does not start, before the table, or all others."""
    for source in found:
        for note in (*source.notes, *(source.next_batch.notes if source.next_batch else ())):
            if note.startswith(SPARK_STOPS) is first:
                say(f"Source {source.source_id}: {visible(note).rstrip('.')}.", colour="yellow")
