"""The command that judges many checkpoints: fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from airflow_provider_ckpt.cli.files import require_outside
from airflow_provider_ckpt.cli.fleet_output import Summary, collect, show
from airflow_provider_ckpt.cli.options import (
    Whole,
    command,
    deeply,
    directories,
    format_of,
    formatted,
    open_place,
    open_store,
    opening,
    option,
    pairs,
    shared,
    triggered,
)
from airflow_provider_ckpt.cli.positions.source_options import asked_sources, asking
from airflow_provider_ckpt.cli.positions.topic_memory import TopicMemory, with_topic_ids
from airflow_provider_ckpt.cli.query_names import deploys_of_file, queries_of_file, query_at
from airflow_provider_ckpt.cli.render import INTERRUPTED, print_error, say
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointNotFoundError, GateFailedError
from airflow_provider_ckpt.fleet import DEPTH, THREADS
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.find_twins import find_twins
from airflow_provider_ckpt.fleet.index import left_out_text
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.read_positions import FleetPositions
from airflow_provider_ckpt.fleet.write_index import IndexWriter
from airflow_provider_ckpt.query.declared import options_of_clusters
from airflow_provider_ckpt.query.deploy import Deploys, DeploySpec, declare
from airflow_provider_ckpt.storage.store import Store

NO_ROOT = (
    "name at least one ROOT, a directory with checkpoints in it or below it, such as ckpt fleet s3://lake/checkpoints, "
    "or declare queries in a ckpt.yaml. A root of backups, as of --backup-root, is none."
)


@command(
    "ckpt fleet s3://lake/checkpoints s3://lake/tables",
    "ckpt fleet s3://lake/checkpoints --spark-version 4.3",
    "ckpt fleet s3://lake/checkpoints --source 0=kafka:broker:9092 --format openmetrics",
    "ckpt fleet s3://lake/checkpoints --index s3://lake/ckpt/index --backup-root s3://lake/backups",
    names=Names(several="at once", pipeline="storage"),
)
@click.argument("roots", shell_complete=directories, nargs=-1, metavar="ROOT...")
@deeply
@option(
    "--depth LEVELS",
    "Search this number of directory levels below each root; all levels below _checkpoints of a pipeline.",
    default=DEPTH,
    type=Whole(min=0),
)
@option(
    "--threads THREADS",
    "Check this number of checkpoints at the same time, 1 to 64.",
    default=THREADS,
    type=Whole(1, 64),
)
@option("--spark-version VERSION", "Gate each checkpoint: forecast its restart with this Spark version.")
@option(
    "--conf KEY=VALUE",
    "Gate each checkpoint: SQL conf that the deploy sets. Can be given more than once.",
    "confs",
    multiple=True,
)
@asking
@triggered
@option(
    "--ages",
    "Ask the Kafka brokers also how old the first unread record of each partition is, in nine more requests, and when "
    "it may expire.",
)
@with_topic_ids
@option(
    "--index URL", "Also write the index that the Checkpoints page in Airflow shows, into this directory of its own."
)
@option(
    "--backup-root ROOT",
    "Root of backups: the index says when the newest backup of each query was made. It needs --index, and is no ROOT "
    "of checkpoints. Can be given more than once.",
    "backup_roots",
    multiple=True,
)
@formatted
@option("--allow-empty", "End with exit code 0, not 3, when there is no checkpoint.")
@shared
def fleet(
    roots: tuple[str, ...],
    deep: bool,
    depth: int,
    threads: int,
    spark_version: str | None,
    confs: tuple[str, ...],
    ages: bool,
    topic_ids: Path | None,
    index: str | None,
    backup_roots: tuple[str, ...],
    document: str | None,
    allow_empty: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    **said: Any,
) -> None:
    """Find every checkpoint under the roots and check it. One row for each, worst first.

    Without a root these are the checkpoints of all queries of the query file; what it declares of a query counts for it
    under any root. With --spark-version or --conf the restart of each checkpoint is forecast, as by ckpt gate. With
    --source the sources are asked how far each query is behind, and what its restart would lose; one connection to a
    broker serves all queries. The first line names what was not judged because it was neither declared nor read;
    the decision is then not pass.
    Exit code 1 when there is an error, a decision to block, or a directory or a source that could not be read; 3 when
    there is no checkpoint; a root that cannot be read is a row, unless there is no other one. Directories that --depth
    leaves out are counted, and change no exit code; so are empty directories, and files directly below a root. Of a
    flow of a declarative pipeline only the newest version is checked; the others are listed as replaced. With --json
    the rows are printed in the order of their directories, not worst first. When it is interrupted (Ctrl-C), what was
    checked by then is printed, the summary says that it is not complete, and the exit code is 130.
    """
    if not roots:
        raise click.UsageError(NO_ROOT)
    shown_as = format_of(document, as_json=as_json)
    remembered, declared = TopicMemory(topic_ids), deploys_of_file()
    positions = _positions(said, declared, remembered, opening(storage_options), ages=ages)
    deploy = _deploy(spark_version, confs, declared, positions)
    if index is not None and not backup_roots:
        backup_roots = _backup_roots(roots)
    stores = [open_place(root, storage_options) for root in roots]
    writer = _index_writer(index, stores, backup_roots, storage_options)
    summary = Summary()
    beside: Any = {"unsearched": summary.unsearched, "others": summary.others}
    found = find_checkpoints(stores, depth=depth, threads=threads, keep_going=True, **beside)
    judged = judge_checkpoints(found, deep=deep, deploy=deploy, threads=threads, positions=positions)
    rows = collect(judged if writer is None else writer.taking(judged), summary)
    if summary.complete:
        twins = find_twins(rows, opening(storage_options), None if positions is None else positions.sink_of)
        rows = [twins.get(row.location, row) for row in rows]
        if writer is not None:
            writer.take_again(twins.values())
    summary.add_all(rows, sum(store.calls.count for store in stores))
    show(rows, summary, shown_as)
    if not summary.complete:
        say(f"Interrupted after {len(rows)} rows; the last one is {summary.last}. No index was written.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    for location, ids in positions.topic_ids.items() if positions is not None else ():
        remembered.see(open_store(location, storage_options), ids)
    if writer is not None and writer.write() is None:
        say(f"{index}: a newer index is there already, so this one was not written.", err=True)
    if writer is not None and writer.left_out:
        say(left_out_text(writer.left_out), err=True)
    if not summary.found and not allow_empty:
        error = CheckpointNotFoundError(
            f"there is no checkpoint here, nor in the {depth} directory levels below.",
            location=" ".join(store.location for store in stores),
            hint="Give the directory that holds the checkpoints, or a greater --depth.",
        )
        print_error(error, as_json=False)  # with --json, the document is written already
        raise click.exceptions.Exit(error.exit_code)
    raise click.exceptions.Exit(GateFailedError.exit_code if summary.failed else 0)


def _index_writer(
    index: str | None, stores: Sequence[Store], backup_roots: tuple[str, ...], storage_options: tuple[str, ...]
) -> IndexWriter | None:
    """Make the writer of the index; None when none is wanted."""
    if index is None:
        if backup_roots:
            raise click.UsageError("--backup-root needs --index URL: the index says when each query was backed up")
        return None
    store = open_store(index, storage_options)
    if store.is_local:
        require_outside("--index", Path(store.root, "index"))
    return IndexWriter(store, stores, [open_store(root, storage_options) for root in backup_roots])


def _backup_roots(roots: Sequence[str]) -> tuple[str, ...]:
    """Roots of the backups of the queries that are named, each once."""
    named = [query.backups for query in map(query_at, roots) if query is not None and query.backups]
    return tuple(dict.fromkeys(named))


def _deploy(
    spark_version: str | None, confs: tuple[str, ...], declared: Deploys, positions: FleetPositions | None
) -> Callable[[str], DeploySpec | None]:
    """What gives the deploy of each checkpoint; None for one of which nothing says how it is deployed."""
    said = {"spark_version": spark_version, "confs": dict(pairs(confs, "--conf")) or None}
    is_said = any(said.values())
    try:
        declare(DeploySpec(), said)
    except ValueError as error:
        raise click.UsageError(str(error)) from None

    def of(location: str) -> DeploySpec | None:
        own = declared.of(location) if positions is None else positions.deploy_of(location)
        return declare(own, said) if is_said or own.declared_version or own.says_confs else None

    return of


def _positions(
    said: dict[str, Any], declared: Deploys, remembered: TopicMemory, opened: Callable[[str], Store], *, ages: bool
) -> FleetPositions | None:
    """Make the reader of source positions; None when no source is declared. Raises click.UsageError."""
    has_sources = any(deploy.sources for deploy in declared.own.values())
    asked = asked_sources(**said, declared=declared if has_sources else Deploys())
    if asked is None:
        if ages:
            raise click.UsageError("--ages needs --source, or sources in the query file")
        return None
    return FleetPositions(
        asked.deploys,
        opened,
        asked.kafka_config,
        now_ms(),
        ages=ages,
        known_ids=remembered.of,
        configs=options_of_clusters(queries_of_file().values()),
    )
