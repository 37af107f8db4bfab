"""The oracle corpus: real checkpoints, what was done to them, and what is deployed on them.

A case is data. The checkpoints are the golden ones; ``mutations.py`` has the verbs. What Spark did with each case is
recorded in ``outcomes-<version>.json``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from .case import (
    AGGREGATION,
    CHANGELOG,
    CODEC,
    ENCODING,
    FILE_MANAGER,
    HDFS,
    JOIN_FORMAT,
    OFFSET_LOG,
    POLICY,
    PROVIDER,
    ROCKSDB,
    SHUFFLE,
    SINK_EVOLUTION,
    SOURCE_EVOLUTION,
    STATE,
    STATE_FORMAT,
    VERIFY_METADATA,
    VERIFYING_MANAGER,
    Case,
)
from .damage import (
    CHANGELOG_STATE,
    CHANGES_SUMS,
    CUT_STATE,
    ENDS_IN_SNAPSHOT,
    FILE_SOURCE,
    HADOOP_SUMS,
    HDFS_STATE,
    LEFT,
    LEFT_SUMS,
    LEFT_SUMS_OF_STATE,
    LOG_SUMS,
    LOGS,
    ONE_PARTITION,
    OPERATOR_METADATA,
    OTHER_CONTENTS,
    ROCKSDB_STATE,
    SCHEMAS,
    SNAPSHOT_AT_END,
    SPARK_SUMS,
    STATE_DIRECTORY,
    SUMS_BESIDE_SPARKS,
    SUMS_OF_SPARK,
    TRAILING,
    TRAILING_STATE,
    V2_STATE,
    VERIFIED_BY_OTHER_MANAGER,
    VERIFIED_SUMS,
)
from .forms import form_cases, junk_cases, tool_cases


def _each(base: str, mutations: Iterable[str | tuple[str, ...]], **deploy: object) -> Iterator[Case]:
    for mutation in mutations:
        lines = (mutation,) if isinstance(mutation, str) else mutation
        yield Case(base, lines, **deploy)  # type: ignore[arg-type]


def _deploys(base: str, *confs: Mapping[str, str | None], mutations: tuple[str, ...] = ()) -> Iterator[Case]:
    for conf in confs:
        yield Case(base, mutations, confs=conf)


#: What cannot be known from outside, by the beginning of a case's name.
NOT_KNOWN = {
    "agg-hdfs | drop state/0/1 | drop state/0/0/_metadata": "what tells one partition from two is gone: a warning",
    f"agg-hdfs | conf offsets/{{N}} {CODEC} '\"org.example.": "a class that may be on the class path: a warning",
    f"agg-changelog | conf offsets/{{N}} {CODEC} '\"org.example.": "as above",
    **{
        f"{base} | conf offsets/{{N}} {PROVIDER} '\"{name}": "as above"
        for base in ("agg-hdfs", "agg-changelog-v2")
        for name in ("com.", "org.example.")
    },
    f"agg-hdfs | conf offsets/{{N}} {CODEC} '\"com.": "as above",
    **{
        f"{base} | streaming.{key}=com.": "as above"
        for base in ("file", "agg-hdfs")
        for key in ("checkpointFileManagerClass", "commitProtocolClass")
    },
    **{
        f"agg-hdfs | {damage} | streaming.checkpointFileManagerClass=": "a sum that ckpt does not read, as the gate says"
        for damage in (
            "rot-end state/0/0/_metadata/.schema.crc",
            "drop commits/{N} | rot-end state/0/0/.{V}.delta.crc",
        )
    },
    "two | deploy copy-two-swapped": "both sources are files; that they are swapped shows in neither log nor deploy",
    "two | drop commits/{N} | deploy copy-two-swapped": "as above",
    "agg-hdfs | deploy count-by-value": "the deploy does not declare the grouping keys; the operator is the same",
    "agg-changelog-v2 | deploy count-by-value": "as above",
}


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
    yield from form_cases()
    yield from junk_cases()
    yield from tool_cases()
    yield from _stray_entries()


def _stray_entries() -> Iterator[Case]:
    """What a sync tool leaves: an older entry under the number of a batch that never was."""
    for base, to in itertools.product(("file", "agg-hdfs", "dedupe"), ("{N+2}", "{N+5}")):
        yield Case(base, (f"copy offsets/{{N}} offsets/{to}",), newest_spark_only=True)
    both = ("copy offsets/{N} offsets/{N+5}", "copy commits/{N} commits/{N+5}")
    yield Case("file", both, newest_spark_only=True)
    yield Case("file", ("copy offsets/{N-2} offsets/{N+5}",), newest_spark_only=True)
    yield Case("async", ("copy offsets/{N} offsets/{N+5}",), newest_spark_only=True)
    for name in ("offsets", "commits"):  # in the year 4877: every row is late from then on
        yield Case("dedupe", (f"watermark {name}/{{N}} 91729497600000",), newest_spark_only=True)


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
    ahead = (
        "copy sources/0/9.compact sources/0/19.compact",
        "copy sources/0/{N} sources/0/{N+1}",
        "copy sources/0/{N} sources/0/{N+3}",
    )
    yield from _each("file-12", (*ahead, *(("drop commits/{N}", line) for line in ahead)), newest_spark_only=True)


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
    for bases, damages in (
        (VERIFIED_SUMS, HADOOP_SUMS),
        (LOG_SUMS, HADOOP_SUMS),
        (CHANGES_SUMS, HADOOP_SUMS),
        (LEFT_SUMS, ("bare-drop {}",)),
        (SUMS_OF_SPARK, SPARK_SUMS),
        (SUMS_BESIDE_SPARKS, HADOOP_SUMS[::5]),
    ):
        for base, names in bases.items():
            yield from _each(base, (damage.replace("{}", name) for name in names for damage in damages))
    for base, changes in (*OTHER_CONTENTS.items(), *LEFT_SUMS_OF_STATE.items()):
        yield from _each(base, changes)
    manager = {FILE_MANAGER: VERIFYING_MANAGER}
    yield from _each("agg-hdfs", VERIFIED_BY_OTHER_MANAGER, confs=manager, newest_spark_only=True)
    ends = ((*ENDS_IN_SNAPSHOT, *((damage,) if isinstance(damage, str) else damage)) for damage in SNAPSHOT_AT_END)
    yield from _each("agg-changelog-v2", ends, query="count-noop")
    for base, damages in TRAILING_STATE.items():
        lines = ((*TRAILING, *((damage,) if isinstance(damage, str) else damage)) for damage in damages)
        yield from _each(base, lines, query=None if base == "agg-update" else "count-noop")
    yield from _each("agg-hdfs", ((*TRAILING, "drop state/0/0/{V-1}.delta"),))
    for base in ("dedupe", "join", "join-v3", "row-checksum", "agg-update", "agg-update-v2", "agg-commit-v3"):
        yield Case(base)
        yield from _each(base, ("drop commits/{N}", "drop state", "confs offsets/{N} none", "drop state/0/1"))


def _state_files() -> Iterator[Case]:
    for base, name in SCHEMAS.items():
        yield from _each(base, (f"empty {name}", f"truncate {name}", f"drop {name}"))
    yield from _each("agg-hdfs", (f"flip {SCHEMAS['agg-hdfs']}",))
    for at in ("2 0", "3 3", "3 2", "3 0"):  # w2, v:, v6, v3 in the place of v2
        yield _newest("agg-hdfs", f"bit {SCHEMAS['agg-hdfs']} {at}")
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
