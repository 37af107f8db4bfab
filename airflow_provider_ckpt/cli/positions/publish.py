"""The command that publishes positions to consumer groups: publish-offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.options import (
    SOURCE,
    command,
    directories,
    open_store,
    option,
    pairs,
    shared,
    with_kafka_config,
)
from airflow_provider_ckpt.cli.render import print_error, print_json, print_tables, say
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import parse_assigned
from airflow_provider_ckpt.report.table import counted
from airflow_provider_ckpt.report.tables import published_table
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.publication import Publication
from airflow_provider_ckpt.sources.kafka.publish import publish_again_before_ms, publish_all
from airflow_provider_ckpt.times import time_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import NotPublishedFields, PublishDocument


@command(
    "ckpt publish-offsets s3://lake/checkpoints/orders --group spark-orders --source 0=kafka:broker:9092",
    "ckpt publish-offsets /data/checkpoints/a /data/checkpoints/b --group 'spark-{name}' --source "
    "0=kafka:broker:9092 --dry-run",
    name="publish-offsets",
)
@click.argument("locations", shell_complete=directories, nargs=-1, required=True)
@option(
    "--group GROUP",
    "Consumer group that gets the offsets. {name} in it becomes the last part of the location, {query_id} the id of "
    "the query, {source_id} the id of the source.",
    required=True,
)
@option(
    "--source ID=kafka:PLACE",
    "Source whose position is published, by its id, and the broker: 0=kafka:host:9092, or with further topics, "
    "0=kafka:host:9092/topic,topic2.",
    required=True,
    type=SOURCE,
)
@option(
    "--assign JSON", 'Option assign of the queries, such as {"orders": [0, 1]}. By default they read every partition.'
)
@with_kafka_config
@option("--dry-run", "Write nothing. Print what would be published.")
@option("--take-over", "Publish to a group that has offsets which ckpt has not published. They are replaced.")
@shared
def publish_offsets(
    locations: tuple[str, ...],
    group: str,
    source: Source,
    assign: str | None,
    kafka_config: tuple[str, ...],
    dry_run: bool,
    take_over: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Commit the positions of queries to a consumer group.

    Tools for Kafka's groups then show their lag. Changes no checkpoint. A group with members is refused. Of several
    locations each is published on its own; the exit code is that of the gravest error, 0 when all were published.
    """
    if source.type != "kafka":
        raise click.BadParameter(f"{source.text!r:.60} is not kafka:HOST:PORT", param_hint="--source")
    try:
        assigned = None if assign is None else parse_assigned(assign)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--assign") from None
    broker = KafkaBroker(source.location, dict(pairs(kafka_config, "--kafka-config")))
    stores = [open_store(location, storage_options) for location in locations]
    began_ms = now_ms()
    outcomes = publish_all(
        stores,
        broker,
        group,
        source_id=source.id,
        topics=source.topics,
        assigned=assigned,
        dry_run=dry_run,
        take_over=take_over,
    )
    errors = [item for item in outcomes if isinstance(item, CheckpointError)]
    if errors and len(outcomes) == 1:
        raise errors[0]
    done = not dry_run and any(isinstance(item, Publication) for item in outcomes)
    _show(outcomes, publish_again_before_ms(broker, began_ms) if done else None, dry_run=dry_run, as_json=as_json)
    return max((error.exit_code for error in errors), default=0)


def _show(outcomes: list[Publication | CheckpointError], again_ms: int | None, *, dry_run: bool, as_json: bool) -> None:
    done = [item for item in outcomes if isinstance(item, Publication)]
    if not dry_run:
        has_done(f"The positions of {counted(len(done), 'checkpoint')} were published.")
    if as_json:
        document: PublishDocument = {
            "format_version": FORMAT_VERSION,
            "published": not dry_run,
            "publish_again_before_ms": again_ms,
            "checkpoints": [
                item.to_dict() if isinstance(item, Publication) else _not_published(item) for item in outcomes
            ],
        }
        print_json(document)
        return
    for error in (item for item in outcomes if isinstance(item, CheckpointError)):
        print_error(error, as_json=False)
    if done:
        print_tables([published_table(done, "Would be published" if dry_run else "Published")])
    if again_ms is not None:
        say(f"Publish again before {time_text(again_ms)}: then the broker forgets these offsets.")
    for item in done:
        for warning in item.warnings:
            say(f"{item.position.location}: {warning}", colour="yellow", err=True)


def _not_published(error: CheckpointError) -> NotPublishedFields:
    return {"location": error.location, "error": error.to_dict()}
