"""The command that serves assistants: mcp."""

from __future__ import annotations

import click

from airflow_provider_ckpt.cli.find_query_file import FilePlace
from airflow_provider_ckpt.cli.options import (
    command,
    directories,
    option,
    pairs,
    with_kafka_config,
    with_storage_options,
)
from airflow_provider_ckpt.cli.query_names import PLACE
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.roots import Roots, parse_roots


@command(
    "ckpt mcp --root s3://lake/checkpoints", "ckpt mcp --root /data/checkpoints --root /data/tables --broker kafka:9092"
)
@option(
    "--root URL",
    "Location below which checkpoints, sinks, tables and backups are read; all else is refused. Can be given more than "
    "once.",
    "roots",
    multiple=True,
    required=True,
    shell_complete=directories,
)
@option(
    "--broker HOST:PORT",
    "Kafka broker that may be asked; others are refused. Can be given more than once.",
    "brokers",
    multiple=True,
)
@option(
    "--file FILE",
    "Query file, whose names the tools take, and whose brokers may be asked. By default $CKPT_FILE; one that is merely "
    "found in the directory of the client is not read.",
    expose_value=False,
)
@with_kafka_config
@with_storage_options
def mcp(
    roots: tuple[str, ...], brokers: tuple[str, ...], kafka_config: tuple[str, ...], storage_options: tuple[str, ...]
) -> None:
    """Serve assistants over the Model Context Protocol.

    It is a server that reads, on standard input and output. Its tools are show, log, check, gate, explain,
    plan_rollback and plan_reset. They answer with the documents of --json and change nothing: a plan names the
    command that a person runs.
    """
    try:
        allowed = Roots(tuple(root for text in roots for root in parse_roots(text)))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--root") from None
    place: FilePlace | None = click.get_current_context().meta.get(PLACE)
    file = place.read(is_needed=True) if place is not None and place.is_named else None
    pairs(storage_options, "--storage-option")
    pairs(kafka_config, "--kafka-config")
    try:
        from airflow_provider_ckpt.cli.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "pydantic"):
            raise
        raise CheckpointError(
            "the Python package mcp is not installed, so assistants cannot be served.",
            hint="pip install 'spark-ckpt[mcp]'",
        ) from None
    serve(allowed, brokers, kafka_config, storage_options, file)
