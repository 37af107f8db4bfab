"""Reading the graph of queries and places below some roots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet import DEPTH, THREADS
from airflow_provider_ckpt.fleet.find import Found, NoCheckpoints, find_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.graph.find_places import find_places
from airflow_provider_ckpt.graph.graph import Graph, graph_of, positions_of
from airflow_provider_ckpt.graph.read_stream import read_stream
from airflow_provider_ckpt.graph.stream import Stream
from airflow_provider_ckpt.query.paths import Paths, plain_place
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store


def read_graph(
    roots: Sequence[Store],
    tables: Sequence[Store] = (),
    *,
    paths: Paths | None = None,
    depth: int = DEPTH,
    threads: int = THREADS,
    others: NoCheckpoints | None = None,
    servers: Sequence[str] = (),
    kafka_config: Mapping[str, Any] | None = None,
) -> Graph:
    """Find the checkpoints below some roots, and the tables below these and others. Nothing is written.

    Args:
        roots: Where checkpoints are searched for, and tables as well.
        tables: Where only tables are.
        paths: How locations in logs are opened.
        depth: How many levels below a root to search.
        threads: How many directories to read together.
        others: Takes what is there and is no checkpoint.
        servers: Kafka clusters that queries read from, each by its servers, such as ``broker:9092``.
        kafka_config: Options of the clients.

    Raises:
        CheckpointNotFoundError: None of the roots is there.
        StoreError: None of the roots can be listed.
    """
    found = find_checkpoints(roots, depth=depth, threads=threads, others=others, keep_going=True)
    paths = paths or Paths()
    read = _reader(paths)
    with ThreadPoolExecutor(threads) as pool:
        streams = [stream for stream in in_order(pool, read, found, window=2 * threads) if stream is not None]
    # Tables are read after checkpoints, so that a table is never behind the checkpoint of its writer.
    ids = {stream.query_id for stream in streams if stream.query_id is not None}
    places, problems = find_places([*roots, *tables], ids, paths=paths, depth=depth, threads=threads)
    streams = list({plain_place(stream.location): stream for stream in streams}.values())
    brokers, silent = _ask_brokers(streams, servers, kafka_config or {})
    return graph_of(sorted(streams, key=lambda stream: stream.location), places, [*problems, *silent], brokers)


def _ask_brokers(
    streams: Sequence[Stream], servers: Sequence[str], config: Mapping[str, Any]
) -> tuple[dict[str, Extent], list[str]]:
    """What each cluster has of the topics that sources of Kafka's shape name; and who gave no answer."""
    sources = [source for stream in streams for source in stream.sources or ()]
    topics = {topic for source in sources for topic, _ in positions_of(source)}
    brokers, found, silent = Brokers(config), dict[str, Extent](), list[str]()
    for each in servers if topics else ():
        try:
            found[each] = brokers.extent(each, topics)
        except CheckpointError as error:
            silent.append(str(error))
    return found, silent


def _reader(paths: Paths) -> Callable[[Found | FleetRow], Stream | None]:
    def read(item: Found | FleetRow) -> Stream | None:
        if isinstance(item, Found):
            return read_stream(item.store, item.listing, paths)
        return None if item.replaced_by else Stream(item.location, error=item.error or "")

    return read
