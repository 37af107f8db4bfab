"""What a query file declares of a query, by the names that options, parameters and fields of a page have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.query.keep import KEPT
from airflow_provider_ckpt.query.query_file import Cluster, Query
from airflow_provider_ckpt.query.spark_version import version_text


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration of a query.

    Args:
        key: The key of the file that says it.
        of: Its value: a text, texts, or texts by text; empty or None where the file does not say it.
    """

    key: str
    of: Callable[[Query], Any]


def cluster_of(query: Query) -> Cluster | None:
    """The only Kafka cluster that the sources of a query name; None for none, and for several."""
    clusters = clusters_of([query])
    return next(iter(clusters.values())) if len(clusters) == 1 else None


def clusters_of(queries: Iterable[Query]) -> dict[str, Cluster]:
    """The Kafka clusters that the sources of some queries name, by their servers."""
    return {cluster.servers: cluster for query in queries for cluster in query.clusters.values()}


def options_of_clusters(queries: Iterable[Query]) -> dict[str, dict[str, str]]:
    """Settings of the clients of these clusters, by their servers."""
    return {servers: dict(cluster.options) for servers, cluster in clusters_of(queries).items()}


def _stored(query: Query) -> Any:
    """The sources that are tables or directories, which a check compares."""
    return {key: source.text for key, source in query.deploy.by_id.items() if source.is_stored}


def _typed(query: Query) -> Any:
    """The sources whose type is known, for what needs no place."""
    return {key: source.text for key, source in query.deploy.by_id.items() if source.type is not None}


def _asked(query: Query) -> Any:
    """The sources of which it is known where they end, or that they have no end."""
    by_id = query.deploy.by_id
    return {key: source.text for key, source in by_id.items() if source.is_asked or source.is_endless}


def _only_source(query: Query) -> Any:
    sources = [(key, source) for key, source in query.deploy.by_id.items()]
    if len(sources) != 1 or not sources[0][1].is_asked:
        return None
    return f"{sources[0][0]}={sources[0][1].text}"


def _kafka_config(query: Query) -> Any:
    cluster = cluster_of(query)  # a client has one configuration for all brokers that it asks
    return {} if cluster is None else dict(cluster.options)


def _kafka_connection(query: Query) -> Any:
    cluster = cluster_of(query)
    return None if cluster is None else cluster.conn_id


def _kept(key: str) -> Callable[[Query], Any]:
    return lambda query: query.keep.get(key)


def _version(query: Query) -> Any:
    declared = query.deploy.declared_version
    return None if declared is None else version_text(declared)


#: Every declaration, by the name that arguments have.
DECLARED: Mapping[str, Declared] = {
    "sources": Declared("sources", lambda query: {key: source.text for key, source in query.deploy.by_id.items()}),
    "stored_sources": Declared("sources", _stored),
    "typed_sources": Declared("sources", _typed),
    "asked_sources": Declared("sources", _asked),
    "source": Declared("sources", _only_source),
    "source_options": Declared("source_options", lambda query: dict(query.deploy.source_options)),
    "kafka_config": Declared("sources", _kafka_config),
    "kafka_conn_id": Declared("sources", _kafka_connection),
    "sinks": Declared("sink", lambda query: (query.deploy.sink.text,) if query.deploy.sink else ()),
    "sink": Declared("sink", lambda query: query.deploy.sink.text if query.deploy.sink else None),
    "trigger": Declared("trigger", lambda query: query.deploy.trigger),
    "spark_version": Declared("spark_version", _version),
    "confs": Declared("confs", lambda query: dict(query.deploy.confs)),
    "operators": Declared("operators", lambda query: query.deploy.operators),
    "classes": Declared("classes", lambda query: query.deploy.classes),
    "backup_root": Declared("backups", lambda query: query.backups),
    "undo_root": Declared("undo", lambda query: query.undo),
    **{f"keep_{key}": Declared("keep", _kept(key)) for key in KEPT},
    "keep_tags": Declared("keep", _kept("tag")),
}


#: Arguments and fields that are locations, or hold some in their texts, of whatever has them.
PLACED = (
    *("checkpoint", "checkpoint_roots", "fork", "origin", "index", "scratch", "downstream"),
    *("backup_root", "backup_roots", "undo_root", "to_backup"),
    *("source", "sources", "sink", "sinks", "shadow_sink"),
)
#: Declarations that are of one query: of several, none is given for all.
OF_ONE_QUERY = ("sources", "source_options", "sink", "operators")
#: What counts beside a plan, which holds all else.
BESIDE_PLAN = ("undo_root",)


def texts_declared(name: str, query: Query) -> list[str]:
    """What the file declares under one of the names, as words of a command line.

    Args:
        name: One of DECLARED.
        query: The query.
    """
    value = DECLARED[name].of(query)
    if isinstance(value, Mapping):
        return [f"{key}={each}" for key, each in value.items()]
    if isinstance(value, int):
        return [str(value)]
    return [value] if isinstance(value, str) and value else list(value or ())
