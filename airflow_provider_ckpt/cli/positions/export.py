"""The command that writes a position for another reader: export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.cli.changes.committed_batch import committed_batch
from airflow_provider_ckpt.cli.options import TIME, TIMES, Whole, command, directories, open_store, option, shared
from airflow_provider_ckpt.cli.positions.to_cluster import is_wanted, translated, translating
from airflow_provider_ckpt.cli.render import print_json
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.query.source import Source, parse_item
from airflow_provider_ckpt.sources.export_position import Exported, export_position
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS
from airflow_provider_ckpt.sources.kafka.translation import text_of
from airflow_provider_ckpt.sources.read_position import read_position

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import ExportDocument


@command(
    "ckpt export s3://lake/checkpoints/orders --as startingOffsets",
    "ckpt export s3://lake/checkpoints/orders --as csv --at 2026-11-21T00:00:00Z",
    "ckpt export s3://lake/checkpoints/orders --as csv --source 0=kafka:a:9092 --to-cluster kafka:b:9092",
    also=TIMES,
)
@click.argument("location", shell_complete=directories)
@option(
    "--as",
    "What to write: the option startingOffsets of Spark's Kafka source, startingVersion of Delta's, startingPosition "
    "of awslabs' Kinesis source, or the lines that kafka-consumer-groups --reset-offsets --from-file reads. Iceberg's "
    "stream-from-timestamp is refused: no time means exactly a position.",
    "form",
    required=True,
    type=click.Choice(tuple(FORMS)),
)
@option(
    "--batch BATCH_ID", "Position after this committed batch. By default the newest one.", "batch_id", type=Whole(min=0)
)
@option("--at TIME", "Position after the newest committed batch that began by this time.", "at_ms", type=TIME)
@option(
    "--source ID[=kafka:PLACE]",
    "Id of the source. Needed when the query has several sources. With --to-cluster also its broker, such as "
    "0=kafka:host:9092.",
)
@translating
@shared
def export(
    location: str,
    form: str,
    batch_id: int | None,
    at_ms: int | None,
    source: str | None,
    storage_options: tuple[str, ...],
    as_json: bool,
    **said: Any,
) -> None:
    """Print the position of a query, for another reader.

    The reader begins right after the batch. With --to-cluster it is the position in another cluster: no unread
    record comes before it, and stderr says how many offsets are read again at most. Stop the query first: one that
    runs reads on behind this position.
    """
    declared = _declared(source or "")
    wants_other = is_wanted(form, declared, said)
    store = open_store(location, storage_options)
    batch, there = committed_batch(store, batch_id, at_ms), None
    if wants_other:
        position = read_position(store, declared.id or None, batch)
        there = translated(position, declared, **said)
        exported = Exported(position.location, position.source_id, position.batch_id, text_of(form, there))
    else:
        exported = export_position(store, form, declared.id or None, batch)
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
        "translated": None if there is None else [item.to_dict() for item in there],
    }
    print_json(document)


def _declared(text: str) -> Source:
    """The id of a source, and what it reads from where that is said. Raises click.BadParameter."""
    try:
        return parse_item(text) if "=" in text else Source(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--source") from None
