"""Failure in a text: a chain of exceptions with their messages and frames, or a message alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from airflow_provider_ckpt.explain.origin import STORAGE_PACKAGES, others_frame, own_frame, reaches_spark

#: ``[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED]``, ``"errorClass":"X"``, ``error class: X``, ``condition X``.
_CONDITIONS = re.compile(
    r"\[(_?[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,120}(?:\.[A-Z0-9_]{1,120})?)\]"
    r"|\[([A-Z][A-Z0-9]{1,40}\.[A-Z0-9_]{1,120})\]"
    r"|(?:error|Error)[_ ]?[Cc](?:lass|ondition)\W{1,8}([A-Z_][A-Z0-9_]{3,}(?:\.[A-Z0-9_]+)?)"
)
#: Packages whose exceptions and frames may be of a query of Spark; Java's exceptions are thrown by all.
_KNOWN = re.compile(
    r"(?:org\.apache\.(?:spark|kafka|hadoop|iceberg|paimon|hudi)|org\.sparkproject|io\.delta|com\.databricks"
    r"|com\.(?:microsoft|azure|google\.cloud\.hadoop|amazon|amazonaws|fasterxml)|org\.json4s|software\.amazon"
    r"|java|javax|jdk|sun|scala|py4j|pyspark"
    r"|delta|org\.rocksdb|airflow_provider_ckpt|airflow)\."
    rf"|{'|'.join(map(re.escape, STORAGE_PACKAGES))}"
)
#: Other engines read the same Kafka, with the same exceptions.
_OTHER_ENGINES = re.compile(r"org\.apache\.(?:flink|beam|storm|samza|kafka\.streams)\.")
_OF_PYSPARK = re.compile(r"(?:^|[\\/])(?:pyspark|py4j|grpc|airflow_provider_ckpt)[\\/]")
#: Where Python and what is installed for it lie; the query's own code does not.
_INSTALLED = re.compile(
    r"(?:^|[\\/])(?:site-packages|dist-packages|lib[\\/]python\d[\d.]*|python\d[\d.]*\.zip)[\\/]|^<\w+ importlib\."
)
_STARTS = re.compile(
    r"pyspark[\\/]sql[\\/](?:connect[\\/])?streaming(?:[\\/]readwriter)?\.py:(?:start|toTable|table)\b"
)
#: What Spark says of a function of the query that has failed.
_OF_FUNCTION = re.compile(
    r"\[(?:FAILED_EXECUTE_UDF|PYTHON_EXCEPTION|STOP_ITERATION_OCCURRED|USER_RAISED_EXCEPTION|[A-Z_]{0,60}USER_FUNC[A-Z_]{0,60}ERROR)\]"
    r"|from (?:the )?Python worker|by the Python Proxy|inside foreachBatch Python process"
    r"|Failed to execute user defined function"
)
#: What is kept of a message in front of a condition.
MOST_BEFORE = 1000
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{3,120}(?:\.[A-Z0-9_]{1,120})?")


@dataclass(slots=True)
class Thrown:
    """An exception, or a message without one.

    Args:
        exception: Its class without the package; None for a message alone.
        lines: The lines of its message.
        frames: ``package.Class.method`` of its stack trace, innermost first.
        shared: How many further frames it has in common with the exception that it is the cause of, as Java says it.
        package: Package of the exception, with a dot behind it; empty where the text has none.
    """

    exception: str | None
    lines: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    shared: int = 0
    package: str = ""

    @property
    def message(self) -> str:
        """The message on one line, its white space single spaces."""
        return " ".join(" ".join(self.lines).split())

    @property
    def unwrapped(self) -> str:
        """The message as if its lines had been cut within words."""
        return " ".join("".join(line.strip("\n") for line in self.lines).split())

    @property
    def conditions(self) -> tuple[str, ...]:
        """The error conditions that the message names, in its order."""
        found = _CONDITIONS.findall(self.message) or _CONDITIONS.findall(self.unwrapped)
        return tuple(dict.fromkeys(name for names in found for name in names if name))

    def before(self, name: str) -> str:
        """Text of the message in front of a condition; empty where the condition is not in brackets."""
        found = next((text for text in (self.message, self.unwrapped) if f"[{name}]" in text), "")
        return found.partition(f"[{name}]")[0][-MOST_BEFORE:].rstrip()


@dataclass(slots=True)
class Failure:
    """Failure at one place of a text.

    Args:
        chain: The outermost exception first, its root cause last; never empty.
        line: Number of its first line, from 1.
        level: Level of the record that it is in; None without one.
        origins: Packages of its exceptions and frames, each with a dot behind it.
        logger: Class that logged the record, without its package; None where the text does not say.
        python: Where Python was when it failed: files and functions, as ``job.py:main``, the innermost last.
    """

    chain: list[Thrown]
    line: int
    level: str | None = None
    origins: set[str] = field(default_factory=set)
    logger: str | None = None
    python: tuple[str, ...] = ()

    @property
    def is_foreign(self) -> bool:
        """True if everything thrown, and its place, is code of others; false where no package is named."""
        if any(origin.startswith("org.apache.spark.") for origin in self.origins):
            return False
        if any(_OTHER_ENGINES.match(origin) for origin in self.origins):
            return True
        return bool(self.origins) and not any(_KNOWN.match(origin) for origin in self.origins)

    @property
    def is_of_python(self) -> bool:
        """True if Python code threw it that is not PySpark's: that of the query, or a library that it has called."""
        last = self.python[-1] if self.python else None
        return last is not None and not is_of_pyspark(last)

    @property
    def is_called_back(self) -> bool:
        """True if PySpark has called a function of the query in Python, and that has called Spark."""
        return bool(self.python and is_of_pyspark(self.python[0])) and any(not is_of_pyspark(at) for at in self.python)

    @property
    def is_of_users(self) -> bool:
        """Whether neither Spark nor a storage threw the root cause, whose words Spark repeats in its own exception."""
        return self.is_of_python or others_frame(self.frames_of(self.chain[-1])) is not None

    @property
    def is_of_function(self) -> bool:
        """True if Spark says that a function of the query failed; the failure in it may still be Spark's."""
        return any(_OF_FUNCTION.search(thrown.message) for thrown in self.chain)

    @property
    def thrown_by(self) -> str | None:
        """The frame of the query's own code that threw the root cause, or called what did; None where none is shown."""
        if self.is_of_python:
            return next((at for at in reversed(self.python) if not _is_installed(at)), None)
        for thrown in reversed(self.chain):
            frames = self.frames_of(thrown)
            if (at := own_frame(frames)) is not None or reaches_spark(frames):
                return at
        return None

    @property
    def called(self) -> tuple[str, ...]:
        """Method of Spark that a query in Python had called when it failed, as ``Class.method``."""
        return ("DataStreamWriter.start",) if self.python and _STARTS.search(" ".join(self.python)) else ()

    @property
    def frames(self) -> frozenset[str]:
        """Every frame of the chain."""
        return frozenset(frame for thrown in self.chain for frame in thrown.frames)

    def frames_of(self, thrown: Thrown) -> tuple[str, ...]:
        """The stack trace of one exception of the chain, with the frames that Java prints once."""
        frames: list[str] = []
        for other in self.chain:
            kept = frames[-other.shared :] if other.shared else []
            frames = [*other.frames, *kept]
            if other is thrown:
                break
        return tuple(frames)

    @property
    def is_exception(self) -> bool:
        """True if it is more than a message."""
        return any(thrown.exception is not None for thrown in self.chain)


def is_of_pyspark(at: str) -> bool:
    """True if a frame of Python is of PySpark, or of what it talks to Java with."""
    return _OF_PYSPARK.search(at) is not None


def _is_installed(at: str) -> bool:
    return bool(is_of_pyspark(at) or _INSTALLED.search(at))


def is_condition(text: str) -> bool:
    """True if a text is the name of an error condition and nothing else."""
    return bool(_NAME.fullmatch(text)) and "_" in text
