"""The page of a checkpoint."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.plugin.access import require_pages
from airflow_provider_ckpt.plugin.checkpoint_page import steps_of
from airflow_provider_ckpt.plugin.read_checkpoint import declared_types, read_page
from airflow_provider_ckpt.plugin.render import render
from airflow_provider_ckpt.plugin.settings import read_settings
from airflow_provider_ckpt.plugin.stores import open_below, open_root

router = APIRouter(dependencies=[Depends(require_pages)])

#: The location in the address of a page.
At = Annotated[str, Query(min_length=1, max_length=2_048)]
#: Types of sources, as ``0=kafka``, for logs that do not name them.
Sources = Annotated[str, Query(max_length=2_048)]


@router.get("/checkpoint")
def show_checkpoint(
    request: Request, at: At, before: Annotated[int | None, Query(ge=0, lt=1 << 63)] = None, sources: Sources = ""
) -> Response:
    """One checkpoint, read now. A part that cannot be read is a sentence on the page."""
    settings = read_settings()
    store = open_below(settings.roots, at)
    refused, declared = "", {}
    try:
        declared = declared_types(sources)
    except CheckpointError as error:
        refused = str(error)
    backups = [partial(open_root, root) for root in settings.backup_roots]
    page = read_page(store, backups, before=before, declared=declared)
    return render(
        request,
        "checkpoint.html",
        status=page.status,
        page=page,
        settings=settings,
        sources=sources,
        refused=refused,
        steps_of=steps_of,
    )
