"""Commands that read a checkpoint and change nothing: show, log, diff."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.observe import observe, read_entries
from airflow_provider_ckpt.checkpoint.progress import advance
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.options import directories, examples, open_store, shared, source_types
from airflow_provider_ckpt.cli.render import print_json, print_tables, when
from airflow_provider_ckpt.codec.layout import commit_entry, offset_entry
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.history.read import list_log, one_after_the_other, read_batches
from airflow_provider_ckpt.history.rows import BatchRow, Origin, rows_of
from airflow_provider_ckpt.report.tables import Table, facts

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import (
        BatchFields,
        DiffDocument,
        LogDocument,
        ShowDocument,
        SourceAdvanceFields,
    )

_SOURCE_HELP = (
    "Type of a source by its id, such as 0=kafka. Offsets of a source without a type are shown as text. Can be given "
    "more than once."
)


@click.command(epilog=examples("ckpt show s3://lake/checkpoints/orders", "ckpt show /data/checkpoints/orders --json"))
@click.argument("location", shell_complete=directories)
@shared
def show(location: str, storage_options: tuple[str, ...], as_json: bool) -> None:
    """Show the progress of a query: batches, watermark, source offsets, once-only confs."""
    view = observe(open_store(location, storage_options))
    document = _summary(view)
    if as_json:
        print_json(document)
        return
    summary = [
        (key, value)
        for key, value in document.items()
        if key != "format_version" and not isinstance(value, list | dict)
    ]
    sources = tuple(
        (item["source_id"], item["committed_offset"], item["planned_offset"]) for item in document["sources"]
    )
    if document["unknown"]:
        summary.append(("not known to ckpt", listed_shortly(document["unknown"])))
    print_tables(
        [
            facts(view.location, summary),
            Table("Sources", ("source", "committed offset", "planned offset"), sources),
            Table("Once-only confs", ("conf", "value"), tuple(sorted(document["confs"].items()))),
        ]
    )


def _summary(view: CheckpointView) -> ShowDocument:
    newest = view.latest_offset_seq
    committed = view.latest_committed
    done = view.offset_seq(committed) if committed in view.planned and committed is not None else None
    commit = view.commit(committed) if committed is not None else None
    metadata = newest.metadata if newest else None
    return {
        "format_version": FORMAT_VERSION,
        "location": view.location,
        "query_id": view.query_id,
        "latest_planned_batch": view.latest_planned,
        "latest_committed_batch": committed,
        "in_flight": view.in_flight,
        "watermark_ms": view.watermark_ms or None,  # 0 is what a query without one has
        "watermark": when(view.watermark_ms or None),
        "batch_timestamp": when(metadata.batch_timestamp_ms) if metadata else None,
        "stateful": view.stateful,
        "unknown": [*unknown_names(view), *(f"{name}/" for name in view.folders if "/" not in name)],
        "offset_log_version": newest.version if newest else None,
        "commit_log_version": commit.version if commit else None,
        "sources": [
            {
                "source_id": source_id,
                "committed_offset": _text(done, source_id),
                "planned_offset": _text(newest, source_id),
            }
            for source_id, _ in (newest.offsets if newest else ())
        ],
        "confs": dict(metadata.conf) if metadata else {},
    }


def _text(entry: OffsetSeq | None, source_id: str) -> str | None:
    offset = entry.offset(source_id) if entry else None
    return offset.json if offset else None


@click.command(
    epilog=examples(
        "ckpt log s3://lake/checkpoints/orders --last 20 --source 0=kafka",
        "ckpt log s3://lake/checkpoints/orders --batch 41 --json",
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--last",
    default=10,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="BATCHES",
    help="Show this number of batches, the newest ones.",
)
@click.option("--batch", "batch_id", type=int, metavar="BATCH_ID", help="Show this batch only.")
@click.option("--source", "sources", multiple=True, metavar="ID=TYPE", help=_SOURCE_HELP)
@shared
def log(
    location: str,
    last: int,
    batch_id: int | None,
    sources: tuple[str, ...],
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show the offset log and the commit log: one row for each batch, with what each source has read."""
    store = open_store(location, storage_options)
    listing = list_log(store)
    if batch_id is not None and batch_id not in listing.batches:
        raise CheckpointNotFoundError("neither log has this batch", location=store.location, batch_id=batch_id)
    wanted = [batch_id] if batch_id is not None else listing.batches[-last:]
    batches = [
        batch
        for batch in read_batches(store, listing, wanted, one_after_the_other(store))
        if not batch.vanished  # Spark has purged it since
    ]
    for problem in (problem for batch in batches for problem in batch.problems):
        raise problem
    origin = Origin(store.location, declared=_types(sources, (batch.offsets for batch in batches)))
    rows = [_batch(rows_of(batch, origin)) for batch in batches]
    if as_json:
        document: LogDocument = {"format_version": FORMAT_VERSION, "location": store.location, "batches": rows}
        print_json(document)
        return
    columns = ("batch", "committed", "planned at", "watermark", "advanced")
    print_tables([Table(store.location, columns, tuple(map(_batch_row, rows)))])


def _require_whole(damaged: Mapping[str, CheckpointFormatError], batches: Iterable[int]) -> None:
    """Raise what is wrong with the entries of some batches; those beside them are read for what they may tell."""
    for batch_id in batches:
        for name in (offset_entry(batch_id), commit_entry(batch_id)):
            if name in damaged:
                raise damaged[name]


def _types(texts: tuple[str, ...], entries: Iterable[object]) -> dict[str, str]:
    """The declared types of sources that the query has. Raises click.BadParameter for any other."""
    declared = source_types(texts)
    known = [source_id for entry in entries if isinstance(entry, OffsetSeq) for source_id, _ in entry.offsets]
    unknown = [source_id for source_id in declared if known and source_id not in known]
    if unknown:
        has = ", ".join(dict.fromkeys(known))
        raise click.BadParameter(f"the query has no source {unknown[0]!r}; it has {has}", param_hint="--source")
    return declared


def _batch_row(row: BatchFields) -> tuple[Any, ...]:
    advanced = "; ".join(map(_advance_text, row["sources"]))
    return row["batch_id"], "yes" if row["committed"] else "no", row["batch_timestamp"], row["watermark"], advanced


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
    }


def _advance_text(item: SourceAdvanceFields) -> str:
    total = item["total"]
    amount = f"+{total} {item['unit'] or ''}".rstrip() if total is not None else _steps(item)
    return f"{item['source_id']}: {amount}"


def _steps(item: SourceAdvanceFields) -> str:
    return f"{item['start_offset'] or '?'} -> {item['end_offset'] or '?'}"


@click.command(epilog=examples("ckpt diff s3://lake/checkpoints/orders 40 57 --source 0=kafka"))
@click.argument("location", shell_complete=directories)
@click.argument("first", type=int)
@click.argument("second", type=int)
@click.option("--source", "sources", multiple=True, metavar="ID=TYPE", help=_SOURCE_HELP)
@shared
def diff(
    location: str,
    first: int,
    second: int,
    sources: tuple[str, ...],
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what was read after batch FIRST, up to and including batch SECOND, per source and partition."""
    store = open_store(location, storage_options)
    view = observe(store)
    entries, damaged = read_entries(store, [first, first + 1, second, second + 1])
    _require_whole(damaged, [first, second])
    found = []
    for batch_id in (first, second):
        entry = entries.get(offset_entry(batch_id))
        if not isinstance(entry, OffsetSeq):
            raise CheckpointNotFoundError(
                "the offset log has no entry of this batch",
                location=view.location,
                name=offset_entry(batch_id),
                batch_id=batch_id,
            )
        found.append(entry)
    after = [entries.get(offset_entry(batch_id + 1)) for batch_id in (first, second)]
    later = [entry if isinstance(entry, OffsetSeq) else None for entry in after]
    advanced = advance(found[0], found[1], _types(sources, found), (later[0], later[1]))
    rows = [item.to_dict() for item in advanced]
    if as_json:
        document: DiffDocument = {
            "format_version": FORMAT_VERSION,
            "location": view.location,
            "from_batch": first,
            "to_batch": second,
            "sources": rows,
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
    print_tables([Table(f"{view.location}: batches {first} to {second}", columns, tuple(table))])
