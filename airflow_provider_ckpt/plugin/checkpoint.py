"""The routes of a checkpoint: its page, and the preview of a change, with the button that starts its DAG."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.plugin.access import User, may_start, require_pages
from airflow_provider_ckpt.plugin.checkpoint_page import steps_of
from airflow_provider_ckpt.plugin.make_preview import make_preview, readable
from airflow_provider_ckpt.plugin.preview_form import FIELDS, Kind, declared_form, has_goal, read_form
from airflow_provider_ckpt.plugin.read_checkpoint import declared_types, read_page
from airflow_provider_ckpt.plugin.render import render
from airflow_provider_ckpt.plugin.settings import Settings, read_settings
from airflow_provider_ckpt.plugin.stores import open_below, open_records, open_root
from airflow_provider_ckpt.query.source import known_types
from airflow_provider_ckpt.sinks.effects import COSTS

router = APIRouter(dependencies=[Depends(require_pages)])

#: The location in the address of a page, and the name of a query of the query file, which stands in its place.
At = Annotated[str, Query(max_length=2_048)]
Name = Annotated[str, Query(max_length=250)]
#: Types of sources, as ``0=kafka``, for logs that do not name them.
Sources = Annotated[str, Query(max_length=2_048)]


@router.get("/checkpoint")
def show_checkpoint(
    request: Request,
    at: At = "",
    query: Name = "",
    before: Annotated[int | None, Query(ge=0, lt=1 << 63)] = None,
    sources: Sources = "",
) -> Response:
    """One checkpoint, read now. A part that cannot be read is a sentence on the page."""
    settings = read_settings()
    at = _location(settings, at, query)
    store, known = open_below(settings.roots, at), settings.query_at(at)
    refused, declared = "", known_types(known.deploy.by_id) if known is not None else {}
    try:
        declared = {**declared, **declared_types(sources)}
    except CheckpointError as error:
        refused = str(error)
    backups = [partial(open_root, root) for root in settings.backup_roots]
    if known is not None and known.backups and settings.backup_roots.hold(known.backups):
        backups.append(partial(open_below, settings.backup_roots, known.backups))
    page = read_page(
        store, backups, before=before, declared=declared, records=partial(open_records, settings.queries, at)
    )
    return render(
        request,
        "checkpoint.html",
        status=page.status,
        how_typed=settings.typed(known),
        page=page,
        query_name=known.name if known is not None else "",
        settings=settings,
        sources=sources,
        refused=refused,
        steps_of=steps_of,
    )


def _location(settings: Settings, at: str, query: str) -> str:
    """The location that an address means, by itself or by the name of a query. Raises HTTPException."""
    if bool(at) == bool(query):
        raise HTTPException(422)
    return settings.location_of(query) if query else settings.opened(at)


@router.get("/preview")
def show_preview(
    request: Request, user: User, at: At = "", query: Name = "", kind: Annotated[Kind, Query()] = "rollback"
) -> Response:
    """Show the plan of a rollback or a reset. Nothing is locked, and nothing is written."""
    settings = read_settings()
    _, location = settings.roots.root_of(_location(settings, at, query))
    known = settings.query_at(location)
    said = {} if known is None else declared_form(kind, known, readable(settings))
    typed = {field.name: request.query_params.get(field.name, said.get(field.name, "")) for field in FIELDS[kind]}
    preview, problem, retryable = None, "", False
    try:
        asked = read_form(kind, typed)
        if has_goal(kind, asked):
            preview = make_preview(kind, location, asked, settings)
    except CheckpointError as error:
        problem, retryable = str(error), error.retryable
    dag_id = settings.rollback_dag if kind == "rollback" else settings.reset_dag
    return render(
        request,
        "preview.html",
        status=503 if retryable else 200,
        how_typed=settings.typed(known),
        location=location,
        query_name=known.name if known is not None else "",
        file=settings.queries.place if settings.queries is not None else "",
        kind=kind,
        fields=FIELDS[kind],
        costs=COSTS,
        typed=typed,
        problem=problem,
        preview=preview,
        conf=json.dumps(preview.conf) if preview else "",
        steps=steps_of(preview.plan) if preview else ([], 0),
        required=[item.sentence for item in preview.plan.requirements] if preview else [],
        dag_id=dag_id,
        may_start=dag_id is not None and may_start(request, user, dag_id),
    )
