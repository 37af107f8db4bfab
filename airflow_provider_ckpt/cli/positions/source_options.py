"""Options that say what a query reads from; the commands that ask its sources share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.cli.files import named_by, read_text
from airflow_provider_ckpt.cli.options import option, pairs, together, with_kafka_config, with_sources
from airflow_provider_ckpt.query.source import Source

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.deploy import Deploys
    from airflow_provider_ckpt.query.source_options import QueryOptions


def with_conf_file(help_text: str) -> Callable[[Any], Any]:
    """``--conf-file``, of a command that asks the sources, or that judges a deploy."""
    return option("--conf-file FILE", help_text, type=click.Path(exists=True, dir_okay=False, path_type=Path))


def read_conf_file(path: Path | None) -> Deploys:
    """Read the declarations of the file; empty without a file. Raises click.BadParameter."""
    from airflow_provider_ckpt.query.deploy import Deploys, parse_deploys  # rooms that few calls need
    from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS

    if path is None:
        return Deploys()
    with named_by("--conf-file", path):
        return parse_deploys(path.name, read_text(path, MOST_YAML_CHARS))


#: ``--conf-file``, for commands that ask the sources.
from_file = with_conf_file(
    "Read the sources from a YAML deploy file, as of ckpt gate; with the key checkpoints, by the location of the "
    "checkpoint. --source wins over it."
)


#: For commands that ask the sources of a query.
asking = together(
    with_sources(
        "What a source reads from, by its id, such as 0=kafka:host:9092, 0=delta:URI, 0=iceberg:URI, 0=file:DIRECTORY. "
        "Can be given more than once."
    ),
    from_file,
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

    deploys: Any
    kafka_config: Mapping[str, str]


def asked_sources(
    sources: Mapping[str, Source],
    conf_file: Path | None,
    source_options: tuple[str, ...],
    kafka_config: tuple[str, ...],
    trigger: str | None = None,
) -> AskedSources | None:
    """Parse the options on sources; None when no source is declared. Raises click.UsageError."""
    if not sources and conf_file is None:
        if source_options or kafka_config:
            raise click.UsageError("--source-option and --kafka-config need --source or --conf-file")
        return None
    said = {
        "sources": tuple(sources.values()) or None,
        "source_options": dict(pairs(source_options, "--source-option")) or None,
        "trigger": trigger,
    }
    try:
        deploys = read_conf_file(conf_file).with_said(said)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--source-option") from None
    return AskedSources(deploys, dict(pairs(kafka_config, "--kafka-config")))


def declared_query(
    location: str,
    sources: Mapping[str, Source],
    conf_file: Path | None,
    source_options: tuple[str, ...] = (),
    trigger: str | None = None,
) -> tuple[Mapping[str, Source], QueryOptions | None]:
    """The sources of one query, by id, and what it sets for them; None when nothing is. Raises click.UsageError."""
    if conf_file is None and not source_options and not trigger:
        return sources, None
    from airflow_provider_ckpt.query.source_options import parse_options
    from airflow_provider_ckpt.sources.read_lag import question_of

    options = dict(pairs(source_options, "--source-option"))
    try:
        if conf_file is None:
            return sources, parse_options(options.items(), trigger)
        said = {"source_options": options or None, "trigger": trigger}
        question = question_of(read_conf_file(conf_file).with_said(said).of(location))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--source-option") from None
    is_declared = bool(question.options.by_source or question.options.trigger)
    return sources or question.sources, question.options if is_declared else None
