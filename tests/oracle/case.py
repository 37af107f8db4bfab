"""A case of the oracle: a golden checkpoint, what is done to it, and the query that is deployed on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STATE = "spark.sql.streaming.stateStore"
PROVIDER = f"{STATE}.providerClass"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
HDFS = f"{PROVIDERS}.HDFSBackedStateStoreProvider"
ROCKSDB = f"{PROVIDERS}.RocksDBStateStoreProvider"
CODEC = f"{STATE}.compression.codec"
ENCODING = f"{STATE}.encodingFormat"
STATE_FORMAT = f"{STATE}.checkpointFormatVersion"
CHANGELOG = f"{STATE}.rocksdb.changelogCheckpointing.enabled"
SHUFFLE = "spark.sql.shuffle.partitions"
AGGREGATION = "spark.sql.streaming.aggregation.stateFormatVersion"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
OFFSET_LOG = "spark.sql.streaming.offsetLog.formatVersion"
SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
SINK_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSinkEvolution"
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
VERIFYING_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
VERIFY_METADATA = "spark.sql.streaming.checkpoint.verifyMetadataExists.enabled"


@dataclass(frozen=True)
class Query:
    """What a deploy starts, as it would declare it.

    Args:
        sources: Type of each source, by name or position.
        operators: Spark's names of its stateful operators.
        sink: Format of the sink.
        mode: Output mode.
        asynchronous: Whether progress is tracked asynchronously.
        sink_name: Name of the sink (sink evolution).
    """

    sources: Mapping[str, str] = field(default_factory=lambda: {"0": "file"})
    operators: tuple[str, ...] = ()
    sink: str = "parquet"
    mode: str = "append"
    asynchronous: bool = False
    sink_name: str | None = None


_TWO = {"0": "file", "1": "file"}
_NAMED = {"orders": "file", "payments": "file"}
_SAVE = "stateStoreSave"

QUERIES = {
    "copy": Query(),
    "copy-noop": Query(sink="noop"),
    "copy-async": Query(sink="noop", asynchronous=True),
    "copy-to-archive": Query(sink_name="archive"),
    "copy-to-lake": Query(sink_name="lake"),
    "copy-rate": Query({"0": "rate-micro-batch"}, sink="noop"),
    "copy-two": Query(_TWO),
    "copy-two-swapped": Query(_TWO),
    "copy-file-and-rate": Query({"0": "file", "1": "rate-micro-batch"}),
    "copy-named": Query(_NAMED),
    "copy-named-swapped": Query({"payments": "file", "orders": "file"}),
    "copy-named-one": Query({"orders": "file"}),
    "copy-named-other": Query({"orders": "file", "refunds": "file"}),
    "copy-named-three": Query({**_NAMED, "refunds": "file"}),
    "count": Query(operators=(_SAVE,)),
    "count-to-archive": Query(operators=(_SAVE,), sink_name="archive"),
    "count-noop": Query(operators=(_SAVE,), sink="noop"),
    "count-update": Query(operators=(_SAVE,), sink="noop", mode="update"),
    "count-by-value": Query(operators=(_SAVE,)),
    "count-more": Query(operators=(_SAVE,)),
    "count-two": Query(_TWO, operators=(_SAVE,)),
    "count-deduplicated": Query(operators=(_SAVE, "dedupe")),
    "dedupe": Query(operators=("dedupe",)),
    "join": Query(_TWO, operators=("symmetricHashJoin",)),
    "dedupe-within": Query(operators=("dedupeWithinWatermark",)),
    "sessions": Query(operators=("sessionWindowStateStoreSaveExec",)),
    "count-count": Query(operators=(_SAVE, _SAVE)),
    "in-pandas": Query(operators=("applyInPandasWithState",), sink="noop", mode="update"),
    "processor": Query(operators=("transformWithStateInPandasExec",), sink="noop", mode="update"),
    "totals": Query(operators=(_SAVE,), sink="noop", mode="update"),
    "limit": Query(operators=("globalLimit",)),
    "count-limit": Query(operators=("globalLimit", _SAVE)),
}

#: Golden checkpoint and the query that wrote it, by base.
BASES = {
    "file": ("4.3.0/file-to-parquet-5", "copy"),
    "file-12": ("4.3.0/file-to-parquet-12", "copy"),
    "retain-2": ("4.3.0/retain-2-batches", "copy"),
    "once": ("4.3.0/once", "copy"),
    "rate": ("4.3.0/rate-micro-batch", "copy-rate"),
    "async": ("4.3.0/async-progress", "copy-async"),
    "two": ("4.3.0/two-sources", "copy-two"),
    "named": ("4.3.0/named-sources", "copy-named"),
    "offset-v2": ("4.3.0/offset-log-v2", "copy"),
    "commit-v3": ("4.3.0/commit-log-v3", "copy-to-archive"),
    "commit-v3-renamed": ("4.3.0/commit-log-v3-renamed", "copy-to-lake"),
    "agg-hdfs": ("4.3.0/agg-hdfs", "count"),
    "agg-rocksdb": ("4.3.0/agg-rocksdb", "count"),
    "agg-changelog": ("4.3.0/agg-rocksdb-changelog", "count"),
    "agg-v2": ("4.3.0/agg-rocksdb-v2", "count"),
    "agg-changelog-v2": ("4.3.0/agg-rocksdb-changelog-v2", "count"),
    "agg-commit-v3": ("4.3.0/agg-commit-log-v3", "count-to-archive"),
    "agg-update": ("4.3.0/agg-update-hdfs", "count-update"),
    "agg-update-v2": ("4.3.0/agg-update-rocksdb-changelog-v2", "count-update"),
    "row-checksum": ("4.3.0/row-checksum", "count"),
    "dedupe": ("4.3.0/drop-duplicates", "dedupe"),
    "join": ("4.3.0/join-hdfs", "join"),
    "join-v3": ("4.3.0/join-state-format-3", "join"),
    "join-v4": ("4.3.0/join-state-format-4", "join"),
    "dedupe-within": ("4.3.0/drop-duplicates-within-watermark", "dedupe-within"),
    "sessions": ("4.3.0/session-window", "sessions"),
    "count-count": ("4.3.0/count-then-count", "count-count"),
    "in-pandas": ("4.3.0/apply-in-pandas", "in-pandas"),
    "processor": ("4.3.0/transform-with-state", "processor"),
    "totals": ("4.3.0/count-all-hdfs", "totals"),
    "totals-changelog": ("4.3.0/count-all-rocksdb", "totals"),
    "totals-v2": ("4.3.0/count-all-rocksdb-v2", "totals"),
    "limit": ("4.3.0/limit", "limit"),
    "count-limit": ("4.3.0/count-then-limit", "count-limit"),
    "repartitioned": ("4.3.0/repartition-2-to-4", "count"),
    "repartitioned-v2": ("4.3.0/repartition-offset-log-v2", "count"),
    "by-3.4": ("3.4.4/agg-hdfs", "count"),
    "by-3.5": ("3.5.9/agg-rocksdb-changelog", "count"),
    "by-4.0": ("4.0.5/agg-rocksdb", "count"),
    "by-4.1": ("4.1.4/agg-hdfs", "count"),
    "by-4.2": ("4.2.1/agg-rocksdb-changelog", "count"),
    "file-by-3.5": ("3.5.9/file-to-parquet-12", "copy"),
    "file-by-4.0": ("4.0.5/file-to-parquet-12", "copy"),
}


@dataclass(frozen=True)
class Case:
    """One case: a base, mutations, and a deploy.

    Args:
        base: Key of ``BASES``.
        mutations: Lines for ``mutations.mutate``.
        query: Key of ``QUERIES``; None is the query that wrote the base.
        confs: Confs of the deploy beside those that wrote the base; None takes one away.
        newest_spark_only: Whether no earlier Spark is asked.
    """

    base: str
    mutations: tuple[str, ...] = ()
    query: str | None = None
    confs: Mapping[str, str | None] = field(default_factory=dict)
    newest_spark_only: bool = False

    @property
    def name(self) -> str:
        """What identifies the case in the recorded outcomes."""
        parts = [self.base, *self.mutations]
        if self.query:
            parts.append(f"deploy {self.query}")
        parts += [f"{key.removeprefix('spark.sql.')}={value}" for key, value in self.confs.items()]
        return " | ".join(parts)

    @property
    def golden(self) -> str:
        """``<spark version>/<case>`` of the golden checkpoint."""
        return BASES[self.base][0]

    def runs_on(self, spark: tuple[int, ...]) -> bool:
        """Whether a Spark, (major, minor), is asked: 4.3 everything, earlier ones about confs and versions."""
        if spark >= (4, 3) or self.newest_spark_only:
            return spark >= (4, 3)
        written_by = tuple(map(int, self.golden.split(".")[:2]))
        return (written_by <= spark or self.base in DOWNGRADED) and self.query is None and _is_about_versions(self)

    @property
    def deployed(self) -> Query:
        """The query of the deploy."""
        return QUERIES[self.query or BASES[self.base][1]]


#: Bases of Spark 4.3 that an earlier Spark is asked about.
DOWNGRADED = ("file", "rate", "agg-hdfs", "agg-rocksdb", "offset-v2", "commit-v3", "agg-changelog-v2", "agg-commit-v3")


def _is_about_versions(case: Case) -> bool:
    return not case.mutations or all(line.startswith(_VERSION_MUTATIONS) for line in case.mutations)


_VERSION_MUTATIONS = ("drop commits/{N}", "drop metadata", "conf", "version", "drop offsets/{N-1}", "text metadata")
