"""The page of all checkpoints."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.fleet.index import STATES, FleetIndex, IndexRow, left_out_text
from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.plugin import fleet_table
from airflow_provider_ckpt.plugin.access import require_pages
from airflow_provider_ckpt.plugin.fleet_table import SORTS, WORST, Selection, select
from airflow_provider_ckpt.plugin.render import render
from airflow_provider_ckpt.plugin.settings import Settings, read_settings
from airflow_provider_ckpt.plugin.stores import open_connected
from airflow_provider_ckpt.storage.roots import Roots

router = APIRouter(dependencies=[Depends(require_pages)])


@router.get("/")
def show_fleet(request: Request) -> Response:
    """Every checkpoint of the index that is below the configured roots."""
    settings, shown = read_settings(), dict[str, Any]()
    if settings.roots and settings.index:
        shown = _shown(request, FLEET.read(settings))
    return render(request, "fleet.html", settings=settings, **{"index": None, **shown})


def _shown(request: Request, found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    index, rows = found
    selection = Selection.of(request.query_params)
    return {
        "index": index,
        "now_ms": now_ms(),
        "is_old": index.is_old(now_ms()),
        "total": len(rows),
        "left_out": left_out_text(index.left_out) if index.left_out else "",
        "worst": Counter(row.worst or "none" for row in rows),
        "states": Counter(row.state for row in rows),
        "past_threshold": sum(row.alarms is not None for row in rows),
        "selection": selection,
        "part": select(rows, selection),
        "columns": list(SORTS),
        "severities": WORST,
        "all_states": STATES,
        "cells": fleet_table,
    }


class FleetReader:
    """Reads the index for many requests: one listing each, and the file when there is a newer one."""

    def __init__(self) -> None:
        self._reader = IndexReader()
        self._kept: tuple[FleetIndex, Roots, tuple[IndexRow, ...]] | None = None
        self._lock = Lock()

    def read(self, settings: Settings) -> tuple[FleetIndex, tuple[IndexRow, ...]] | None:
        """The newest index and those of its rows that may be shown; None when no index was written yet.

        Raises CheckpointError when it cannot be read.
        """
        assert settings.index is not None
        index = self._reader.read(open_connected(settings.index, settings.index_conn_id))
        if index is None:
            return None
        with self._lock:
            if self._kept is None or self._kept[0] is not index or self._kept[1] != settings.roots:
                held = set(settings.roots.those_held(row.location for row in index.rows))
                self._kept = (index, settings.roots, tuple(row for row in index.rows if row.location in held))
            return index, self._kept[2]


#: Of the API server's process.
FLEET = FleetReader()
