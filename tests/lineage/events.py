"""Events of OpenLineage, held against the classes that its own client makes from its schema, and against our schema."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import attr
import jsonschema
from openlineage.client import event_v2, generated

from airflow_provider_ckpt.documents.lineage import TaskFacetFields
from tests.json_documents import problems as problems_of_type

SCHEMA = Path(__file__).parents[2] / "docs/lineage/CkptTaskRunFacet.json"


def read_events(path: Path) -> list[dict[str, Any]]:
    """What the file transport has written."""
    whole = path.read_text().split("\n")[:-1]  # of the last line only half may be there
    return [json.loads(line) for line in whole]


def problems(event: Mapping[str, Any]) -> Iterator[str]:
    """What in an event its schema does not have."""
    if "eventTime" in event:
        _whole(event)
    for dataset in (*event["inputs"], *event["outputs"]):
        yield from (f"{dataset}: no {key}" for key in ("namespace", "name") if not dataset.get(key))
        for facet in dataset["facets"].values():
            yield from _of_facet(facet)
    facet = event["run"]["facets"]["ckpt_task"]
    yield from (error.message for error in _validator().iter_errors(facet))
    own = {key: value for key, value in facet.items() if not key.startswith("_")}
    yield from problems_of_type(own, TaskFacetFields)


def _whole(event: Mapping[str, Any]) -> None:
    """Let the client make the event anew, which checks ids and times. Raises ValueError."""
    run = event_v2.Run(runId=event["run"]["runId"])
    job = event_v2.Job(namespace=event["job"]["namespace"], name=event["job"]["name"])
    event_v2.RunEvent(eventTime=event["eventTime"], run=run, job=job, producer=event["producer"])
    every = [*event["run"]["facets"].values(), *event["job"]["facets"].values()]
    every += [facet for side in ("inputs", "outputs") for item in event[side] for facet in item["facets"].values()]
    assert all(urlparse(facet[key]).scheme for facet in every for key in ("_producer", "_schemaURL"))


def _of_facet(facet: Mapping[str, Any]) -> Iterator[str]:
    fields = _fields()[facet["_schemaURL"].rpartition("/")[2]]
    names = {field.name for field in fields}
    needed = {field.name for field in fields if field.default is attr.NOTHING}
    yield from (f"{facet}: {name} is not in its schema" for name in facet.keys() - names)
    yield from (f"{facet}: {name} is missing" for name in needed - facet.keys())


def _fields() -> dict[str, tuple[Any, ...]]:
    modules = [import_module(item.name) for item in pkgutil.iter_modules(generated.__path__, f"{generated.__name__}.")]
    classes = {name: kind for module in modules for name, kind in vars(module).items() if attr.has(kind)}
    return {name: attr.fields(kind) for name, kind in classes.items()}


def _validator() -> Any:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
