"""The command that shows a checkpoint: show. It loads no more than it needs, as people and scripts call it often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.listing import find_at_top
from airflow_provider_ckpt.checkpoint.observe import closed_by, observe, without_closing
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.light_check import light_check, say_light_check, worst_text
from airflow_provider_ckpt.cli.options import command, directories, open_store, opening, option, shared
from airflow_provider_ckpt.cli.positions.source_options import AskedSources, asked_sources, asking
from airflow_provider_ckpt.cli.render import print_json, print_tables, say, when
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.graph.proven_types import ProvenType
from airflow_provider_ckpt.graph.read_types import read_types
from airflow_provider_ckpt.report.table import Table, facts
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import AHEAD, age_ms, duration_text
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import LagSummaryFields, LightCheckFields, ShowDocument
    from airflow_provider_ckpt.sources.lag import SourceLag


@command(
    "ckpt show s3://lake/checkpoints/orders",
    "ckpt show s3://lake/checkpoints/orders --confs",
    "ckpt show s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --json",
)
@click.argument("location", shell_complete=directories)
@option("--confs", "Also list the once-only confs; --json always has them.", "with_confs")
@asking
@shared
def show(location: str, with_confs: bool, storage_options: tuple[str, ...], as_json: bool, **said: Any) -> None:
    """Show where a query is: newest commit, watermark, findings.

    It has the age of the newest commit, the batch in flight, the watermark and how far it is behind its batch, the
    worst finding, the offsets of the sources.
    With --source, or by a name, also how far it is behind its sources, as ckpt lag does, with the partitions that
    are furthest behind.
    """
    asked = asked_sources(**said)
    store = open_store(location, storage_options)
    try:
        seen = observe(store)
        view, closed = without_closing(seen), closed_by(seen)
        lag = None if asked is None else _lag(view, store, asked, opening(storage_options))
        declared = () if asked is None else asked.deploys.of(view.location).sources or ()
        typed = {source.id for source in declared if source.type is not None}
        read = {at: proven for at, proven in read_types(store, view).items() if at not in typed}
        document = _summary(view, _inside(view, store), lag, light_check(seen), read, is_closed=closed is not None)
    except CheckpointFormatError as error:
        listed = f"To list all damage: ckpt check --deep {quote(store.location)}"
        error.hint = f"{error.hint.rstrip('.')}. {listed}" if error.hint else listed
        raise
    if as_json:
        print_json(document)
        return
    sources = tuple(
        (item["source_id"], item["committed_offset"], item["planned_offset"]) for item in document["sources"]
    )
    print_tables(
        [
            facts(view.location, _facts(document, view, lag, with_confs=with_confs)),
            Table("Sources", ("source", "committed offset", "planned offset"), sources),
            *([] if lag is None else _lag_tables(lag)),
        ]
    )
    for source_id, proven in read.items():
        say(proven.sentence(source_id))
    say_light_check(view.location, document["checked"])
    if with_confs:
        say("Once-only confs", bold=True)
        for name, value in sorted(document["confs"].items()):  # no table: names and classes are copied whole
            say(f"  {name} = {value}")
    for source in lag or ():
        for note in (*source.notes, *(source.next_batch.notes if source.next_batch else ())):
            say(f"Source {source.source_id}: {visible(note).rstrip('.')}.", colour="yellow")
    if closed is not None:
        why = f"{closed.name} closes this checkpoint: {closed.message}."
        say(f"{why} What is shown is from the midst of it. {closed.hint or ''}".rstrip(), colour="yellow")
    if (partitions := view.unfinished_repartition) is not None:
        say(
            f"Batch {view.in_flight} is a repartition to {partitions} partitions that was not finished, and Spark does "
            f"not start the query. Finish it: ckpt repartition {quote(view.location)} --partitions {partitions}; or "
            "take it "
            f"back: ckpt rollback {quote(view.location)} --to-batch {view.latest_committed}",
            colour="yellow",
        )


def _facts(
    document: ShowDocument, view: CheckpointView, lag: Sequence[SourceLag] | None, *, with_confs: bool
) -> list[tuple[str, Any]]:
    """The document for people: a row for each thing that it says, the most urgent first."""
    versions = (document["offset_log_version"], document["commit_log_version"])
    rows: list[tuple[str, Any]] = [
        ("newest commit", _ago(document["latest_committed_batch"], view.committed_at_ms, view.observed_at_ms)),
        ("in flight", _ago(document["in_flight"], _planned_at_ms(view), view.observed_at_ms)),
        ("behind", _behind(lag)),
        ("watermark", _watermark(view)),
        ("worst finding", worst_text(document["checked"])),
        ("query id", document["query_id"]),
        ("stateful", "yes" if document["stateful"] else "no"),
        ("formats", "offset log {}, commit log {}".format(*("-" if item is None else item for item in versions))),
    ]
    if document["confs"] and not with_confs:
        rows.append(("once-only confs", f"{len(document['confs'])}; --confs lists them"))
    if document["inside"]:
        rows.append(("checkpoints of other queries", listed_shortly(f"{name}/" for name in document["inside"])))
    if document["unknown"]:
        rows.append(("not known to ckpt", listed_shortly(document["unknown"])))
    return rows


def _inside(view: CheckpointView, store: Store) -> tuple[str, ...]:
    """The directories at the top that are checkpoints of other queries."""
    folders = [name for name in view.folders if "/" not in name]
    return find_at_top(store, folders) if folders else ()


def _ago(batch_id: int | None, at_ms: int | None, seen_ms: int) -> str | None:
    """A batch, and how long before it was seen its entry was written, as far as that is known."""
    if batch_id is None or at_ms is None:
        return None if batch_id is None else f"batch {batch_id}"
    age = age_ms(at_ms, seen_ms)
    ago = f"not known how long ago, {AHEAD}" if age is None else f"{duration_text(age)} ago"
    return f"batch {batch_id}, {ago}, {when(at_ms)}"


def _planned_at_ms(view: CheckpointView) -> int | None:
    """When the newest planned batch began."""
    newest = view.latest_offset_seq
    return newest.metadata.batch_timestamp_ms if newest and newest.metadata else None


def _behind(lag: Sequence[SourceLag] | None) -> str | tuple[str, ...]:
    if lag is None:
        return "not asked; --source says where a source is"
    from airflow_provider_ckpt.report.lag_tables import how_far

    return tuple(f"{source.source_id}: {how_far(source)}" for source in lag)


def _watermark(view: CheckpointView) -> str | None:
    """The watermark, and how far it is behind the time at which its batch began."""
    if not view.watermark_ms:  # 0 is what a query without one has
        return None
    began_ms = view.planned_at_ms
    delay = (
        "" if began_ms is None else f", {duration_text(max(0, began_ms - view.watermark_ms))} before its batch began"
    )
    return f"{when(view.watermark_ms)}{delay}"


def _lag(
    view: CheckpointView, store: Store, asked: AskedSources, opened: Callable[[str], Store]
) -> tuple[SourceLag, ...]:
    from airflow_provider_ckpt.clock import now_ms
    from airflow_provider_ckpt.sources.open_end import Access
    from airflow_provider_ckpt.sources.read_lag import question_of, read_lag

    access = Access(opened, store, asked.kafka_config, "--source ")
    return read_lag(view, question_of(asked.deploys.of(view.location)), access, now_ms())


def _lag_tables(lag: Sequence[SourceLag]) -> list[Table]:
    from airflow_provider_ckpt.report.lag_tables import LAG_COLUMNS, lag_row, partitions_table
    from airflow_provider_ckpt.sources.lag import worst_of

    tables = [Table("Lag", LAG_COLUMNS, tuple(map(lag_row, lag)))]
    for source in lag:
        worst = worst_of(source)
        others = len(source.partitions) - len(worst)
        if worst:
            unread = sum(part.unread for part in source.partitions) - sum(part.unread for part in worst)
            rest = f", and {others} more with {unread} unread in all" if others else ""
            tables.append(partitions_table(f"Source {source.source_id}: partitions furthest behind{rest}", worst))
    return tables


def _summary(
    view: CheckpointView,
    inside: Sequence[str],
    lag: Sequence[SourceLag] | None,
    checked: LightCheckFields,
    types: Mapping[str, ProvenType],
    *,
    is_closed: bool,
) -> ShowDocument:
    newest = view.latest_offset_seq
    newest = newest.without_empty_lines() if newest else None
    committed = view.latest_committed
    commit = view.commit(committed) if committed is not None else None
    metadata = newest.metadata if newest else None
    return {
        "format_version": FORMAT_VERSION,
        "location": view.location,
        "query_id": view.query_id,
        "latest_planned_batch": view.latest_planned,
        "latest_committed_batch": committed,
        "in_flight": view.in_flight,
        "closed": is_closed,
        "unfinished_repartition": view.unfinished_repartition,
        "watermark_ms": view.watermark_ms or None,  # 0 is what a query without one has
        "watermark": when(view.watermark_ms or None),
        "last_commit": when(view.committed_at_ms),
        "batch_timestamp": when(metadata.batch_timestamp_ms) if metadata else None,
        "stateful": view.stateful,
        "unknown": [
            *unknown_names(view),
            *(f"{name}/" for name in view.folders if "/" not in name and name not in inside),
        ],
        "inside": list(inside),
        "offset_log_version": newest.version if newest else None,
        "commit_log_version": commit.version if commit else None,
        "sources": [
            {"source_id": source_id, "committed_offset": committed_offset, "planned_offset": planned_offset}
            for source_id, committed_offset, planned_offset in view.source_offsets
        ],
        "types_read": {source_id: proven.to_dict() for source_id, proven in types.items()},
        "lag": None if lag is None else _summaries(lag),
        "confs": dict(metadata.conf) if metadata else {},
        "checked": checked,
    }


def _summaries(lag: Sequence[SourceLag]) -> list[LagSummaryFields]:
    from airflow_provider_ckpt.sources.lag import summary_of

    return [summary_of(source) for source in lag]
