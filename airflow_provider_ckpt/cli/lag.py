"""The command that shows how far a query is behind its sources: lag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.options import (
    directories,
    examples,
    open_store,
    pairs,
    shared,
    source_types,
    triggered,
)
from airflow_provider_ckpt.cli.render import counted, print_json, print_tables, say, size
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.positions.lag import SourceLag
from airflow_provider_ckpt.positions.read_lag import LagQuestion, read_lag
from airflow_provider_ckpt.positions.source_options import QueryOptions, parse_options
from airflow_provider_ckpt.report.openmetrics import lag_metrics
from airflow_provider_ckpt.report.tables import Table
from airflow_provider_ckpt.sources.declared import Access
from airflow_provider_ckpt.sources.offer import hint_of
from airflow_provider_ckpt.times import duration_text, time_text
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import LagDocument

#: Partitions that people are shown, those with most unread first; ``--json`` has all of them.
MOST_ROWS = 100


@click.command(
    epilog=examples(
        "ckpt lag s3://lake/checkpoints/orders --source 0=kafka:broker:9092",
        "ckpt lag s3://lake/checkpoints/orders --source 0=delta:s3://lake/orders --format openmetrics",
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="ID=TYPE[:PLACE]",
    help="What a source reads from, by its id, such as 0=kafka:host:9092, 0=delta:URI, 0=iceberg:URI, "
    "0=file:DIRECTORY. Can be given more than once.",
)
@click.option(
    "--source-option",
    "source_options",
    multiple=True,
    metavar="ID.KEY=VALUE",
    help="Option of a Kafka source, such as 0.maxOffsetsPerTrigger=1000, for what the next batch reads. Can be given "
    "more than once.",
)
@click.option(
    "--kafka-config",
    "kafka_config",
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of the Kafka client, such as security.protocol=SSL. Can be given more than once.",
)
@click.option(
    "--ages",
    is_flag=True,
    help="Ask the Kafka broker also how old the first unread record of each partition is, in nine more requests, and "
    "when it may expire.",
)
@click.option(
    "--format",
    "document",
    type=click.Choice(("text", "json", "openmetrics")),
    help="Format of the result. By default text.",
)
@triggered
@shared
def lag(
    location: str,
    sources: tuple[str, ...],
    source_options: tuple[str, ...],
    kafka_config: tuple[str, ...],
    ages: bool,
    document: str | None,
    trigger: str | None,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how far a query is behind its sources, and what its next batch reads.

    Kafka is counted in offsets, of which there are at least as many as records; tables and directories in versions,
    snapshots, files and bytes. Only committed batches count.
    """
    if as_json and document not in (None, "json"):
        raise click.UsageError(f"give either --json or --format {document}")
    source_types(sources)
    store = open_store(location, storage_options)
    if not sources:
        raise click.UsageError(
            "no source was declared, so nobody can be asked where it ends. " + hint_of(store, option="--source ")
        )
    question = LagQuestion(dict(pairs(sources, "--source")), _options(source_options, trigger), ages)
    config = dict(pairs(kafka_config, "--kafka-config"))
    view, now = observe(store), now_ms()
    access = Access(lambda place: open_store(place, storage_options), store, config, "--source ")
    found = read_lag(view, question, access, now)
    answer = _document(view, found)
    if document == "openmetrics":
        click.echo(lag_metrics(answer), nl=False)
    elif as_json or document == "json":
        print_json(answer)
    else:
        _print(view, found)


def _options(texts: tuple[str, ...], trigger: str | None) -> QueryOptions:
    try:
        return parse_options(pairs(texts, "--source-option"), trigger)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--source-option") from None


def _document(view: CheckpointView, found: Sequence[SourceLag]) -> LagDocument:
    return {
        "format_version": FORMAT_VERSION,
        "location": view.location,
        "query_id": view.query_id,
        "latest_committed_batch": view.latest_committed,
        "planned_at_ms": _planned_at_ms(view),
        "sources": [source.to_dict() for source in found],
    }


def _planned_at_ms(view: CheckpointView) -> int | None:
    if view.latest_committed is None or view.latest_committed not in view.planned:
        return None
    metadata = view.offset_seq(view.latest_committed).metadata
    return metadata.batch_timestamp_ms if metadata else None


def _print(view: CheckpointView, found: Sequence[SourceLag]) -> None:
    at_ms = _planned_at_ms(view)
    batch = "no batch is committed" if view.latest_committed is None else f"batch {view.latest_committed}"
    title = f"{view.location}, {batch}{f' of {time_text(at_ms)}' if at_ms else ''}"
    columns = ("source", "type", "unread", "files", "bytes", "oldest", "next batch")
    tables = [Table(title, columns, tuple(map(_row, found)))]
    partitions = sorted((part for source in found for part in source.partitions), key=lambda part: -part.unread)
    if partitions:
        rows = tuple(
            (
                f"{part.topic}-{part.partition}",
                part.position,
                part.end,
                part.unread,
                part.lost,
                _age(part.age_ms),
                _age(part.expires_ms),
            )
            for part in partitions[:MOST_ROWS]
        )
        others = len(partitions) - len(rows)
        name = f"Partitions, and {others} more with less" if others else "Partitions"
        tables.append(Table(name, ("partition", "position", "end", "unread", "lost", "oldest", "expires in"), rows))
    print_tables(tables)
    for source in found:
        for note in (*source.notes, *(source.next_batch.notes if source.next_batch else ())):
            say(f"Source {source.source_id}: {visible(note).rstrip('.')}.", colour="yellow")


def _row(source: SourceLag) -> tuple[Any, ...]:
    unread = None
    if source.total is not None and source.unit is not None:
        unread = (
            f"{'at most ' if source.unit == 'offsets' else ''}{counted(source.total, source.unit.removesuffix('s'))}"
        )
    return (
        source.source_id,
        source.source_type,
        unread,
        source.files,
        None if source.size is None else size(source.size),
        _age(source.age_ms),
        None if source.next_batch is None else source.next_batch.text,
    )


def _age(age_ms: int | None) -> str | None:
    return None if age_ms is None else duration_text(age_ms)
