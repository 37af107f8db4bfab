"""The command that writes a position for another reader: export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.options import TIME, TIMES, Whole, directories, examples, open_store, shared
from airflow_provider_ckpt.cli.render import print_json
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.positions.read_position import read_position
from airflow_provider_ckpt.positions.starting_options import FORMS, starting_option
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import ExportDocument


@click.command(
    epilog=examples(
        "ckpt export s3://lake/checkpoints/orders --as startingOffsets",
        "ckpt export s3://lake/checkpoints/orders --as csv --at 2026-11-21T00:00:00Z",
        also=TIMES,
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--as",
    "form",
    required=True,
    type=click.Choice(tuple(FORMS)),
    help="What to write: the option startingOffsets of Spark's Kafka source, the option startingVersion of Delta's, or "
    "the lines that kafka-consumer-groups --reset-offsets --from-file reads.",
)
@click.option(
    "--batch",
    "batch_id",
    type=Whole(min=0),
    metavar="BATCH_ID",
    help="Position after this committed batch. By default the newest one.",
)
@click.option(
    "--at",
    "at_ms",
    type=TIME,
    metavar="TIME",
    help="Position after the newest committed batch that began by this time.",
)
@click.option(
    "--source", "source_id", metavar="ID", help="Id of the source. Needed when the query has several sources."
)
@shared
def export(
    location: str,
    form: str,
    batch_id: int | None,
    at_ms: int | None,
    source_id: str | None,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the position of a query so that another reader begins right after the batch."""
    if batch_id is not None and at_ms is not None:
        raise click.UsageError("give --batch or --at, not both")
    store = open_store(location, storage_options)
    position = read_position(store, source_id, batch_id if at_ms is None else _batch_at(store, at_ms))
    text = starting_option(form, position.offset, position.entry)
    if not as_json:
        click.echo(text)
        return
    document: ExportDocument = {
        "format_version": FORMAT_VERSION,
        "location": position.location,
        "source_id": position.source_id,
        "batch_id": position.batch_id,
        "form": form,
        "text": text,
    }
    print_json(document)


def _batch_at(store: Store, at_ms: int) -> int:
    from airflow_provider_ckpt.rollback.goal import ToTimestamp
    from airflow_provider_ckpt.rollback.resolve import resolve

    return resolve(store, ToTimestamp(at_ms))
