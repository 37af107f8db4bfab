"""The command ``ckpt queries``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.options import (
    PAUSE,
    Whole,
    command,
    format_of,
    formatted,
    opening,
    option,
    pairs,
    shared,
    with_kafka_config,
)
from airflow_provider_ckpt.cli.queries.output import show
from airflow_provider_ckpt.cli.query_names import declared_file, declared_storage, unknown_name
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.fleet.queries.read_flows import read_flows
from airflow_provider_ckpt.fleet.queries.read_queries import TIMEOUT_S, QueryReader
from airflow_provider_ckpt.fleet.queries.row import exit_code_of

if TYPE_CHECKING:
    from airflow_provider_ckpt.fleet.queries.read_flows import WantedQueries
    from airflow_provider_ckpt.storage.store import Store


@command(
    "ckpt queries",
    "ckpt queries orders totals --json",
    "ckpt queries --file s3://lake/ckpt.yaml --watch",
)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@option("--watch", "Read and show the queries again and again until Ctrl-C; without a terminal a line for each change.")
@option(
    "--poll-interval DURATION",
    "Pause between two readings with --watch, such as 1m; a plain number is seconds.",
    default="10s",
    type=PAUSE,
)
@option(
    "--timeout DURATION",
    "How long each reading may take, of a checkpoint, its sources, its backups, its changes or its engine; a plain "
    "number is seconds. What does not answer by then is shown as not known.",
    default=f"{TIMEOUT_S:g}s",
    type=PAUSE,
)
@option(
    "--threads THREADS", "Read this number of queries at the same time, 1 to 64.", default=THREADS, type=Whole(1, 64)
)
@with_kafka_config
@formatted
@shared
def queries(
    names: tuple[str, ...],
    watch: bool,
    poll_interval: float,
    timeout: float,
    threads: int,
    kafka_config: tuple[str, ...],
    document: str | None,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show the queries of the query file, the worst first.

    A NAME is that of a query, of a flow of a pipeline, or of a pipeline, which means all of its flows.
    A row says whether it runs, as its engine does.
    It has the newest batch and the age of its commit, how much is unread of the sources and how old it is, the delay
    of the watermark, the worst finding, the newest backup and the newest change. What nobody can tell is `?`, with the
    reason below the table. The thresholds of the file (alert: behind, delay, age, rows) are compared with what was
    measured; one that cannot be measured is not known, which is no pass.
    Exit code 1 when a threshold is passed or not known, when a finding is an error, or when a declared source
    cannot be asked;
    3 when a checkpoint is not there or cannot be read, 5 when its storage does not answer.
    """
    shown_as = format_of(document, as_json=as_json)
    if watch and shown_as != "text":
        raise click.UsageError("--watch shows text: leave out --json and --format")
    wanted, opened = _find(names, storage_options)
    config = dict(pairs(kafka_config, "--kafka-config"))
    reader = QueryReader(wanted, opened, config, threads=threads, timeout_s=timeout)
    if watch:
        from airflow_provider_ckpt.cli.queries.watch import watch as watch_queries  # what one call needs

        watch_queries(reader, poll_interval, lambda: _find(names, storage_options))
    rows = list(reader.read())
    show(rows, wanted.file.place, shown_as)
    return exit_code_of(rows)


def _find(names: tuple[str, ...], storage_options: tuple[str, ...]) -> tuple[WantedQueries, Callable[[str], Store]]:
    """The queries of the file as it is now, and what opens their locations. Raises click.UsageError."""
    file = declared_file()
    opened = opening((*declared_storage(file, storage_options), *storage_options))
    wanted = read_flows(file, names, opened)
    if wanted.unknown:
        raise click.UsageError(unknown_name(wanted.unknown[0], wanted.file))
    if not wanted.names and not wanted.failures:
        raise click.UsageError(f"{file.place} declares no query")
    return wanted, opened
