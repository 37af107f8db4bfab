"""Options that say what a query reads from; the commands that ask its sources share them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.options import option, pairs, together, with_kafka_config, with_sources
from airflow_provider_ckpt.query.deploy import Deploys
from airflow_provider_ckpt.query.source import Source

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.source_options import QueryOptions


_NOTHING = Deploys()
#: For commands that ask the sources of a query.
asking = together(
    with_sources(
        "What a source reads from, by its id, such as 0=kafka:host:9092, 0=delta:URI, 0=iceberg:URI, 0=file:DIRECTORY. "
        "Can be given more than once."
    ),
    option(
        "--source-option ID.KEY=VALUE",
        "Option of a Kafka source, such as 0.maxOffsetsPerTrigger=1000, for what the next batch reads. Can be given "
        "more than once.",
        "source_options",
        multiple=True,
    ),
    with_kafka_config,
)


@dataclass(frozen=True, slots=True)
class AskedSources:
    """Parsed options on sources.

    Args:
        deploys: The sources, options and trigger of each query.
        kafka_config: Configuration of the client.
    """

    deploys: Deploys
    kafka_config: Mapping[str, str]


def asked_sources(
    sources: Mapping[str, Source],
    source_options: tuple[str, ...],
    kafka_config: tuple[str, ...],
    trigger: str | None = None,
    declared: Deploys = _NOTHING,
) -> AskedSources | None:
    """Parse the options on sources; None when no source is declared. Raises click.UsageError.

    Args:
        sources: The sources that are given, by id.
        source_options: Their options.
        kafka_config: Options of the client.
        trigger: The trigger that is given.
        declared: What the query file declares of several queries; what is given wins over it.
    """
    if not sources and not declared.own:
        if source_options or kafka_config:
            raise click.UsageError("--source-option and --kafka-config need --source")
        return None
    said = {
        "sources": tuple(sources.values()) or None,
        "source_options": dict(pairs(source_options, "--source-option")) or None,
        "trigger": trigger,
    }
    try:
        deploys = declared.with_said(said)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--source-option") from None
    return AskedSources(deploys, dict(pairs(kafka_config, "--kafka-config")))


def declared_options(source_options: tuple[str, ...] = (), trigger: str | None = None) -> QueryOptions | None:
    """What a query sets for its sources; None when nothing is. Raises click.UsageError."""
    if not source_options and not trigger:
        return None
    from airflow_provider_ckpt.query.source_options import parse_options  # a room that few calls need

    try:
        return parse_options(pairs(source_options, "--source-option"), trigger)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--source-option") from None
