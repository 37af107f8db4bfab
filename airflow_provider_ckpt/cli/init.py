"""The command that writes a query file from a scan: init."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from airflow_provider_ckpt.cli.absolute_words import absolute_location
from airflow_provider_ckpt.cli.files import WrittenFile, require_outside
from airflow_provider_ckpt.cli.find_query_file import QUERY_FILE
from airflow_provider_ckpt.cli.options import (
    Whole,
    command,
    directories,
    open_place,
    open_store,
    opening,
    option,
    pairs,
    shared,
    with_kafka_config,
)
from airflow_provider_ckpt.cli.render import print_json, say
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError, ObjectExistsError
from airflow_provider_ckpt.fleet import DEPTH, THREADS
from airflow_provider_ckpt.fleet.find import NoCheckpoints
from airflow_provider_ckpt.fleet.pipeline import SeenPipeline
from airflow_provider_ckpt.fleet.read_pipeline import see
from airflow_provider_ckpt.graph.draft import draft_file
from airflow_provider_ckpt.graph.draft_pipeline import beside, is_spec
from airflow_provider_ckpt.graph.graph import Graph, Known
from airflow_provider_ckpt.graph.read_graph import read_graph

#: Where the file is printed and not written.
PRINTED = "-"


@command(
    "ckpt init s3://lake/checkpoints --tables s3://lake/tables",
    "ckpt init s3://lake/checkpoints --tables s3://lake/tables --brokers broker:9092 --out -",
    "ckpt init spark-pipeline.yml --tables s3://lake/warehouse",
)
@click.argument("roots", shell_complete=directories, nargs=-1, required=True, metavar="ROOT...")
@option(
    "--tables ROOT",
    "Also search for tables and outputs below this directory; below each ROOT they are searched for anyway. Can be "
    "given more than once.",
    multiple=True,
    shell_complete=directories,
)
@option(
    "--brokers HOST:PORT",
    "Kafka brokers that queries read from, several of one cluster with commas between them. A source whose topics, "
    "partitions and positions they have is declared as theirs. Can be given more than once, for each cluster.",
    multiple=True,
)
@with_kafka_config
@option("--out FILE", f"Write the file here, by default {QUERY_FILE}; - prints it.", type=WrittenFile(str))
@option("--depth LEVELS", "Search this number of directory levels below each root.", default=DEPTH, type=Whole(min=0))
@option(
    "--threads THREADS",
    "Read this number of directories at the same time, 1 to 64.",
    default=THREADS,
    type=Whole(1, 64),
)
@shared
def init(
    roots: tuple[str, ...],
    tables: tuple[str, ...],
    brokers: tuple[str, ...],
    kafka_config: tuple[str, ...],
    out: str | None,
    depth: int,
    threads: int,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a query file from a scan, with what files prove.

    The type and the place of a source, the sink and the version of Spark are declared only where a file proves them,
    and a comment names the file. What no file proves is a comment that says what to say. Nothing is written into a
    checkpoint, and a file that is there is never overwritten. A ROOT that is the specification of a declarative
    pipeline, spark-pipeline.yml, becomes a pipeline with its flows; its files are read, and nothing of them is run. A
    checkpoint that cannot be read is a comment. Exit code 3 when there is neither a checkpoint nor a pipeline.
    """
    file = None if out == PRINTED else Path(out or QUERY_FILE)
    seen = [_read_spec(root, storage_options) for root in roots if is_spec(root)]
    stores = [open_place(root, storage_options) for root in roots if not is_spec(root)]
    ran = [pipeline for pipeline in seen if any(flow.is_there for flow in pipeline.flows)]
    stores += [open_place(pipeline.storage, storage_options) for pipeline in ran]
    warehouses = [open_store(place, storage_options) for pipeline in seen for place in beside(pipeline)]
    others = [open_place(root, storage_options) for root in tables]
    others += [warehouse for warehouse in warehouses if warehouse.exists()]
    if file is not None:
        require_outside("--out", file)
        if file.exists() or file.is_symlink():
            raise _there_already(file)
    passed_by = NoCheckpoints()
    config = dict(pairs(kafka_config, "--kafka-config"))
    graph = (
        read_graph(stores, others, depth=depth, threads=threads, others=passed_by, servers=brokers, kafka_config=config)
        if stores
        else Graph()
    )
    if not graph.nodes and not seen:
        raise CheckpointNotFoundError(
            f"there is no checkpoint here, nor in the {depth} directory levels below. {passed_by.text()}".rstrip(),
            location=" ".join(store.location for store in stores),
            hint="Give the directory that holds the checkpoints, or a greater --depth.",
        )
    try:
        made = draft_file(graph, seen, str(file or QUERY_FILE))
    except ValueError as error:
        raise CheckpointError(
            f"the query file that this makes could not be read again, so it was not written: {error}",
            location=" ".join(store.location for store in stores),
            hint="Give fewer roots.",
        ) from None
    if file is not None:
        try:
            with file.open("x", encoding="utf-8") as written:
                written.write(made.text)
        except FileExistsError:
            raise _there_already(file) from None
        except OSError as error:
            raise click.BadParameter(f"{file}: {error.strerror}", param_hint="--out") from None
    if as_json:
        print_json(made.to_dict(None if file is None else str(file)))
    elif file is None:
        click.echo(made.text, nl=False)
    say(_summary(made.graph, file), err=True)


def _read_spec(place: str, storage_options: tuple[str, ...]) -> SeenPipeline:
    """A pipeline by its specification. Raises click.UsageError for a file that is none."""
    try:
        return see(Path(place).stem, absolute_location(place), opening(storage_options))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _there_already(file: Path) -> ObjectExistsError:
    return ObjectExistsError(
        "the file is there already, and is not overwritten",
        location=str(file),
        hint="Give another file with --out, or --out - to print it, and compare the two.",
    )


def _summary(graph: Graph, file: Path | None) -> str:
    read = [node for node in graph.nodes if not node.stream.error]
    sources = [known for node in read for known in (node.sources or {}).values()]
    sinks = [node.sink for node in read]
    problems = len(graph.nodes) - len(read) + len(graph.problems)
    parts = [
        "1 query" if len(read) == 1 else f"{len(read):,} queries",
        f"{_proven(sources):,} of {len(sources):,} sources proven",
        f"{_proven(sinks):,} of {len(sinks):,} sinks proven",
        f"{len(graph.edges):,} times one reads what another writes",
        *([f"{problems:,} not read"] if problems else []),
    ]
    where = "Printed" if file is None else f"{file} was written"
    return f"{where}: {', '.join(parts)}. Its comments say what else to declare."


def _proven(found: Iterable[Known]) -> int:
    return sum(bool(known.text) for known in found)
