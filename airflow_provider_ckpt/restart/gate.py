"""Gating a deploy: what is read of the checkpoint and of the sink, and the forecast that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.find_flows import find_surroundings, with_version
from airflow_provider_ckpt.checkpoint.flows import flow_of
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.flows import without_finished
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.restart.real_time import refused_options
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
    from airflow_provider_ckpt.sources.open_end import Access
    from airflow_provider_ckpt.sources.read_lag import LagQuestion


def forecast_restart(
    store: Store,
    deploy: DeploySpec,
    open_store: Callable[[str], Store],
    *,
    quick: bool = False,
    kafka_config: Mapping[str, Any] | None = None,
    kafka_configs: Mapping[str, Mapping[str, Any]] | None = None,
    topic_ids: Mapping[str, str] | None = None,
    will_lose_within_ms: int | None = None,
    beside: frozenset[str] | None = None,
) -> tuple[CheckpointView, Forecast]:
    """Read a checkpoint and its sink, and forecast the restart.

    Args:
        store: The checkpoint.
        deploy: The coming deploy.
        open_store: Opens the locations of the sink and of tables that are read.
        quick: Read only the two logs; state, source logs and checksum files are then not judged.
        kafka_config: Options of the clients that ask the brokers of the declared Kafka sources.
        kafka_configs: Options of the clients of some servers, by these; ``kafka_config`` wins over them.
        topic_ids: The ids that topics had before, by source id and name, such as ``0/orders``.
        will_lose_within_ms: It is also asked whether unread data may be deleted before so many milliseconds have
            passed; None asks nobody.
        beside: Of a flow of a pipeline, the other flows that still write to its table; None is not known.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The checkpoint, the sink, a declared broker or a table cannot be read.
    """
    view = without_finished(_read(with_version(store), deploy, open_store, quick=quick), beside)
    declared = deploy.by_id
    if not declared:
        return view, forecast(view, deploy)
    from airflow_provider_ckpt.query.source_options import parse_options
    from airflow_provider_ckpt.sources.foresee_expiry import foresee_expiry
    from airflow_provider_ckpt.sources.judge_sources import judge_sources
    from airflow_provider_ckpt.sources.judge_tables import fitting
    from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers  # loads the sources, which few deploys declare
    from airflow_provider_ckpt.sources.kafka.foresee_batches import foresee_batches
    from airflow_provider_ckpt.sources.open_end import Access
    from airflow_provider_ckpt.sources.read_lag import LagQuestion

    access = Access(open_store, store, kafka_config or {}, kafka_configs=kafka_configs or {})
    brokers = Brokers(access.kafka_config, configs=access.kafka_configs)
    said, trigger = deploy.source_options, deploy.trigger
    now = now_ms()
    lost = judge_sources(view, declared, said, access, brokers, now, trigger=trigger, known_ids=topic_ids)
    taken = {} if refused_options(deploy) else said  # with these Spark does not start
    options = parse_options(taken.items(), trigger)
    fit = fitting(view, declared)
    if will_lose_within_ms is not None:
        lost = foresee_expiry(view, fit, options, access, brokers, now, lost=lost, within_ms=will_lose_within_ms)
    if not any(source.place or source.type == "kafka" for source in declared.values()):
        return view, forecast(view, deploy, lost)
    batches = foresee_batches(view, fit, options, brokers)
    other = {
        name: f"An offset that it goes on from is none of the type {source.type}."
        for name, source in declared.items()
        if name not in fit
    }
    batches = replace(batches, missing={**batches.missing, **other})
    is_read = _is_read(view, LagQuestion(declared, options), access, brokers)
    return view, forecast(view, deploy, lost, batches, all_read=is_read)


def _is_read(view: CheckpointView, question: LagQuestion, access: Access, brokers: Brokers) -> bool | None:
    """True if every source was asked where it ends, and the query has read all of it; False if one has unread data."""
    from airflow_provider_ckpt.sources.read_lag import read_lag  # loads the sources, as above

    if view.latest_committed is None or view.in_flight is not None:
        return None
    files = [source for source in question.sources.values() if source.type == "file" and source.place]
    try:
        if not all(access.open_store(source.directory).ls()[0] for source in files):
            return None  # without a file it need not be what the query has read
        lags = read_lag(view, question, access, now_ms(), brokers)
    except CheckpointError:  # which says nothing of the restart that was not judged before
        return None
    if any(lag.total for lag in lags):
        return False
    is_read = bool(lags) and all(
        lag.source_type and lag.total == 0 and not lag.is_partial and not lag.lost for lag in lags
    )
    return is_read or None


def _examined(store: Store, *, quick: bool, sink: Store | None = None) -> CheckpointView:
    """The checkpoint; of a flow that has not run yet, which Spark makes one for, what is beside it."""
    try:
        return examine(store, deep=not quick, sink=sink, each=True)
    except CheckpointNotFoundError:
        if flow_of(store.location) is None or any(store.ls()):
            raise
    log = None if sink is None else read_file_sink(sink)
    around = find_surroundings(store, table=sink is None)
    return CheckpointView(store.location, now_ms(), {}, complete=True, sink=log, surroundings=around)


def _read(store: Store, deploy: DeploySpec, open_store: Callable[[str], Store], *, quick: bool) -> CheckpointView:
    """The checkpoint with what is known of its sink."""
    if deploy.sink is None:
        return _examined(store, quick=quick)
    sink = deploy.sink
    opened = None if sink.directory is None else open_store(sink.directory)
    view = _examined(store, quick=quick, sink=opened if sink.kind == "file" else None)
    if opened is None or sink.kind == "file" or not view.objects:  # a query that has not run has left no marker
        return view
    marker = read_marker(sink, opened, view.query_id, max(0, view.next_batch - 1))
    return replace(view, marker=marker)
