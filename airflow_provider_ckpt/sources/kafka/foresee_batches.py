"""Asking the brokers of a query's Kafka sources what its next batch reads."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import QueryOptions
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.coming import Coming, NextBatches, coming_batch


def foresee_batches(
    view: CheckpointView, declared: Mapping[str, Source], options: QueryOptions, brokers: Brokers
) -> NextBatches:
    """Data that a query reads next when it is started now.

    Args:
        view: The checkpoint, as it was observed.
        declared: The sources, by id.
        options: Options of the query's sources, and its trigger.
        brokers: Their earlier answers are not asked for again.

    Raises:
        StoreUnavailableError: A broker does not answer; another try can help.
        StoreError: A broker refuses.
        CheckpointError: The offset of a source is not one of Kafka's.
    """
    committed, planned = view.readable_offset_seq(view.latest_committed), view.readable_offset_seq(view.in_flight)
    newest = planned or committed
    ids = [source_id for source_id, _ in newest.offsets] if newest else list(declared)
    coming: dict[str, Coming] = {}
    missing: dict[str, str] = {}
    for source_id in ids:
        source = declared.get(source_id, Source(source_id))
        if problem := _problem(source_id, source, is_new=committed is None):
            missing[source_id] = problem
            continue
        position = offsets_of(committed.offset(source_id) if committed else None)
        ahead = offsets_of(planned.offset(source_id)) if planned else None
        topics = {*source.topics, *(topic for topic, _ in position), *(topic for topic, _ in ahead or ())}
        own = options.of(source_id)
        extent = brokers.extent(source.location, topics).only(own.assigned)
        coming[source_id] = coming_batch(position, ahead, extent, own.limits)
    return NextBatches(coming, missing)


def _problem(source_id: str, source: Source, *, is_new: bool) -> str | None:
    """Why it cannot be said what a source reads next, as a sentence; None when it can."""
    if source.type is None:
        return f"Declare what the source reads from, such as {source_id}=kafka:host:9092/orders."
    if source.type != "kafka":
        return f"What a source of the type {source.type} reads next is not foretold."
    if not source.place:
        return f"Declare the brokers, such as {source_id}=kafka:host:9092/orders."
    if is_new:
        return "No batch is committed, so the option startingOffsets decides where the query begins."
    return None
