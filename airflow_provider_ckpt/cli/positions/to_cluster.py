"""Options of ``ckpt export`` that translate a position to another cluster, and what they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from airflow_provider_ckpt.cli.options import Whole, option, pairs, together, with_kafka_config
from airflow_provider_ckpt.cli.render import say
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.query.source import Source, parse_asked
from airflow_provider_ckpt.report.table import counted
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS
from airflow_provider_ckpt.sources.kafka.translate import MOST_READ, translate_position
from airflow_provider_ckpt.sources.kafka.translation import Translated
from airflow_provider_ckpt.sources.position import Position

_NEED_CLUSTER = ("renamed", "accept_not_proven", "kafka_config", "to_kafka_config")


#: ``--to-cluster`` and the options that need it.
translating = together(
    option(
        "--to-cluster kafka:HOST:PORT",
        "Print the position in another cluster that mirrors the topics with their timestamps. Needs --source "
        "ID=kafka:HOST:PORT.",
    ),
    option(
        "--rename TOPIC=NAME",
        "Name of a topic in the other cluster, when it has another one there, such as orders=a.orders. Can be given "
        "more than once.",
        "renamed",
        multiple=True,
    ),
    option(
        "--read-at-most RECORDS",
        "With --to-cluster: read this number of unread records of each partition at most, for their timestamps.",
        "most",
        type=Whole(min=1),
        default=MOST_READ,
    ),
    option("--accept-not-proven", "Print the position also when it is not proven that no unread record is skipped."),
    with_kafka_config,
    option(
        "--to-kafka-config KEY=VALUE",
        "Option of the Kafka client for the other cluster. Can be given more than once.",
        multiple=True,
    ),
)


def is_wanted(form: str, source: Source, said: Mapping[str, Any]) -> bool:
    """True if the position is to be translated. Raises click.UsageError for options that do not go together."""
    if said["to_cluster"] is None:
        if source.text:
            raise click.UsageError("--source ID=kafka:PLACE is for --to-cluster; without it give the id alone")
        if any(said[name] for name in _NEED_CLUSTER):
            raise click.UsageError("--rename, --accept-not-proven and options of a Kafka client need --to-cluster")
        return False
    if not source.text:
        raise click.UsageError("--to-cluster needs the broker that the query reads: --source 0=kafka:HOST:PORT")
    if FORMS[form].source_type != "kafka":
        raise click.UsageError("--to-cluster is for --as startingOffsets and csv")
    return True


def translated(
    position: Position,
    source: Source,
    *,
    to_cluster: str,
    renamed: tuple[str, ...],
    most: int,
    accept_not_proven: bool,
    kafka_config: tuple[str, ...],
    to_kafka_config: tuple[str, ...],
) -> tuple[Translated, ...]:
    """The position in the other cluster; says on stderr what is read again. Raises PlanError where it is not proven."""
    here, there = _kafka(source.text, "--source"), _kafka(to_cluster, "--to-cluster")
    found = translate_position(
        position,
        KafkaBroker(here.location, dict(pairs(kafka_config, "--kafka-config"))),
        KafkaBroker(there.location, dict(pairs(to_kafka_config, "--to-kafka-config"))),
        names=dict(pairs(renamed, "--rename")),
        topics=here.topics,
        most=most,
    )
    not_proven = sum(item.not_proven for item in found)
    if not_proven and not accept_not_proven:
        doubts = [doubt for item in found for doubt in item.doubts]
        more = f" {len(doubts) - 1} more reasons are in other partitions." if len(doubts) > 1 else ""
        raise PlanError(
            f"it is not proven that {counted(not_proven, 'unread offset')} would not be skipped. {doubts[0]}{more}",
            location=position.location,
            batch_id=position.batch_id,
            hint="Print the position all the same with --accept-not-proven; with --json the notes name each partition.",
        )
    again = sum(item.read_again for item in found)
    proof = f"{not_proven} unread offsets are not proven" if not_proven else "nothing unread is skipped"
    repeats = f"at most {counted(again, 'offset')}" if again else "as far as timestamps tell, no offset"
    say(f"{repeats} will be read a second time; {proof}.", err=True)
    for note in (note for item in found for note in (*item.doubts, *item.notes)):
        say(note, colour="yellow", err=True)
    return found


def _kafka(place: str, option: str) -> Source:
    try:
        declared = parse_asked(place)
    except CheckpointError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    if declared.type != "kafka":
        raise click.BadParameter(f"{place!r:.60} is not kafka:HOST:PORT", param_hint=option)
    return declared
