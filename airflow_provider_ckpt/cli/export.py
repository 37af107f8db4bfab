"""The command that writes a position for another reader: export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.committed_batch import committed_batch
from airflow_provider_ckpt.cli.options import TIME, TIMES, Whole, directories, examples, open_store, shared
from airflow_provider_ckpt.cli.render import print_json
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.positions.export_position import export_position
from airflow_provider_ckpt.positions.starting_options import FORMS

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
    help="What to write: the option startingOffsets of Spark's Kafka source, startingVersion of Delta's, "
    "startingPosition of awslabs' Kinesis source, or the lines that kafka-consumer-groups --reset-offsets --from-file "
    "reads. Iceberg's stream-from-timestamp is refused: no time means exactly a position.",
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
    store = open_store(location, storage_options)
    exported = export_position(store, form, source_id, committed_batch(store, batch_id, at_ms))
    if not as_json:
        click.echo(exported.text)
        return
    document: ExportDocument = {
        "format_version": FORMAT_VERSION,
        "location": exported.location,
        "source_id": exported.source_id,
        "batch_id": exported.batch_id,
        "form": form,
        "text": exported.text,
    }
    print_json(document)
