"""Where the sinks are that somebody declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store

#: Sinks as they were declared, each with the store of its ``directory``.
Sinks = Sequence[tuple[Sink, Store | None]]


def open_sink(sink: Sink | None, open_store: Callable[[str], Store]) -> Store | None:
    """The store of a sink's directory or table; None for a sink without one, such as Kafka."""
    return open_store(sink.directory) if sink is not None and sink.directory else None


def open_sinks(sinks: Iterable[Sink], open_store: Callable[[str], Store]) -> list[tuple[Sink, Store | None]]:
    """Sinks, each with the store of its directory or table."""
    return [(sink, open_sink(sink, open_store)) for sink in sinks]
