"""Finds the files that a restart needs by reading state files; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ckpt.checkpoint.operator_files import operator_metadata
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet, restart_set
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.store import Store


def find_restart_set(
    store: Store, view: CheckpointView, batch_id: int, broken: Mapping[str, str] | None = None
) -> RestartSet:
    """The files that a restart after one batch needs, and what is missing of them. Reads state files alone.

    ``broken`` are state files that are known to be of no use, and why.
    """
    return drive(restart_set(view, batch_id, decompressors(), broken or {}), store.head)


def operator_names(store: Store, view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    """Spark's names of the stateful operators of a batch, if their metadata exists and can be read."""
    names = (name for name in view.names_below(layout.STATE) if "/_" in name)
    places = [place for name in names if isinstance(place := layout.parse(name), layout.OperatorMetadataFile)]
    found = [
        drive(operator_metadata(view, operator_id, batch_id), store.head)
        for operator_id in sorted({place.operator_id for place in places})
    ]
    return tuple(metadata.operator_name for metadata in found if metadata is not None)
