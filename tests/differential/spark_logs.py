"""Spark's own ``OffsetSeqLog`` and ``CommitLog``, called over py4j, as the oracle of the codec."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from typing import Any

_PACKAGE = "org.apache.spark.sql.execution.streaming.checkpointing"


@dataclass(frozen=True)
class Verdict:
    """What Spark made of an entry: the bytes that it would write back, or the exception it stopped with."""

    written: bytes | None
    error: str = ""

    @property
    def accepted(self) -> bool:
        return self.written is not None


class SparkLogs:
    """Both logs of the installed Spark; nothing is written to disk."""

    def __init__(self, spark: Any) -> None:
        self._jvm = spark._jvm
        package = spark._jvm
        for part in _PACKAGE.split("."):
            package = getattr(package, part)
        directory = f"file:{tempfile.gettempdir()}/no-such-log"
        self._logs = {
            "offsets": package.OffsetSeqLog(spark._jsparkSession, directory, True),
            "commits": package.CommitLog(spark._jsparkSession, directory, True),
        }

    def read(self, log: str, data: bytes) -> Verdict:
        """Let Spark deserialise an entry and serialise it again."""
        from py4j.protocol import Py4JJavaError

        spark_log = self._logs[log]
        out = self._jvm.java.io.ByteArrayOutputStream()
        try:
            value = spark_log.deserialize(self._jvm.java.io.ByteArrayInputStream(data))
        except Py4JJavaError as error:
            return Verdict(None, error.java_exception.getClass().getSimpleName())
        try:
            spark_log.serialize(value, out)
        except Py4JJavaError as error:
            return Verdict(None, f"write: {error.java_exception.getClass().getSimpleName()}")
        return Verdict(bytes(out.toByteArray()))


def canonical(data: bytes) -> tuple[Any, ...]:
    """An entry that Spark or we wrote, with the order of map keys taken away: Spark does not fix it."""
    version, metadata, *lines = data.decode("utf-8").split("\n")
    fields = json.loads(metadata) if metadata else None
    return version, fields, sorted(lines) if version == "v2" else lines
