"""The query file: queries by their names, with all that is declared of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.query.sink import Sink

#: Stands for the name of a flow, and for its checkpoint, until both are found.
ANY_FLOW = "<flow>"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka cluster that the file names.

    Args:
        servers: ``bootstrap.servers``.
        options: Other settings of a client, without any secret.
        conn_id: Airflow connection that holds the rest; None without one.
    """

    servers: str
    options: Mapping[str, str] = field(default_factory=dict)
    conn_id: str | None = None


@dataclass(frozen=True, slots=True)
class StorageAccess:
    """How storage is opened.

    Args:
        options: Options of the fsspec driver, without any secret.
        conn_id: Airflow connection that holds the rest; None without one.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    conn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    """Thresholds of a query; None is no threshold.

    Args:
        behind_ms: Most age of the oldest data that is not read, milliseconds.
        delay_ms: Most time from the watermark of a batch to the begin of the batch, milliseconds.
        age_ms: Most age of the newest commit, milliseconds.
        rows: Most rows, offsets, files or versions that are not read, of each source.
    """

    #: Its fields by the keys that they have in the file.
    FIELDS: ClassVar = {"behind": "behind_ms", "delay": "delay_ms", "age": "age_ms", "rows": "rows"}

    behind_ms: int | None = None
    delay_ms: int | None = None
    age_ms: int | None = None
    rows: int | None = None

    def items(self) -> dict[str, int]:
        """The thresholds that are declared, by their keys in the file."""
        values = {key: getattr(self, field) for key, field in self.FIELDS.items()}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of the file.

    Args:
        name: Its name in the file.
        checkpoint: Its checkpoint location, as ckpt opens it.
        deploy: What is declared of its sources, its sink and its confs.
        confs_file: File of confs that its application is started with: a path or a URL.
        sinks: Places that a ``foreachBatch`` writes to.
        backups: Root of its backups.
        undo: Root of the records of its changes; None is beside the checkpoint.
        keep: Which of its backups a prune keeps, by the keys of the file.
        alert: Its thresholds.
        engine: The engine that runs it; None when none is declared.
        clusters: The Kafka clusters that its sources name, by source id.
        lines: Line of the file, from 1, by key, such as ``sink`` and ``alert.behind``.
        said_by: Where another file declares it, by key, such as a definition of a pipeline.
        pipeline: Name of the pipeline whose flow it is; None for all others.
    """

    name: str
    checkpoint: str
    deploy: DeploySpec = field(default_factory=DeploySpec)
    confs_file: str | None = None
    sinks: tuple[Sink, ...] = ()
    backups: str | None = None
    undo: str | None = None
    keep: Mapping[str, Any] = field(default_factory=dict)
    alert: Alert = field(default_factory=Alert)
    engine: DeclaredEngine | None = None
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    said_by: Mapping[str, str] = field(default_factory=dict)
    pipeline: str | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A Spark Declarative Pipeline.

    Args:
        spec: Its specification, such as ``spark-pipeline.yml``.
        remote: Its Connect server, such as ``sc://host:15002``; None when that is not declared.
        flows: What the file declares of flows, by the names that it calls them by, without a checkpoint.
        any_flow: What it declares of every other flow, named ANY_FLOW.
    """

    spec: str
    remote: str | None = None
    flows: Mapping[str, Query] = field(default_factory=dict)
    any_flow: Query = field(default_factory=lambda: Query(ANY_FLOW, ANY_FLOW))


@dataclass(frozen=True, slots=True)
class QueryFile:
    """The queries that a file declares.

    Args:
        place: The file: a path or a URL.
        queries: Queries by name.
        pipelines: Pipelines by name.
        storage: Options with which storage is opened.
        paths: Locations that the cluster spells otherwise.
        aliases: Other names of queries: longer ones of the flows of pipelines.
    """

    place: str = "ckpt.yaml"
    queries: Mapping[str, Query] = field(default_factory=dict)
    pipelines: Mapping[str, Pipeline] = field(default_factory=dict)
    storage: StorageAccess = field(default_factory=StorageAccess)
    paths: Paths = field(default_factory=Paths)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def find(self, text: str) -> Query | None:
        """The query with this name, or with its checkpoint at this location; None when there is none."""
        name = text if text in self.queries else self.aliases.get(text.replace("`", ""))
        if name is not None:
            return self.queries[name]
        place = self.paths.place(text)
        if place in self.aliases:
            return self.queries[self.aliases[place]]
        return next((query for query in self.queries.values() if self.paths.place(query.checkpoint) == place), None)

    def origin(self, query: Query, key: str) -> str | None:
        """Where the file says a declaration of a query, such as ``ckpt.yaml line 12``; None when the file has none."""
        if key in query.said_by:
            return query.said_by[key]
        line = query.lines.get(key)
        return None if line is None else f"{self.place} line {line}"

    def named(self, name: str) -> Query:
        """The query with this name. Raises CheckpointError for a name that is none."""
        known = name if name in self.queries else self.aliases.get(name.replace("`", ""))
        if known is None:
            raise CheckpointError(f"{name:.100} is no query of {self.place}; {self.known_text(name)}")
        return self.queries[known]

    def known_text(self, word: str) -> str:
        """The name that somebody has meant by a word that is none, or the names that there are; part of a sentence."""
        near = get_close_matches(word, self.queries, 1)
        known = ", ".join(sorted(self.queries)[:20]) or "none"
        return f"did you mean {near[0]}?" if near else f"its queries are {known}"
