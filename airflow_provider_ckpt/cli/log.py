"""Commands that show what batches read, and change nothing: log, diff."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.batches.compare import read_between, source_ids
from airflow_provider_ckpt.batches.read_files import FileLogs
from airflow_provider_ckpt.batches.read_logs import list_log, one_after_the_other, read_batches
from airflow_provider_ckpt.batches.rows import BatchRow, Origin, rows_of
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.light_check import light_check, say_light_check
from airflow_provider_ckpt.cli.options import (
    Whole,
    command,
    directories,
    open_store,
    option,
    shared,
    types_of,
    with_sources,
)
from airflow_provider_ckpt.cli.render import print_json, print_tables, say, when
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointMovedError, CheckpointNotFoundError
from airflow_provider_ckpt.graph.proven_types import fitting
from airflow_provider_ckpt.graph.read_types import read_types
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.report.table import Table, counted
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import (
        BatchFields,
        DiffDocument,
        FileFields,
        LogDocument,
        SourceAdvanceFields,
    )

_with_files = option("--files", "Also name the files that file sources took.", "with_files")
_SOURCE_HELP = (
    "Type of a source by its id, such as 0=kafka. Offsets of a source without a type, which its own log does not prove "
    "either, are shown as text. Can be given more than once."
)


@command(
    "ckpt log s3://lake/checkpoints/orders --last 20 --source 0=kafka",
    "ckpt log s3://lake/checkpoints/orders --batch 41 --json",
)
@click.argument("location", shell_complete=directories)
@option("--last BATCHES", "Show this number of batches, the newest ones.", default=10, type=Whole(min=1))
@option("--batch BATCH_ID", "Show this batch only.", "batch_id", type=Whole())
@with_sources(_SOURCE_HELP, metavar="ID=TYPE")
@_with_files
@shared
def log(
    location: str,
    last: int,
    batch_id: int | None,
    sources: dict[str, Source],
    with_files: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show both logs: a row for each batch, and what it read."""
    store = open_store(location, storage_options)
    listing = list_log(store)
    if batch_id is not None and batch_id not in listing.batches:
        from airflow_provider_ckpt.change.record.find_removed import find_removed_batch  # for this error alone

        raise CheckpointNotFoundError(
            "neither the offset log nor the commit log has this batch",
            location=store.location,
            batch_id=batch_id,
            hint=find_removed_batch(store, batch_id) or None,
        )
    wanted = [batch_id] if batch_id is not None else listing.batches[-last:]
    batches = [
        batch
        for batch in read_batches(store, listing, wanted, one_after_the_other(store))
        if not batch.vanished  # Spark has purged it since
    ]
    for problem in (problem for batch in batches for problem in batch.problems):
        raise problem
    seen = _seen(store)
    declared = _types(sources, source_ids(batch.offsets for batch in batches))
    read = {} if seen is None else {at: found for at, found in read_types(store, seen).items() if at not in declared}
    shown = (entry for batch in batches for entry in (batch.previous, batch.offsets, batch.following))
    read = fitting(read, [entry for entry in shown if entry is not None])
    types = {**declared, **{source_id: proven.type for source_id, proven in read.items()}}
    origin = Origin(store.location, declared=types)
    rows = [_batch(rows_of(batch, origin)) for batch in batches]
    if with_files:
        logs = FileLogs(store)
        rows = [{**row, "files": _files(logs, row["sources"])} for row in rows]
    checked = None if seen is None else light_check(seen)
    if as_json:
        document: LogDocument = {
            "format_version": FORMAT_VERSION,
            "location": store.location,
            "batches": rows,
            "types_read": {source_id: proven.to_dict() for source_id, proven in read.items()},
            "checked": checked,
        }
        print_json(document)
        return
    columns = ("batch", "planned at", "watermark", "advanced")
    print_tables([Table(store.location, columns, tuple(map(_batch_row, rows)))])
    if left_out := _left_out(rows, len(listing.batches) if batch_id is None else len(wanted), len(wanted), with_files):
        say(f"Left out: {'; '.join(left_out)}.")
    for source_id, proven in read.items():
        say(proven.sentence(source_id))
    if checked is not None:
        say_light_check(store.location, checked)
    if with_files:
        _print_files([(row["batch_id"], *file.values()) for row in rows for file in row["files"] or ()], "batch")


def _seen(store: Store) -> CheckpointView | None:
    """The newest entries; None when these went while they were read."""
    try:
        return observe(store)
    except CheckpointMovedError:
        return None


def _files(logs: FileLogs, sources: Sequence[SourceAdvanceFields]) -> list[FileFields]:
    """The files that sources took."""
    taken = logs.of((item["source_id"], item["start_offset"], item["end_offset"]) for item in sources)
    return [file.to_dict() for file in taken]


def _print_files(rows: Sequence[tuple[Any, ...]], *first: str) -> None:
    """The files in full, or that no file source took any."""
    if rows:
        print_tables([Table("Files", (*first, "source", "file", "log entry"), tuple(rows))])
    else:
        say("No file source took a file.")


def _types(sources: Mapping[str, Source], known: Collection[str]) -> dict[str, str]:
    """The declared types of sources that the query has. Raises click.BadParameter for any other."""
    declared = types_of(sources)
    unknown = [source_id for source_id in declared if known and source_id not in known]
    if unknown:
        raise click.BadParameter(
            f"the query has no source {unknown[0]!r}; it has {', '.join(known)}", param_hint="--source"
        )
    return declared


def _batch_row(row: BatchFields) -> tuple[Any, ...]:
    advanced = "; ".join(map(_advance_text, row["sources"]))
    batch = row["batch_id"] if row["committed"] else (str(row["batch_id"]), "no commit")
    return batch, row["batch_timestamp"], row["watermark"], advanced


def _left_out(rows: Sequence[BatchFields], batches: int, asked: int, with_files: bool) -> list[str]:
    """Names of what the table does not show, each with what shows it."""
    items = [item for row in rows for item in row["sources"]]
    partitions = {
        (item["source_id"], name) for item in items if len(item["partitions"]) > 1 for name in item["partitions"]
    }
    unknown = dict.fromkeys(item["source_id"] for item in items if item["source_type"] is None)
    told = []
    if asked < batches:
        told.append(f"{counted(batches - asked, 'earlier batch')} (--last {batches} shows all)")
    if len(rows) < asked:
        told.append(f"{counted(asked - len(rows), 'batch')} that Spark has purged meanwhile")
    if partitions:
        told.append(f"{len(partitions):,} partitions, which are added up (ckpt diff shows each)")
    if unknown:
        asked_for = " ".join(f"--source {source_id}=TYPE" for source_id in unknown)
        told.append(f"how much was read of sources whose type is not known ({asked_for})")
    if not with_files and any(item["source_type"] == "file" and item["total"] for item in items):
        told.append("the names of files (--files shows them)")
    return told


def _batch(rows: Sequence[BatchRow]) -> BatchFields:
    """The rows of one batch as one item of the document."""
    batch = rows[0]
    assert batch.batch_id is not None
    return {
        "batch_id": batch.batch_id,
        "planned": batch.planned,
        "committed": batch.committed,
        "batch_timestamp": when(batch.batch_time_ms),
        "watermark_ms": batch.watermark_ms,
        "watermark": when(batch.watermark_ms),
        "next_watermark_ms": batch.next_watermark_ms,
        "sources": [row.source.to_dict() for row in rows if row.source],
        "files": None,
    }


def _advance_text(item: SourceAdvanceFields) -> str:
    total = item["total"]
    amount = f"{total:+} {item['unit'] or ''}".rstrip() if total is not None else _steps(item)
    return f"{item['source_id']}: {amount}"


def _steps(item: SourceAdvanceFields) -> str:
    return f"{item['start_offset'] or '?'} -> {item['end_offset'] or '?'}"


@command(
    "ckpt diff s3://lake/checkpoints/orders 40 57 --source 0=kafka",
)
@click.argument("location", shell_complete=directories)
@click.argument("first", type=Whole())
@click.argument("second", type=Whole())
@with_sources(_SOURCE_HELP, metavar="ID=TYPE")
@_with_files
@shared
def diff(
    location: str,
    first: int,
    second: int,
    sources: dict[str, Source],
    with_files: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what was read between two batches, per partition.

    It is what was read after batch FIRST, up to and including batch SECOND, per source and partition.
    """
    if first > second:
        raise click.UsageError(f"batch {first} is after batch {second}; give the earlier batch first")
    store = open_store(location, storage_options)
    between = read_between(store, first, second)
    rows = [item.to_dict() for item in between.advance(_types(sources, between.source_ids))]
    files = _files(FileLogs(store), rows) if with_files else None
    if as_json:
        document: DiffDocument = {
            "format_version": FORMAT_VERSION,
            "location": store.location,
            "from_batch": first,
            "to_batch": second,
            "sources": rows,
            "files": files,
        }
        print_json(document)
        return
    table: list[tuple[Any, ...]] = []
    for item in rows:
        if item["total"] is None:
            table.append(
                (
                    item["source_id"],
                    item["source_type"],
                    "all",
                    f"{item['start_offset']} -> {item['end_offset']}",
                    item["problem"],
                )
            )
        table += [
            (item["source_id"], item["source_type"], partition, f"+{count}" if count >= 0 else count, item["unit"])
            for partition, count in item["partitions"].items()
        ]
    columns = ("source", "type", "partition", "read", "unit")
    print_tables([Table(f"{store.location}: batches {first} to {second}", columns, tuple(table))])
    if files is not None:
        _print_files([tuple(file.values()) for file in files])
