"""Readers of what sinks remember of the batches that they have seen: one module a format, loaded when it is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module

from airflow_provider_ckpt.checkpoint.sink_marker import FILE_FORMATS, MARKING, NOT_DECLARED, SinkMarker
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.secrets import scrub
from airflow_provider_ckpt.storage.store import Store

__all__ = ["DeclaredSink", "parse_sink", "read_file_sink", "read_marker"]

_UNMARKED = ("kafka", "foreachBatch", "foreach", "console", "noop", "memory", "unknown")
_KINDS = {kind.lower(): kind for kind in (*MARKING, *_UNMARKED)} | dict.fromkeys(FILE_FORMATS, "file")
#: What a declaration may add after ``#``: what the sink knows the query by, unless it is the query id.
_WRITER = {"delta": "txnAppId", "hudi": "identifier"}


@dataclass(frozen=True, slots=True)
class DeclaredSink:
    """The sink of a query, as its user declares it.

    Args:
        kind: ``file``, ``delta``, ``iceberg``, ``hudi``, ``history``, or one that remembers nothing.
        location: Output directory or table, or for Iceberg a metadata file; empty where the kind needs none.
        writer: ``txnAppId`` of a Delta writer, ``hoodie.datasource.write.streaming.checkpoint.identifier`` of a Hudi
            writer; empty for the default.
    """

    kind: str
    location: str = ""
    writer: str = ""

    @property
    def name(self) -> str:
        """The declaration as text, which :func:`parse_sink` reads again; what is not declared says so."""
        mark = f"#{_WRITER[self.kind]}={self.writer}" if self.writer else ""
        return f"{self.kind}:{self.location}{mark}" if self.location else self.kind or NOT_DECLARED

    def at(self, store: Store | None) -> DeclaredSink:
        """The same sink, with the absolute location of its opened store and without secrets."""
        if store is None:
            return replace(self, location=scrub(self.location))
        return replace(
            self, location=f"{store.location}/{self.metadata_file}" if self.metadata_file else store.location
        )

    @property
    def directory(self) -> str | None:
        """What has to be opened to read it, or None when there is nothing to read."""
        if self.kind not in MARKING:
            return None
        return self.location.rpartition("/")[0] if self.metadata_file else self.location

    @property
    def metadata_file(self) -> str:
        """Name of the Iceberg metadata file that was declared, or empty."""
        is_file = self.kind == "iceberg" and self.location.endswith(".json")
        return self.location.rpartition("/")[2] if is_file else ""


def parse_sink(text: str) -> DeclaredSink:
    """Read ``TYPE[:URI][#KEY=ID]``: ``file:/data/out``, ``delta:s3://lake/orders#txnAppId=orders``, ``kafka``.

    A format of the file sink, as in ``parquet:/data/out``, means the same as ``file``.

    Raises StoreError.
    """
    name, _, location = text.partition(":")
    kind = _KINDS.get(name.lower())
    if kind is None or (kind in MARKING and not location):
        raise StoreError(
            f"{scrub(text)!r} is not a sink",
            hint=f"Declare the sink as {', '.join(f'{known}:URI' for known in MARKING)}, or as one of "
            f"{', '.join(_UNMARKED)}; for example file:/data/out. For the formats {', '.join(FILE_FORMATS)} "
            "write file.",
        )
    if location.startswith("//"):
        location = f"file:{location}"
    place, mark, writer = location.rpartition(f"#{_WRITER[kind]}=") if kind in _WRITER else (location, "", "")
    return DeclaredSink(kind, place, writer) if mark else DeclaredSink(kind, location)


def read_marker(sink: DeclaredSink, store: Store | None, query_id: str | None, batch_id: int) -> SinkMarker:
    """What a sink remembers of a query.

    Args:
        sink: The sink.
        store: Of its ``directory``; None when it has none.
        query_id: Id of the query.
        batch_id: How far back to search: to the newest batch up to this one.

    Raises:
        StoreError: It cannot be read.
    """
    if store is None and sink.kind in MARKING:
        raise StoreError(
            f"the {sink.kind} sink was declared, but its location was not given to open", location=sink.location
        )
    if sink.kind not in MARKING:
        return SinkMarker(sink.kind, scrub(sink.location))
    marker: SinkMarker = import_module(f"{__package__}.{sink.kind}").read(sink, store, query_id or "", batch_id)
    return marker
