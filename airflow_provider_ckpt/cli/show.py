"""The command that shows a checkpoint: show. It loads no more than it needs, as people and scripts call it often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.options import directories, examples, open_store, shared
from airflow_provider_ckpt.cli.render import print_json, print_tables, say, when
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.report.tables import Table, facts

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import ShowDocument


@click.command(epilog=examples("ckpt show s3://lake/checkpoints/orders", "ckpt show /data/checkpoints/orders --json"))
@click.argument("location", shell_complete=directories)
@shared
def show(location: str, storage_options: tuple[str, ...], as_json: bool) -> None:
    """Show the progress of a query: batches, watermark, source offsets, once-only confs."""
    store = open_store(location, storage_options)
    try:
        view = observe(store)
        document = _summary(view)
    except CheckpointFormatError as error:
        error.hint = " ".join(filter(None, [error.hint, f"To list all damage: ckpt check --deep {store.location}"]))
        raise
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
    if (partitions := view.unfinished_repartition) is not None:
        say(
            f"Batch {view.in_flight} is a repartition to {partitions} partitions that was not finished, and Spark does "
            f"not start the query. Finish it: ckpt repartition {view.location} --partitions {partitions}; or take it "
            f"back: ckpt rollback {view.location} --to-batch {view.latest_committed}",
            colour="yellow",
        )


def _summary(view: CheckpointView) -> ShowDocument:
    newest = view.latest_offset_seq
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
        "unfinished_repartition": view.unfinished_repartition,
        "watermark_ms": view.watermark_ms or None,  # 0 is what a query without one has
        "watermark": when(view.watermark_ms or None),
        "batch_timestamp": when(metadata.batch_timestamp_ms) if metadata else None,
        "stateful": view.stateful,
        "unknown": [*unknown_names(view), *(f"{name}/" for name in view.folders if "/" not in name)],
        "offset_log_version": newest.version if newest else None,
        "commit_log_version": commit.version if commit else None,
        "sources": [
            {"source_id": source_id, "committed_offset": committed_offset, "planned_offset": planned_offset}
            for source_id, committed_offset, planned_offset in view.source_offsets
        ],
        "confs": dict(metadata.conf) if metadata else {},
    }
