"""The sink of a query, as its user declares it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.untrusted.secrets import scrub, without_password

#: Kinds of sinks that skip a batch that they have seen.
MARKING = ("file", "delta", "iceberg", "hudi", "history")
#: Formats of the file sink, by which it is declared as well.
FILE_FORMATS = ("parquet", "json", "csv", "orc", "text")
#: Spark's own sinks that write a micro-batch as a whole.
SINKS_OF_BATCHES = ("file", *FILE_FORMATS, "foreachbatch")
#: The name of a sink that nobody has declared.
NOT_DECLARED = "not declared"

_UNMARKED = ("kafka", "foreachBatch", "foreach", "console", "noop", "memory", "unknown")
#: Kinds of sinks by the names, in lower case, by which they are declared.
KINDS_OF_SINKS = {kind.lower(): kind for kind in (*MARKING, *_UNMARKED)} | dict.fromkeys(FILE_FORMATS, "file")
#: What a declaration may add after ``#``: what the sink knows the query by, unless it is the query id.
_WRITER = {"delta": "txnAppId", "hudi": "identifier"}


class Opened(Protocol):
    """An opened absolute location, such as a store."""

    @property
    def location(self) -> str:
        """Where it is."""


@dataclass(frozen=True, slots=True)
class Sink:
    """The sink of a query, as its user declares it.

    Args:
        kind: ``file``, ``delta``, ``iceberg``, ``hudi``, ``history``, or one that remembers nothing.
        location: Output directory or table, or for Iceberg a metadata file; empty where the kind needs none.
        writer: ``txnAppId`` of a Delta writer, ``hoodie.datasource.write.streaming.checkpoint.identifier`` of a Hudi
            writer; empty for the default.
        format: Format of the file sink, when it was declared by it, such as ``parquet``; else empty.
    """

    kind: str
    location: str = ""
    writer: str = ""
    format: str = field(default="", compare=False)

    @property
    def said(self) -> str:
        """Its format or its kind, as it was declared."""
        return self.format or self.kind

    @property
    def text(self) -> str:
        """The declaration, which :func:`parse_sink` reads again; empty for a sink that is not declared."""
        return self._text(self.said)

    @property
    def name(self) -> str:
        """As :attr:`text`, by its kind, for plans and sentences; what is not declared says so."""
        return self._text(self.kind) or NOT_DECLARED

    def _text(self, kind: str) -> str:
        mark = f"#{_WRITER[self.kind]}={self.writer}" if self.writer else ""
        return f"{kind}:{self.location}{mark}" if self.location else kind

    def at(self, opened: Opened | None) -> Sink:
        """The same sink without secrets, and with the absolute location at which it was opened, if it was."""
        if opened is None:
            return replace(self, location=scrub(self.location))
        location = opened.location
        return replace(self, location=f"{location}/{self.metadata_file}" if self.metadata_file else location)

    @property
    def directory(self) -> str | None:
        """Directory to open for reading the sink, or None when there is nothing to read."""
        if self.kind not in MARKING:
            return None
        return self.location.rpartition("/")[0] if self.metadata_file else self.location

    @property
    def metadata_file(self) -> str:
        """Name of the Iceberg metadata file that was declared, or empty."""
        is_file = self.kind == "iceberg" and self.location.endswith(".json")
        return self.location.rpartition("/")[2] if is_file else ""


def parse_sink(text: str) -> Sink:
    """Read ``TYPE[:URI][#KEY=ID]``: ``file:/data/out``, ``delta:s3://lake/orders#txnAppId=orders``, ``kafka``.

    A format of the file sink, as in ``parquet:/data/out``, means the same as ``file``. The place of a kind that
    remembers nothing is a name for people: it is kept without a password.

    Raises StoreError.
    """
    name, _, location = text.partition(":")
    kind, file_format = KINDS_OF_SINKS.get(name.lower()), name.lower() if name.lower() in FILE_FORMATS else ""
    if kind is None or (kind in MARKING and not location):
        raise StoreError(
            f"{scrub(text)!r} is not a sink",
            hint=f"Declare the sink as {', '.join(f'{known}:URI' for known in MARKING)}, or as one of "
            f"{', '.join(_UNMARKED)}; for example file:/data/out. For the formats {', '.join(FILE_FORMATS)} "
            "write file.",
        )
    if location.startswith("//"):
        location = f"file:{location}"
    if kind not in MARKING:
        location = without_password(location)
    place, mark, writer = location.rpartition(f"#{_WRITER[kind]}=") if kind in _WRITER else (location, "", "")
    return Sink(kind, place, writer) if mark else Sink(kind, location, format=file_format)
