"""The sinks that were declared when a plan was made, and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.checkpoint.sink_marker import NOT_DECLARED
from airflow_provider_ckpt.sinks.declared import DeclaredSink, parse_sink
from airflow_provider_ckpt.storage.store import Store


def sink_of(plan: Plan) -> DeclaredSink:
    """The sink that was declared when a rollback or its undo was planned; of no kind when none was."""
    if declared := sinks_of(plan):
        return declared[0]
    return DeclaredSink("file", plan.sink) if plan.sink else DeclaredSink("")


def sinks_of(plan: Plan) -> tuple[DeclaredSink, ...]:
    """The sinks that were declared when a plan was made."""
    return tuple(parse_sink(item.sink) for item in plan.effects if item.sink != NOT_DECLARED)


def open_sink(sink: DeclaredSink | None, open_store: Callable[[str], Store]) -> Store | None:
    """The store of a sink's directory or table; None for a sink without one, such as Kafka."""
    return open_store(sink.directory) if sink is not None and sink.directory else None


def open_sinks(
    sinks: Iterable[DeclaredSink], open_store: Callable[[str], Store]
) -> list[tuple[DeclaredSink, Store | None]]:
    """Sinks, each with the store of its directory or table."""
    return [(sink, open_sink(sink, open_store)) for sink in sinks]
