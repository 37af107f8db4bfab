"""The page of all checkpoints."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.fleet.index import STATES, left_out_text
from airflow_provider_ckpt.plugin import fleet_table
from airflow_provider_ckpt.plugin.access import require_pages
from airflow_provider_ckpt.plugin.fleet_table import SORTS, WORST, Selection, select
from airflow_provider_ckpt.plugin.read_fleet import FLEET
from airflow_provider_ckpt.plugin.render import render
from airflow_provider_ckpt.plugin.settings import read_settings

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
        "selection": selection,
        "part": select(rows, selection),
        "columns": list(SORTS),
        "severities": WORST,
        "all_states": STATES,
        "cells": fleet_table,
    }
