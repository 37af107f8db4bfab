"""Tells if an error condition in a text was thrown by Spark, or is repeated by other code."""

from __future__ import annotations

import builtins
import re

from airflow_provider_ckpt.explain.failure import Failure, Thrown
from airflow_provider_ckpt.explain.origin import is_of_systems, is_within_function, others_frame, reads_other_state

#: An exception as one prints it, within a message.
_CLASS = re.compile(
    r"\b((?:[A-Za-z_][\w$]*\.)*)"
    r"([A-Z]\w*(?:Exception|Error|NotCompatible|AfterRestart|Interrupt)|(?<=: )Exception(?=:))\b"
)
#: Packages whose exceptions carry conditions of Spark, and of Airflow, which repeats what Spark has said.
_CARRIERS = (
    *("org.apache.spark.", "org.sparkproject.", "io.delta.", "com.databricks.", "org.apache.iceberg.", "pyspark."),
    *("org.apache.hudi.", "org.apache.paimon.", "delta.", "py4j.", "airflow.", "airflow_provider_ckpt."),
)
#: Names of such exceptions, where the text leaves out the package.
_NAMES = re.compile(
    r"Spark|PySpark|Delta|Kafka|State[A-Z]|Streaming|Analysis|Query|Parse|Py4J|Airflow|NoSuchTable|ForeachBatch"
)
#: Packages whose exceptions Spark throws as well as others do.
_SHARED = ("java.", "javax.", "scala.", "org.apache.hadoop.", "org.apache.kafka.")
#: What Spark writes in front of the exception that stopped a query.
_ENDS = re.compile(r"(?:terminated with (?:exception|error)|[Ee]xception|[Ee]rror|failed?|failure)(?: because)?:?$")
#: Classes that log for Spark, its sources and its sinks, and those of Airflow, which repeat a log.
_LOGGERS = re.compile(
    r"(?:Async|Application|Block|Checkpoint|Commit|Compactible|Continuous|DAG|Data|Delta|Driver|Executor|File|Foreach"
    r"|HDFS|Hadoop|Kafka|Kinesis|Manag|MicroBatch|Offset|Operator|Optimistic|Progress|Python|RocksDB|Snapshot|Source"
    r"|Spark|State|Stream|Symmetric|Task|TransformWithState|Utils|WriteAheadLog|Yarn)\w*|airflow\w*|task|\w*_runner"
)
_STOPS = frozenset({"ERROR", "FATAL", "SEVERE", "CRITICAL"})
#: Errors of Java, which have names as Python gives its exceptions; Java's other exceptions end with ``Exception``.
_OF_JAVA = re.compile(
    r"(?:Assertion|OutOfMemory|StackOverflow|Linkage|NoClassDefFound|NoSuchMethod|NoSuchField|AbstractMethod|IllegalAccess"
    r"|IncompatibleClassChange|ExceptionInInitializer|UnsatisfiedLink|UnsupportedClassVersion|ClassFormat|Verify|Match"
    r"|NotImplemented|Internal|VirtualMachine|Bootstrap|ClassCircularity|Instantiation|IO|Unknown)Error"
)


def is_mention(failure: Failure, thrown: Thrown) -> bool:
    """True if a logger that is not Spark's has written the message, in a record that tells of no failure."""
    is_alone = thrown is failure.chain[0] and not thrown.frames and failure.level not in (None, *_STOPS)
    return is_alone and failure.logger is not None and not _LOGGERS.fullmatch(failure.logger)


def is_of_python(thrown: Thrown, before: str) -> bool:
    """True if an exception of Python says the words, and not one of Spark's JVM; PySpark's wrappers do not count.

    Args:
        thrown: The exception whose text has the words.
        before: What its text says in front of them; its message may repeat another exception there.
    """
    carried = [found for found in _CLASS.finditer(before) if found.start()]
    package, name = (carried[-1][1], carried[-1][2]) if carried else (thrown.package, thrown.exception)
    if name is None or package or _OF_JAVA.fullmatch(name) or _NAMES.match(name):
        return False
    return hasattr(builtins, name) or name.endswith("Error")


def is_claim(failure: Failure, thrown: Thrown, name: str) -> bool | None:
    """True if a condition is what Spark says of a failure.

    False for words of other code, and None where the text does not tell or a function of the query has called Spark.

    Args:
        failure: Any.
        thrown: The exception of its chain whose message names the condition.
        name: Name of the condition.
    """
    before = thrown.before(name)
    carried = list(_CLASS.finditer(before))
    package, exception = (carried[-1][1], carried[-1][2]) if carried else (thrown.package, thrown.exception)
    if is_mention(failure, thrown) or _is_of_users(failure, name, package):
        return False
    frames = failure.frames_of(thrown)
    is_stop = failure.level in (None, *_STOPS) or None  # a warning that has no exception in it stops nothing
    told = (is_stop and _is_told(before)) if exception is None else _is_carrier(package, exception, frames)
    if told and (failure.is_called_back or is_within_function(frames) or _is_of_other_state(failure, frames)):
        return None
    return told


def _is_of_users(failure: Failure, name: str, package: str) -> bool:
    """True if code of the query threw the words that name a condition."""
    if failure.is_of_python and not package.startswith(_CARRIERS):
        return True
    return any(
        others_frame(failure.frames_of(thrown)) is not None for thrown in failure.chain if name in thrown.conditions
    )


def _is_told(before: str) -> bool | None:
    """True if a condition is at the beginning of a message without an exception, or after Spark's own beginning; else
    None.
    """
    return True if not before or before.endswith(("[", ":")) or _ENDS.search(before) else None


def _is_carrier(package: str, exception: str, frames: tuple[str, ...]) -> bool | None:
    """True if an exception is one that carries conditions of Spark; None if that cannot be told."""
    if package.startswith(_CARRIERS) and exception != "PythonException":
        return True
    if not package and _NAMES.match(exception):
        return True
    if package and not package.startswith(_SHARED):
        return False
    if not package and hasattr(builtins, exception):
        return False
    return True if is_of_systems(frames) else None


def _is_of_other_state(failure: Failure, frames: tuple[str, ...]) -> bool:
    """True if a function of a query was reading the state of a checkpoint, as data."""
    return reads_other_state(frames) and any(is_within_function(failure.frames_of(thrown)) for thrown in failure.chain)
