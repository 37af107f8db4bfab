"""Gating a deploy: what is read of the checkpoint and of the sink, and the forecast that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.sink_marker import FILE_FORMATS
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.restart.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.sinks.declared import parse_sink, read_marker
from airflow_provider_ckpt.storage.store import Store


def forecast_restart(
    store: Store, deploy: DeploySpec, open_store: Callable[[str], Store], *, quick: bool = False
) -> tuple[CheckpointView, Forecast]:
    """Read a checkpoint and its sink, and forecast the restart.

    Args:
        store: The checkpoint.
        deploy: What is about to be deployed.
        open_store: Opens the location of the sink.
        quick: Read only the two logs; state, source logs and checksum files are then not judged.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The checkpoint or the sink cannot be read.
    """
    if deploy.sink is None:
        return _foretold(examine(store, deep=not quick), deploy)
    sink = parse_sink(deploy.sink)
    said = deploy.sink.partition(":")[0].lower()
    kind = said if said in FILE_FORMATS else sink.kind
    deploy = replace(deploy, sink=f"{kind}:{sink.location}" if sink.location else kind)
    opened = None if sink.directory is None else open_store(sink.directory)
    view = examine(store, deep=not quick, sink=opened if sink.kind == "file" else None)
    if opened is None or sink.kind == "file":
        return _foretold(view, deploy)
    marker = read_marker(sink, opened, view.query_id, max(0, view.next_batch - 1))
    return _foretold(replace(view, marker=marker), deploy)


def _foretold(view: CheckpointView, deploy: DeploySpec) -> tuple[CheckpointView, Forecast]:
    return view, forecast(view, deploy)
