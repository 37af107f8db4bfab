"""The sinks that were declared when a plan was made, and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.query.sink import NOT_DECLARED, Sink, parse_sink
from airflow_provider_ckpt.storage.store import Store

#: Sinks as they were declared, each with the store of its ``directory``.
Sinks = Sequence[tuple[Sink, Store | None]]


def sink_of(plan: Plan) -> Sink:
    """The sink that was declared when a rollback or its undo was planned; of no kind when none was."""
    if declared := sinks_of(plan):
        return declared[0]
    return Sink("file", plan.sink) if plan.sink else Sink("")


def sinks_of(plan: Plan) -> tuple[Sink, ...]:
    """The sinks that were declared when a plan was made."""
    return tuple(parse_sink(item.sink) for item in plan.effects if item.sink != NOT_DECLARED)


def open_sink(sink: Sink | None, open_store: Callable[[str], Store]) -> Store | None:
    """The store of a sink's directory or table; None for a sink without one, such as Kafka."""
    return open_store(sink.directory) if sink is not None and sink.directory else None


def open_sinks(sinks: Iterable[Sink], open_store: Callable[[str], Store]) -> list[tuple[Sink, Store | None]]:
    """Sinks, each with the store of its directory or table."""
    return [(sink, open_sink(sink, open_store)) for sink in sinks]
