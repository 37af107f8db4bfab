"""Whose code threw an exception: a reader of Spark's own, other code of Spark, a library, or the code of the query."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal

#: Clients of storages, and what stands between Hadoop and them: no query is written in these packages.
STORAGE_PACKAGES = (
    *("com.amazon.", "amazon.emr.", "com.amazonaws.", "software.amazon.", "com.mapr.", "com.aliyun.", "com.qcloud."),
    *(
        "com.azure.",
        "com.microsoft.azure.",
        "com.google.cloud.hadoop.",
        "com.ibm.stocator.",
        "com.obs.",
        "com.baidubce.",
    ),
    *("com.volcengine.", "com.oracle.bmc.", "com.qubole.rubix.", "com.emc.", "com.wandisco.", "com.ksyun."),
    *("alluxio.", "tachyon.", "io.minio.", "io.juicefs.", "io.lakefs.", "org.gaul.", "org.jclouds.", "shaded."),
)
#: Libraries that whoever throws may have called.
_LIBRARIES = (
    *("java.", "javax.", "jdk.", "sun.", "com.sun.", "scala.", "com.fasterxml.", "org.json4s.", "com.google."),
    *("org.apache.hadoop.", "org.apache.commons.", "org.apache.http.", "io.netty.", "io.grpc."),
    *("org.apache.kafka.", "org.rocksdb.", "net.jpountz.", "com.github.luben.", "org.xerial.", "com.esotericsoftware."),
    *("py4j.", "org.slf4j.", "org.apache.logging.", "org.codehaus.", "okhttp3."),
    *STORAGE_PACKAGES,
)
#: More of them, which do not stand between a reader of Spark and what it calls.
_OF_OTHERS = (
    *("org.apache.", "org.postgresql.", "com.mysql.", "org.mariadb.", "oracle.", "com.mongodb.", "com.datastax."),
    *("org.elasticsearch.", "redis.", "com.snowflake.", "net.snowflake.", "com.zaxxer.", "org.springframework."),
    *("io.confluent.", "com.couchbase.", "com.clickhouse.", "org.neo4j.", "kotlin.", "akka.", "cats.", "zio."),
)
#: Systems whose frames are not of a query.
_SYSTEMS = (
    *("org.apache.spark.", "org.sparkproject.", "io.delta.", "org.apache.iceberg.", "org.apache.hudi.", "shadedelta."),
    *("org.apache.paimon.", "com.databricks.", "org.apache.livy.", "org.apache.zeppelin.", "com.microsoft."),
)
#: Packages of Spark and of its connectors; others put classes of their own below ``org.apache.spark``.
_OF_SPARK = re.compile(
    r"org\.apache\.spark\.(?:[A-Z$]|(?:api|broadcast|connect|deploy|errors|eventhubs|executor|graphx|input|internal|io"
    r"|kafka010|launcher|mapred|memory|metrics|ml|mllib|network|partial|paths|rdd|repl|resource|rpc|scheduler|security"
    r"|serializer|shuffle|sql|status|storage|streaming|types|ui|unsafe|util|variant)\.)"
)
#: What of Spark reads and writes the files of a checkpoint and of the log of a file sink. None of it evaluates a row,
#: so what it calls is a storage.
READERS = frozenset(
    {
        *("HDFSMetadataLog", "OffsetSeqLog", "CommitLog", "StreamMetadata", "CompactibleFileStreamLog"),
        *("FileStreamSourceLog", "FileStreamSinkLog", "HDFSBackedStateStoreProvider", "RocksDBFileManager", "RocksDB"),
        *("FileContextBasedCheckpointFileManager", "FileSystemBasedCheckpointFileManager", "CheckpointFileManager"),
        *("AbstractFileContextBasedCheckpointFileManager", "ChecksumCheckpointFileManager"),
        *("OperatorStateMetadataReader", "OperatorStateMetadataV1Reader", "OperatorStateMetadataV2Reader"),
        "StateStoreChangelogReader",
    }
)
#: What Hadoop calls a storage by, and what a storage is called, whoever has written it.
_CALLS_STORAGE, _IS_STORAGE = "org.apache.hadoop.fs.", re.compile(r"\w*FileSystem\$?\.")
#: What stands between a reader of Spark and what it calls, beside libraries; none of it evaluates a row.
_HELPERS = (
    "org.apache.spark.internal.",
    "org.apache.spark.util.",
    "org.apache.spark.sql.internal.",
    "org.apache.spark.sql.execution.streaming.",
    "org.apache.spark.sql.types.",
    "org.apache.spark.sql.errors.",
    "org.apache.spark.errors.",
    "org.apache.spark.sql.kafka010.",
    "org.apache.spark.sql.delta.",
    "org.apache.iceberg.",
)
#: Of these, what calls a function of the query.
_CALLS_USERS = re.compile(r"(?:Foreach|PythonForeach|MapGroups|TransformWithState)\w*\.")
#: What of Spark calls nothing but functions of a query, or its main method.
_CALLS_FUNCTION = re.compile(
    r"org\.apache\.spark\.(?:deploy\.|rdd\.|api\.java\.|sql\.(?:\w+\.)*(?:UDFRegistration|ToScalaUDF|ScalaUDF"
    r"|ScalarUserDefinedFunction|ForeachDataWriter|ForeachWriterTable|ForeachBatchSink|DataStreamWriter|Dataset"
    r"|KeyValueGroupedDataset|RelationalGroupedDataset|GeneratedClass|MapElements|MapPartitions|AppendColumns|ScalaAggregator"
    r"|(?:FlatMap)?(?:Co)?(?:Map)?Groups|TypedColumn|QueryExecutionErrors)\b)"
)
#: The cell of a notebook or a shell.
_CELL = re.compile(r"\$?line[0-9a-f]+\.\$read")
#: What calls functions of a query, and not the program that starts it.
_CALLERS = ("org.apache.spark.sql.", "org.apache.spark.api.", "org.apache.spark.rdd.")
#: The outermost frame of a thread; a message of a task has the frames of two.
_ENDS_THREAD = "java.lang.Thread.run"
_READS_STATE = "org.apache.spark.sql.execution.datasources.v2.state."
_SHORT = re.compile(r"[A-Za-z_$][\w$]*\.[\w$<>]+")
_LAMBDA = re.compile(r"\$anonfun\$(\w+?)(?:\$\d+)*(?:\$adapted)?$")

#: Whose a frame is. ``other``: neither of Spark nor of a library that is known: of the query, or of what it uses.
#: ``short``: a frame without a package, in a text where others have none either.
Owner = Literal["library", "system", "other", "short"]


@lru_cache(4096)
def plain_frame(frame: str) -> str:
    """``Class.method`` of a frame of Scala, without package and lambdas: ``p.A$.$anonfun$b$1`` is ``A.b``."""
    *_, name, method = ("." + frame).rsplit(".", 2)
    found = _LAMBDA.search(method)
    return f"{name.rstrip('$')}.{found[1] if found else method.rstrip('$').removesuffix('$lzycompute')}"


@lru_cache(512)  # several ask for the same stack trace
def owners(frames: tuple[str, ...]) -> tuple[Owner, ...]:
    """Whose each frame of a stack trace is, innermost first.

    A frame of an unknown package is one of a storage where Hadoop or a reader of Spark has called it.
    """
    has_packages = any(frame.startswith(_SYSTEMS) for frame in frames)
    found: list[Owner] = []
    in_storage = False
    for frame in reversed(frames):
        owner = _owner(frame, has_packages=has_packages)
        if owner == "system":
            in_storage = plain_frame(frame).partition(".")[0] in READERS
        elif owner == "library":
            in_storage = in_storage or frame.startswith(_CALLS_STORAGE)
        elif owner == "other":
            in_storage = in_storage or _IS_STORAGE.match(f"{frame.rpartition('.')[0].rpartition('.')[2]}.") is not None
            owner = "library" if in_storage else owner
        found.append(owner)
    return tuple(reversed(found))


def _owner(frame: str, *, has_packages: bool) -> Owner:
    if frame.startswith(_SYSTEMS):
        return "other" if frame.startswith("org.apache.spark.") and not _OF_SPARK.match(frame) else "system"
    if frame.startswith(_LIBRARIES):
        return "library"
    return "short" if not has_packages and _SHORT.fullmatch(frame) else "other"


def others_frame(frames: Sequence[str]) -> str | None:
    """The frame of neither Spark nor a known library that threw, or called the library which did; None without one.

    It may be of the query, or of a library that is not known here.
    """
    for frame, owner in zip(frames, owners(tuple(frames)), strict=True):
        if owner == "other":
            return frame
        if owner == "system":
            return None
    return None


def own_frame(frames: Sequence[str]) -> str | None:
    """The frame of the query's own code that threw, or that called what did; None where nothing shows that it is own.

    A function of the query is what Spark calls as one; the query's other code is in packages that begin alike.
    """
    below: list[str] = []
    for frame, owner in zip(frames, owners(tuple(frames)), strict=True):
        if owner == "system":
            return _of_function(below) if below and _CALLS_FUNCTION.match(frame) else _cell(below)
        if owner == "other":
            below.append(frame)
    return _cell(below)


def _of_function(frames: Sequence[str]) -> str | None:
    """The innermost frame whose package begins like that of the outermost one, the query's own function."""
    if frames[-1].startswith(_OF_OTHERS):
        return None
    root = ".".join(frames[-1].split(".")[:2])
    return next(frame for frame in frames if ".".join(frame.split(".")[:2]) == root)


def _cell(frames: Sequence[str]) -> str | None:
    return next((frame for frame in frames if _CELL.match(frame)), None)


def reader_in(frames: Sequence[str], readers: Collection[str]) -> str | None:
    """The reader of Spark that threw: the innermost one, with nothing above it that evaluates a row or is of others.

    Args:
        frames: Stack frames of the exception, innermost first.
        readers: ``Class.method``, or ``Class`` for any method of it.
    """
    for frame, owner in zip(frames, owners(tuple(frames)), strict=True):
        plain = plain_frame(frame)
        if owner != "other":
            for name in (plain, plain.partition(".")[0]):
                if name in readers:
                    return name
        is_between = owner in ("library", "short") or frame.startswith(_HELPERS)
        if not is_between or _CALLS_USERS.search(plain):
            return None
    return None


def reaches_spark(frames: Sequence[str]) -> bool:
    """True if a stack trace goes down to code of Spark: one that was cut off in a library tells nothing."""
    return any(frame.startswith(_SYSTEMS) for frame in frames)


def is_of_systems(frames: Sequence[str]) -> bool:
    """True if code of Spark threw, or called the library which did; what runs Python throws for it."""
    thrower = next(
        (frame for frame, owner in zip(frames, owners(tuple(frames)), strict=True) if owner != "library"), ""
    )
    return thrower.startswith(_SYSTEMS) and not thrower.startswith("org.apache.spark.api.python.")


def is_within_function(frames: Sequence[str]) -> bool:
    """True if a function of the query, which Spark had called, has called what threw; of one thread."""
    is_below_users = False
    for frame, owner in zip(frames, owners(tuple(frames)), strict=True):
        if frame.startswith(_ENDS_THREAD):
            return False
        if is_below_users and frame.startswith(_CALLERS):
            return True
        is_below_users = is_below_users or owner == "other"
    return False


def reads_other_state(frames: Sequence[str]) -> bool:
    """True if the reader of state as data threw."""
    return any(frame.startswith(_READS_STATE) for frame in frames)
