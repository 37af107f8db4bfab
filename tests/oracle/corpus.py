"""The oracle corpus: real checkpoints, what was done to them, and what is deployed on them.

A case is data. The checkpoints are the golden ones; ``mutations.py`` has the verbs. What Spark did with each case is
recorded in ``outcomes-<version>.json``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
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


def _each(base: str, mutations: Iterable[str | tuple[str, ...]], **deploy: object) -> Iterator[Case]:
    for mutation in mutations:
        lines = (mutation,) if isinstance(mutation, str) else mutation
        yield Case(base, lines, **deploy)  # type: ignore[arg-type]


def _deploys(base: str, *confs: Mapping[str, str | None], mutations: tuple[str, ...] = ()) -> Iterator[Case]:
    for conf in confs:
        yield Case(base, mutations, confs=conf)


#: Bases of Spark 4.3 that an earlier Spark is asked about.
DOWNGRADED = ("file", "rate", "agg-hdfs", "agg-rocksdb", "offset-v2", "commit-v3", "agg-changelog-v2", "agg-commit-v3")


def _is_about_versions(case: Case) -> bool:
    return not case.mutations or all(line.startswith(_VERSION_MUTATIONS) for line in case.mutations)


_VERSION_MUTATIONS = ("drop commits/{N}", "drop metadata", "conf", "version", "drop offsets/{N-1}", "text metadata")

#: What cannot be known from outside, by the beginning of a case's name.
NOT_KNOWN = {
    "agg-hdfs | drop state/0/1 | drop state/0/0/_metadata": "what tells one partition from two is gone: a warning",
    f"agg-hdfs | conf offsets/{{N}} {CODEC} '\"org.example.": "a class that may be on the class path: a warning",
    f"agg-changelog | conf offsets/{{N}} {CODEC} '\"org.example.": "as above",
    "two | deploy copy-two-swapped": "both sources are files; that they are swapped shows in neither log nor deploy",
    "two | drop commits/{N} | deploy copy-two-swapped": "as above",
    "agg-hdfs | deploy count-by-value": "the deploy does not declare the grouping keys; the operator is the same",
    "agg-changelog-v2 | deploy count-by-value": "as above",
}


#: Damage of the two logs and the metadata that needs no particular query.
LOGS: tuple[str | tuple[str, ...], ...] = (
    (),
    "drop commits/{N}",
    ("drop commits/{N}", "drop offsets/{N}"),
    "drop offsets/{N}",
    "drop offsets/{N-1}",
    ("drop offsets/{N-1}", "drop commits/{N}"),
    "drop offsets/{N-2}",
    "drop commits/{N-1}",
    ("drop commits/{N}", "drop commits/{N-1}"),
    "drop commits/*",
    "drop commits",
    "drop offsets/*",
    ("drop offsets/*", "drop commits/*"),
    "empty offsets/{N}",
    ("empty offsets/{N}", "drop commits/{N}"),
    "empty offsets/{N-1}",
    "empty offsets/{N-2}",
    "empty commits/{N}",
    "empty commits/{N-1}",
    "truncate offsets/{N}",
    "truncate offsets/{N-1}",
    "truncate commits/{N}",
    "text offsets/{N} v1",
    "text commits/{N} v1",
    "text commits/{N} v1 {}",
    "text commits/{N} v1 hello",
    "text commits/{N} hello",
    "version offsets/{N} v9",
    "version offsets/{N-1} v9",
    "version offsets/{N-2} v9",
    "version offsets/{N} vX",
    "version offsets/{N} v0",
    "version commits/{N} v9",
    "version commits/{N-1} v9",
    "drop metadata",
    "empty metadata",
    "text metadata hello",
    'text metadata \'{"id":"hello"}\'',
    "text metadata {}",
    "stale metadata",
    "stale offsets/{N}",
    "stale commits/{N}",
    ("bare-drop commits/{N}", "bare-drop offsets/{N}"),
    "bare-drop commits/{N}",
    "copy commits/{N} commits/{N+1}",
    ("copy commits/{N} commits/{N+1}", "copy commits/{N} commits/{N+2}"),
    "copy offsets/{N} offsets/{N+1}",
    "copy offsets/{N} offsets/{N+2}",
    "folder offsets/{N+1}",
    "folder offsets/{N+2}",
    "folder commits/{N+1}",
    "copy offsets/{N} offsets/007",
    "copy offsets/{N} offsets/+9",
    "copy offsets/{N} offsets/-1",
    "copy offsets/{N} offsets/1_0",
    "copy offsets/{N} offsets/{N}.tmp",
    "copy commits/{N} commits/007",
    "line offsets/{N} 1 ''",
    ("line offsets/{N} 1 ''", "drop commits/{N}"),
    "line offsets/{N} 1 {}",
    "line offsets/{N} 1 hello",
    "line offsets/{N} 1 absent",
    "conf offsets/{N} spark.sql.shuffle.partitions null",
    "conf offsets/{N} spark.sql.shuffle.partitions 2",
    "conf offsets/{N} spark.sql.shuffle.partitions absent",
    "conf offsets/{N} spark.sql.old.thing '\"x\"'",
    f"conf offsets/{{N}} {PROVIDER} '\"org.example.NoSuchProvider\"'",
    f"conf offsets/{{N}} {PROVIDER} absent",
    f"conf offsets/{{N}} {CODEC} '\"nocodec\"'",
    f"conf offsets/{{N}} {POLICY} '\"max\"'",
    "confs offsets/{N} none",
    ("confs offsets/{N} none", "drop commits/{N}"),
)

#: Damage of what a file source keeps.
FILE_SOURCE: tuple[str | tuple[str, ...], ...] = (
    ("drop commits/{N}", "drop offsets/{N}", "drop sources/0/{N}"),
    "drop sources/0/{N}",
    "drop sources/0/{N-2}",
    ("drop sources/0/{N}", "drop commits/{N}"),
    "drop sources",
    "empty sources/0/{N}",
    "version sources/0/{N} v9",
    "truncate sources/0/{N}",
    "line offsets/{N} 2 -",
    ("line offsets/{N} 2 -", "drop commits/{N}"),
    "line offsets/{N} 2 '{\"logOffset\":9}'",
    "line offsets/{N} 2 '{\"logOffset\":0}'",
    "line offsets/{N} 2 '{\"logOffset\":-1}'",
    "line offsets/{N} 2 hello",
    "line offsets/{N} 2 absent",
    "line offsets/{N} 3 '{\"logOffset\":1}'",
    "line offsets/{N-1} 3 '{\"logOffset\":1}'",
    ("drop ../output/_spark_metadata/{N}",),
    ("drop ../output/_spark_metadata",),
    ("drop ../output/_spark_metadata/{N}", "drop commits/{N}"),
)

#: Damage of state, by the files that a store of each kind has.
STATE_DIRECTORY = (
    "drop state",
    "drop state/0/1",
    "drop state/0/_metadata",
    "drop state/0/0/_metadata",
    ("drop offsets/*", "drop commits/*", "drop sources"),
    ("drop offsets", "drop commits"),
    "conf offsets/{N} spark.sql.shuffle.partitions '\"4\"'",
    ("conf offsets/{N} spark.sql.shuffle.partitions '\"4\"'", "drop commits/{N}"),
    f"conf offsets/{{N}} {AGGREGATION} '\"1\"'",
    f"conf offsets/{{N}} {AGGREGATION} absent",
    "watermark offsets/{N} 1",
    "watermark commits/{N} 1",
    ("watermark offsets/{N} 1", "drop commits/{N}"),
)
HDFS_STATE = ("drop state/0/0/{V}.delta", "empty state/0/0/{V}.delta", "flip state/0/0/{V}.delta",
              "rot state/0/0/{V}.delta", "empty state/0/0/*.snapshot", "rot state/0/0/*.snapshot",
              ("empty state/0/0/*.snapshot", "drop state/0/0/1.delta"),
              "drop state/0/0/*.snapshot", "drop state/0/0/{V-1}.delta", "drop state/0/0/1.delta",
              ("drop state/0/0/*.snapshot", "drop state/0/0/1.delta"),
              ("drop state/0/0/{V}.delta", "drop commits/{N}"))  # fmt: skip
ROCKSDB_STATE = ("drop state/0/0/{V}.zip", "empty state/0/0/{V}.zip", "flip state/0/0/{V}.zip",
                 "drop state/0/0/{V-1}.zip", "drop state/0/0/SSTs", "rot state/0/0/{V}.zip",
                 "empty state/0/0/SSTs/*.sst", ("drop state/0/0/{V}.zip", "drop commits/{N}"))  # fmt: skip
CHANGELOG_STATE = ("drop state/0/0/{V}.changelog", "empty state/0/0/{V}.changelog", "flip state/0/0/{V}.changelog",
                   "drop state/0/0/*.zip", "drop state/0/0/1.changelog", "drop state/0/0/SSTs",
                   "rot state/0/0/{V}.changelog", "empty state/0/0/*.zip", "rot state/0/0/*.zip",
                   ("drop state/0/0/SSTs", "drop state/0/0/1.changelog"),
                   ("drop state/0/0/*.zip", "drop state/0/0/1.changelog"))  # fmt: skip
#: The batch before the one in flight is not committed: the state that it has left is what counts.
TRAILING = ("drop commits/{N}", "drop commits/{N-1}")
TRAILING_STATE = {
    "agg-update": ((), "drop state/0/0/{V}.delta", "drop state/0/0/{V-1}.delta", "drop state/0/0/{V-2}.delta",
                   "empty state/0/0/{V-1}.delta", "rot state/0/0/{V-1}.delta", "drop state/0/1",
                   "drop commits/*", ("drop commits/*", "drop state/0/0/{V-1}.delta")),
    "agg-rocksdb": ((), "drop state/0/0/{V}.zip", "drop state/0/0/{V-1}.zip", "drop state/0/0/{V-2}.zip",
                    "empty state/0/0/{V-1}.zip", ("drop commits/*", "drop state/0/0/{V-1}.zip")),
    "agg-changelog": ((), "drop state/0/0/{V-1}.changelog", "drop state/0/0/{V-2}.changelog",
                      "empty state/0/0/{V-1}.changelog"),
}  # fmt: skip
V2_STATE = ("drop state/0/0/{V}_*", "empty state/0/0/{V}_*", "text commits/{N} v1 {}", "version commits/{N} v1",
            "drop state/0/0/*.crc", "rot state/0/0/{V}_*[gp]", "drop state/0/0/{V-1}_*", ("drop commits/{N}", "drop commits/{N-1}"),
            "text commits/{N} v2 '{\"nextBatchWatermarkMs\":0}'")  # fmt: skip


def _all_cases() -> Iterator[Case]:
    yield from _each("file", LOGS)
    yield from _each("file", FILE_SOURCE)
    yield from _logs_elsewhere()
    yield from _state()
    yield from _state_files()
    yield from _partitions()
    yield from _conf_values()
    yield from _confs()
    yield from _sources()
    yield from _formats()
    yield from _upgrades()
    yield from _pairs()


def _logs_elsewhere() -> Iterator[Case]:
    few = ("drop commits/{N}", "drop offsets/{N}", "drop offsets/{N-1}", "empty offsets/{N}", "drop metadata",
           "confs offsets/{N} none", "version commits/{N} v9")  # fmt: skip
    for base in ("file-12", "retain-2", "rate", "two", "offset-v2", "once"):
        yield Case(base)
        yield from _each(base, few)
    yield from _each("rate", ("line offsets/{N} 2 -", 'line offsets/{N} 2 \'{"offset":5,"timestamp":1000}\''))
    yield from _each(
        "retain-2",
        (("drop offsets/9",), ("drop offsets/9", "drop offsets/10"), "drop ../output/_spark_metadata/9.compact"),
    )
    yield from _each(
        "file-12", ("drop sources/0/9.compact", "drop sources/0/8", "drop sources/0/10", "drop sources/0/11")
    )


def _state() -> Iterator[Case]:
    stores = {
        "agg-hdfs": HDFS_STATE,
        "agg-rocksdb": ROCKSDB_STATE,
        "agg-changelog": CHANGELOG_STATE,
        "agg-v2": V2_STATE,
        "agg-changelog-v2": V2_STATE,
    }
    for base, damages in stores.items():
        yield Case(base)
        yield from _each(base, ("drop commits/{N}", ("drop commits/{N}", "drop offsets/{N}")))
        yield from _each(base, damages)
    yield from _each("agg-hdfs", STATE_DIRECTORY)
    yield from _each("agg-changelog-v2", STATE_DIRECTORY[:6])
    yield from _each("repartitioned-v2", ("conf offsets/{N} spark.sql.shuffle.partitions absent",))
    without = tuple(f"conf offsets/{place} spark.sql.shuffle.partitions absent" for place in ("{N}", "{N-1}"))
    for lines in ((), without[:1], without[1:], without, ("drop state/0/3",)):
        yield Case("repartitioned-v2", lines, "count-noop")
        yield Case("repartitioned-v2", (*lines, "drop commits/{N}"), "count-noop")
    yield Case("repartitioned-v2", without[:1], "count-noop", {SHUFFLE: "4"})
    yield Case("repartitioned-v2", without[:1], "count-noop", {SHUFFLE: None})
    for base in ("agg-hdfs", "agg-changelog", "dedupe", "by-4.0"):
        yield Case(base, without[:1], None)
        yield Case(base, without[:1], None, {SHUFFLE: "4"})
    for base in ("agg-hdfs", "agg-v2", "agg-changelog-v2"):
        yield from _each(base, ("drop commits/{N}", ("drop commits/{N}", "drop offsets/{N}")), query="count-noop")
    yield from _each("agg-update-v2", (("drop commits/{N}", "drop commits/{N-1}"), "drop commits/{N-1}"))
    for base, damages in TRAILING_STATE.items():
        lines = ((*TRAILING, *((damage,) if isinstance(damage, str) else damage)) for damage in damages)
        yield from _each(base, lines, query=None if base == "agg-update" else "count-noop")
    yield from _each("agg-hdfs", ((*TRAILING, "drop state/0/0/{V-1}.delta"),))
    for base in ("dedupe", "join", "join-v3", "row-checksum", "agg-update", "agg-update-v2", "agg-commit-v3"):
        yield Case(base)
        yield from _each(base, ("drop commits/{N}", "drop state", "confs offsets/{N} none", "drop state/0/1"))


#: One partition: an aggregation without keys, a limit.
ONE_PARTITION = ("totals", "totals-changelog", "totals-v2", "limit")
#: Schema files, by base.
SCHEMAS = {
    **dict.fromkeys(
        ("agg-hdfs", "totals", "limit", "dedupe", "sessions", "in-pandas", "agg-changelog-v2"),
        "state/0/0/_metadata/schema",
    ),
    "join": "state/0/0/left-keyToNumValues/_metadata/schema",
    **dict.fromkeys(("join-v3", "join-v4", "processor"), "state/0/_stateSchema/default/*"),
}
OPERATOR_METADATA = {
    **dict.fromkeys(("agg-hdfs", "limit", "join", "agg-changelog-v2"), "state/0/_metadata/metadata"),
    **dict.fromkeys(("join-v3", "join-v4", "processor"), "state/0/_metadata/v2/0"),
}
CUT_STATE = {
    "agg-hdfs": ("{V}.delta", "{V-1}.delta", "*.snapshot"),
    "totals": ("{V}.delta",),
    "agg-rocksdb": ("{V}.zip",),
    "agg-changelog": ("{V}.changelog", "*.zip"),
    "totals-changelog": ("{V}.changelog",),
    "agg-changelog-v2": ("{V}_*.changelog", "{V-1}_*.changelog", "*.zip"),
    "agg-v2": ("{V}_*.zip",),
    "processor": ("{V}.changelog",),
    "join-v4": ("{V}.changelog",),
}
#: Left by the batch in flight.
LEFT = {
    "agg-hdfs": ("{V}.delta", "{V}.snapshot"),
    "agg-changelog": ("{V}.changelog", "{V}.zip"),
    "agg-rocksdb": ("{V}.zip",),
}


def _state_files() -> Iterator[Case]:
    for base, name in SCHEMAS.items():
        yield from _each(base, (f"empty {name}", f"truncate {name}", f"drop {name}"))
    yield from _each("agg-hdfs", (f"flip {SCHEMAS['agg-hdfs']}",))
    yield from _each("processor", (f"flip {SCHEMAS['processor']}",))
    for base, name in OPERATOR_METADATA.items():
        damages = (f"empty {name}", f"truncate {name}", f"drop {name}", f"text {name} hello", f"version {name} v9")
        yield from _each(base, damages, newest_spark_only=True)
    for base in ("totals", "dedupe", "in-pandas", "count-limit"):
        yield from _each(base, ("empty state/0/_metadata/metadata", "drop state/0/_metadata/metadata"))
    for base, names in CUT_STATE.items():
        yield from _each(base, (f"truncate state/0/0/{name}" for name in names))
    for base, names in LEFT.items():
        empty = tuple(f"empty state/0/0/{name}" for name in names)
        yield from _each(
            base, (("drop commits/{N}", *lines) for lines in dict.fromkeys((empty, *((line,) for line in empty))))
        )
    for base, name in itertools.product(("agg-hdfs", "agg-changelog"), ("snapshot", "delta", "zip", "changelog")):
        if (name in ("snapshot", "delta")) == (base == "agg-hdfs"):
            yield Case(base, (f"empty state/0/0/{{V+1}}.{name}",))
    for line in ("empty state/0/0/*.zip", "rot state/0/0/*.zip", "drop state/0/0/SSTs", "empty state/0/0/SSTs/*.sst",
                 "drop state/0/0/*.zip"):  # fmt: skip
        yield Case("agg-changelog-v2", (line,))
    yield Case("agg-changelog-v2", ("truncate state/0/0/*.zip", "drop state/0/0/1_*"))
    yield Case("agg-hdfs", ("empty state/0/0/{V-2}.delta",))
    yield from _each("join-v4", ("drop state/0/_stateSchema",))
    yield from _each("processor", ("drop state/0/_stateSchema",))
    yield from _each("count-count", ("empty state/1/_metadata/metadata", "drop state/1/_metadata"))


def _partitions() -> Iterator[Case]:
    for base in ("totals", "totals-changelog", "totals-v2", "limit", "count-limit", "sessions", "count-count",
                 "dedupe-within", "in-pandas", "join-v4", "processor"):  # fmt: skip
        yield Case(base)
    names = ("drop state/0/_metadata", "drop state/0/0/_metadata")
    for base in ONE_PARTITION:
        yield from _each(base, ("drop state/0/0", "drop state", "drop commits/{N}", names[:1], names))
        yield Case(base, ("drop commits/{N}", "drop offsets/{N}"))
    for base in ("count-limit", "count-count"):
        gone = ("state/0", "state/1", "state/1/1", "state/1/0", "state/0/0", "state/0/1")
        yield from _each(base, (f"drop {name}" for name in gone if (base, name) != ("count-limit", "state/0/1")))
    yield Case("agg-hdfs", ("drop state/0/1", "drop state/0/0/_metadata", "drop state/0/_metadata"))
    seven = tuple(f"conf offsets/{place} {SHUFFLE} '\"7\"'" for place in ("{N}", "{N-1}"))
    for base in ("agg-v2", "agg-changelog-v2", "totals-v2"):
        for lines in (("drop commits/*",), ("drop offsets/{N}",), ("drop offsets/{N}", "drop offsets/{N-1}")):
            yield Case(base, lines, newest_spark_only=True)
        for lines in (seven[:1], (*seven, "drop offsets/{N}"), (f"conf offsets/{{N}} {SHUFFLE} '\"1\"'",)):
            yield Case(base, lines, newest_spark_only=True)
    for base in ("totals", "totals-changelog", "limit"):
        yield Case(base, seven[:1], newest_spark_only=True)


def _conf_values() -> Iterator[Case]:
    once_only = (
        "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
        "spark.sql.function.protobufExtensions.enabled",
        "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
        SHUFFLE,
        AGGREGATION,
        "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
        JOIN_FORMAT,
        POLICY,
        SOURCE_EVOLUTION,
        CODEC,
        ENCODING,
        PROVIDER,
        f"{STATE}.rocksdb.formatVersion",
        f"{STATE}.rocksdb.mergeOperatorVersion",
        f"{STATE}.rowChecksum.enabled",
        "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
        "spark.sql.streaming.statefulOperator.useStrictDistribution",
    )
    for key, value in itertools.product(once_only, ("bogus", "", "0", "-1")):
        yield _newest("rate", f"conf offsets/{{N}} {key} '\"{value}\"'")
    limits = {
        AGGREGATION: "3",
        "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "3",
        f"{STATE}.rocksdb.mergeOperatorVersion": "3",
        f"{STATE}.rocksdb.formatVersion": "99",
    }
    for key, value in (*limits.items(), (JOIN_FORMAT, "5"), (JOIN_FORMAT, "4")):
        yield _newest("rate", f"conf offsets/{{N}} {key} '\"{value}\"'")
    odd = {POLICY: "MAX", ENCODING: "Avro", f"{STATE}.rowChecksum.enabled": "TRUE"}
    for key, value in odd.items():
        yield _newest("rate", f"conf offsets/{{N}} {key} '\"{value}\"'")
    for value in ("x", "2.0", "1e3", "0", "-1", "", " 2 ", "2147483648", "+2", "99999999999"):
        yield _newest("agg-hdfs", f"conf offsets/{{N}} {SHUFFLE} '\"{value}\"'")
    codecs = ("nocodec", "org.apache.spark.io.ZStdCompressionCodec", "org.example.Nope", "LZ4", "")
    for base, codec in itertools.product(("agg-hdfs", "agg-rocksdb", "agg-changelog", "agg-changelog-v2"), codecs):
        yield _newest(base, f"conf offsets/{{N}} {CODEC} '\"{codec}\"'")


def _newest(base: str, line: str) -> Case:
    return Case(base, (line,), newest_spark_only=True)


def _confs() -> Iterator[Case]:
    changes: tuple[Mapping[str, str | None], ...] = (
        {SHUFFLE: "4"}, {SHUFFLE: None}, {CODEC: "zstd"}, {POLICY: "max"}, {AGGREGATION: "1"}, {PROVIDER: ROCKSDB},
        {PROVIDER: HDFS}, {SHUFFLE: "4", CODEC: "zstd", POLICY: "max"}, {ENCODING: "avro"}, {STATE_FORMAT: "2"},
        {STATE_FORMAT: "1"}, {STATE_FORMAT: "2", PROVIDER: ROCKSDB}, {CHANGELOG: "true"}, {CHANGELOG: "false"}, {"spark.sql.streaming.internal.stateStore.partitions": "7"},
        {f"{STATE}.rowChecksum.enabled": "true"}, {"spark.sql.streaming.statefulOperator.useStrictDistribution": "false"},
    )  # fmt: skip
    for base in ("file", "agg-hdfs", "agg-changelog", "agg-changelog-v2"):
        yield from _deploys(base, *changes)
    for base in ("agg-hdfs", "agg-changelog-v2"):
        yield from _deploys(base, {SHUFFLE: "4"}, {PROVIDER: ROCKSDB}, mutations=("drop commits/{N}",))
        yield from _deploys(base, {SHUFFLE: "4"}, {PROVIDER: ROCKSDB}, mutations=("confs offsets/{N} none",))
    yield from _deploys("join", {JOIN_FORMAT: "1"}, {JOIN_FORMAT: "3"}, {POLICY: "max"})
    yield from _deploys("file", {VERIFY_METADATA: "false"}, mutations=("drop metadata",))


def _sources() -> Iterator[Case]:
    def of(base: str, *queries: str, mutations: tuple[str, ...] = (), **confs: str) -> Iterator[Case]:
        return (Case(base, mutations, query, confs) for query in queries)

    evolution = {SOURCE_EVOLUTION: "true"}
    yield from of("file", "copy-two", "copy-rate", "copy-file-and-rate", "copy-noop", "count", "dedupe")
    yield from of("two", "copy", "copy-two-swapped", "copy-file-and-rate", "count-two", "join")
    yield from of("two", "copy", "copy-two-swapped", mutations=("drop commits/{N}",))
    yield from of("rate", "copy", "copy-two")
    yield from of("offset-v2", "copy-two", "copy-rate")
    yield from _each("offset-v2", ("line offsets/{N} 2 '1:{\"logOffset\":4}'", "line offsets/{N} 2 '0:-'",
                                   "line offsets/{N} 2 absent", "line offsets/{N} 3 'x:{\"logOffset\":1}'",
                                   "line offsets/{N} 2 hello", "conf offsets/{N} spark.sql.shuffle.partitions absent",
                                   ("conf offsets/{N} spark.sql.shuffle.partitions absent", "drop commits/{N}"),
                                   ("conf offsets/{N-1} spark.sql.shuffle.partitions absent", "drop commits/{N}"),
                                   ("conf offsets/{N} spark.sql.shuffle.partitions absent", "conf offsets/{N-1} spark.sql.shuffle.partitions absent", "drop commits/{N}")))  # fmt: skip
    yield from of("named", "copy-named-swapped", "copy-named-one", "copy-named-other", "copy-named-three", "copy-two")
    yield Case("named")
    yield Case("named", ("drop commits/{N}",))
    yield Case("named", (), "copy-named-other", {})
    yield Case("named", (), "copy-two", {SOURCE_EVOLUTION: "false"})
    yield Case("named", (), "copy-named", {SOURCE_EVOLUTION: None})
    for base, query in (("two", "copy-named"), ("two", "copy-two"), ("offset-v2", "copy"), ("file", "copy")):
        yield Case(base, (), query, evolution)
    yield from of("agg-hdfs", "copy", "dedupe", "count-by-value", "count-more", "count-two", "count-deduplicated")
    yield from of("agg-changelog-v2", "copy", "dedupe", "count-by-value", "count-deduplicated")
    yield from of("dedupe", "copy", "count")
    yield from of("join", "copy-two", "copy")


def _formats() -> Iterator[Case]:
    yield Case("commit-v3")
    yield Case("commit-v3", ("drop commits/{N}",))
    yield Case("commit-v3", (), "copy", {SINK_EVOLUTION: None})
    yield Case("commit-v3", (), "copy")
    yield Case("commit-v3", (), "copy-to-lake")
    yield Case("commit-v3-renamed")
    yield Case("commit-v3-renamed", (), "copy-to-archive")
    yield Case("commit-v3", ("text commits/{N} v1 {}",))
    yield Case("file", (), "copy-to-archive", {SINK_EVOLUTION: "true"})
    yield Case("file", (), "copy", {SINK_EVOLUTION: "true"})
    yield Case("file", (), None, {OFFSET_LOG: "2"})
    yield Case("offset-v2", (), None, {OFFSET_LOG: "1"})
    yield Case("offset-v2", (), None, {OFFSET_LOG: None})
    yield Case("async")
    yield Case("async", (), "copy-noop")
    yield Case("async", ("drop commits/{N}",))
    yield Case("async", ("drop commits/{N}",), "copy-noop")
    yield Case("file", (), "copy-async")
    yield Case("repartitioned")
    yield Case("repartitioned", (), None, {SHUFFLE: "4"})
    yield Case("repartitioned-v2")
    for base, steps in itertools.product(("repartitioned", "repartitioned-v2"), range(1, 11)):
        yield Case(base, _newest_first(steps))


def _newest_first(steps: int) -> tuple[str, ...]:
    """The first steps of peeling batches: the commit, then the offsets, newest first; state stays."""
    places = (
        ("commits", "offsets")[step % 2] + (f"/{{N-{step // 2}}}" if step > 1 else "/{N}") for step in range(steps)
    )
    return tuple(f"drop {place}" for place in places)


def _upgrades() -> Iterator[Case]:
    for base in ("by-3.4", "by-3.5", "by-4.0", "by-4.1", "by-4.2", "file-by-3.5", "file-by-4.0"):
        yield Case(base)
        yield Case(base, ("drop commits/{N}",))
        yield Case(base, (), None, {SHUFFLE: "4"})
        yield Case(base, (), None, {CODEC: "zstd"})
        yield Case(base, ("confs offsets/{N} none",))


def _pairs() -> Iterator[Case]:
    """Two things at once, on a stateless and a stateful base."""
    logs = ("drop commits/{N}", "empty offsets/{N}", "drop offsets/{N-1}", "drop metadata", "version commits/{N} v9",
            "copy commits/{N} commits/{N+1}", "confs offsets/{N} none", "version offsets/{N} v9")  # fmt: skip
    for first, second in itertools.combinations(logs, 2):
        if first.split()[1] != second.split()[1] and not (first.startswith("drop") and first.split()[1] in second):
            yield Case("file", (first, second))
    for first, second in itertools.product(
        logs[1:4] + logs[7:], ("version sources/0/{N} v9", "drop sources/0/{N-2}", "drop sources")
    ):
        yield Case("file", (first, second))
    for second in ("version sources/0/{N} v9", "drop sources/0/{N-2}", "drop sources/0/{N}"):
        yield Case("file", ("copy commits/{N} commits/{N+1}", second))
        yield Case("file", (second,), "copy-two")
        yield Case("file", ("line offsets/{N} 1 ''", second))
    for first, second in itertools.product(logs[:5], ("drop state", "drop state/0/0/{V}.delta")):
        yield Case("agg-hdfs", (first, second))
    for damage in logs:
        yield Case("file", (damage,), "copy-two")
        yield Case("agg-hdfs", (damage,), None, {SHUFFLE: "4"})


CASES: Mapping[str, Case] = {case.name: case for case in _all_cases()}
