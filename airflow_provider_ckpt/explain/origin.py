"""Whose code threw an exception: a reader of Spark's own, other code of Spark, or the code of the query."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

#: Libraries that whoever throws may have called.
_LIBRARIES = (
    *(
        "java.",
        "javax.",
        "jdk.",
        "sun.",
        "com.sun.",
        "scala.",
        "com.fasterxml.",
        "org.json4s.",
        "com.google.",
        "com.amazonaws.",
    ),
    *(
        "software.amazon.",
        "com.azure.",
        "com.microsoft.azure.",
        "org.apache.hadoop.",
        "org.apache.commons.",
        "io.netty.",
    ),
    *("org.apache.kafka.", "org.rocksdb.", "net.jpountz.", "com.github.luben.", "org.xerial.", "com.esotericsoftware."),
    *("py4j.", "org.slf4j.", "org.apache.logging.", "org.codehaus.", "okhttp3.", "com.emc."),
)
#: Systems whose frames are not of a query.
_SYSTEMS = (
    *("org.apache.spark.", "org.sparkproject.", "io.delta.", "org.apache.iceberg.", "org.apache.hudi.", "shadedelta."),
    *("org.apache.paimon.", "com.databricks.", "org.apache.livy.", "org.apache.zeppelin.", "com.microsoft."),
)
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
#: What calls functions of a query, and not the program that starts it.
_CALLERS = ("org.apache.spark.sql.", "org.apache.spark.api.", "org.apache.spark.rdd.")
#: The outermost frame of a thread; a message of a task has the frames of two.
_ENDS_THREAD = "java.lang.Thread.run"
_READS_STATE = "org.apache.spark.sql.execution.datasources.v2.state."
_SHORT = re.compile(r"[A-Za-z_$][\w$]*\.[\w$<>]+")
_LAMBDA = re.compile(r"\$anonfun\$(\w+?)(?:\$\d+)*(?:\$adapted)?$")


@lru_cache(4096)
def plain_frame(frame: str) -> str:
    """``Class.method`` of a frame of Scala, without package and lambdas: ``p.A$.$anonfun$b$1`` is ``A.b``."""
    *_, name, method = ("." + frame).rsplit(".", 2)
    found = _LAMBDA.search(method)
    return f"{name.rstrip('$')}.{found[1] if found else method.rstrip('$').removesuffix('$lzycompute')}"


def is_users(frame: str) -> bool:
    """Whether a frame is of the code of a query: of no library and no system. One without a package is not told."""
    return not _SHORT.fullmatch(frame) and not frame.startswith((*_LIBRARIES, *_SYSTEMS))


def users_frame(frames: Sequence[str]) -> str | None:
    """The frame of a query's own code that threw, or that called the library which did; None where Spark's did."""
    for frame in frames:
        if is_users(frame):
            return frame
        if frame.startswith(_SYSTEMS):
            return None
    return None


def reader_in(frames: Sequence[str], readers: Collection[str]) -> str | None:
    """The reader of Spark that threw: the innermost one, with nothing above it that evaluates a row or is of the query.

    Args:
        frames: Of the exception, innermost first.
        readers: ``Class.method``, or ``Class`` for any method of it.
    """
    for frame in frames:
        plain = plain_frame(frame)
        for name in (plain, plain.partition(".")[0]):
            if name in readers:
                return name
        is_between = frame.startswith((*_LIBRARIES, *_HELPERS)) or _SHORT.fullmatch(frame)
        if not is_between or _CALLS_USERS.search(plain):
            return None
    return None


def reaches_spark(frames: Sequence[str]) -> bool:
    """Whether a stack trace goes down to code of Spark: one that was cut off in a library tells nothing."""
    return any(frame.startswith(_SYSTEMS) for frame in frames)


def is_of_systems(frames: Sequence[str]) -> bool:
    """Whether code of Spark threw, or called the library which did; what runs Python throws for it."""
    thrower = next((frame for frame in frames if not frame.startswith(_LIBRARIES)), "")
    return thrower.startswith(_SYSTEMS) and not thrower.startswith("org.apache.spark.api.python.")


def is_within_function(frames: Sequence[str]) -> bool:
    """Whether a function of the query, which Spark had called, has called what threw; of one thread."""
    is_below_users = False
    for frame in frames:
        if frame.startswith(_ENDS_THREAD):
            return False
        if is_below_users and frame.startswith(_CALLERS):
            return True
        is_below_users = is_below_users or is_users(frame)
    return False


def reads_other_state(frames: Sequence[str]) -> bool:
    """Whether the reader of state as data threw."""
    return any(frame.startswith(_READS_STATE) for frame in frames)
