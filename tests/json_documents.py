"""What documents are, compared with their types; and the page that the types make: ``python -m tests.json_documents``."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from airflow_provider_ckpt import documents
from airflow_provider_ckpt.documents import (
    Document,
    backups,
    changes,
    files,
    findings,
    graphs,
    lineage,
    positions,
    queries,
    runs,
    tasks,
    waits,
)
from airflow_provider_ckpt.documents.as_document import Documented, DocumentOf, Versioned, keys_of
from airflow_provider_ckpt.lineage.openlineage import SCHEMA
from tests.package import PACKAGE

PAGE = Path(__file__).parents[1] / "docs/json.md"
LINEAGE_SCHEMA = Path(__file__).parents[1] / "docs/lineage/CkptTaskRunFacet.json"
ROOMS = (documents, positions, findings, queries, waits, backups, changes, tasks, lineage, files, graphs, runs)
#: What prints or returns each document; files and XComs say it in their own first line.
PRINTED_BY: Mapping[type, str] = {
    documents.ErrorDocument: "any command",
    positions.ShowDocument: "ckpt show",
    positions.LogDocument: "ckpt log",
    positions.DiffDocument: "ckpt diff",
    positions.LagDocument: "ckpt lag",
    positions.LagsDocument: "ckpt lag of several queries",
    positions.SourcesDocument: "ckpt sources",
    positions.ExportDocument: "ckpt export",
    positions.PublishDocument: "ckpt publish-offsets",
    findings.CheckDocument: "ckpt check, of one location",
    findings.NotJudgedDocument: "ckpt check and ckpt gate",
    findings.ChecksDocument: "ckpt check, of several locations",
    findings.GateDocument: "ckpt gate",
    findings.GatedPipelineDocument: "ckpt gate of a pipeline",
    findings.FleetDocument: "ckpt fleet",
    queries.QueriesDocument: "ckpt queries",
    graphs.InitDocument: "ckpt init",
    findings.ExplainDocument: "ckpt explain",
    waits.WaitDocument: "ckpt wait",
    backups.BackupDocument: "ckpt backup",
    backups.BackupPlanDocument: "ckpt backup --dry-run",
    backups.BackupsDocument: "ckpt backups",
    backups.VerifyDocument: "ckpt verify",
    backups.PruneDocument: "ckpt prune",
    changes.ChangeDocument: "ckpt restore, ckpt rollback, ckpt reset-offsets, ckpt sources --as, ckpt repair, ckpt fence, "
    "ckpt repartition, ckpt undo, ckpt seed",
    changes.SalvageDocument: "ckpt salvage",
    changes.HistoryDocument: "ckpt history",
    changes.RecordDocument: "ckpt history --plan",
    changes.ForgetDocument: "ckpt history --forget",
    runs.StatusDocument: "ckpt status",
    runs.RunDocument: "ckpt stop, ckpt start, ckpt deploy and ckpt hold",
}
#: Documents of which a type has the last keys alone: those before are of a dataclass.
BEGINS_WITH: Mapping[type, Any] = {
    findings.JudgedFindingFields: findings.FindingFields,
    tasks.ComparisonResultDocument: tasks.ComparisonFields,
    tasks.ToldPruneFields: backups.PrunePlanFields,
    tasks.ToldPruneReceiptFields: backups.PruneReceiptFields,
}


def _bare(hint: Any) -> Any:
    """A type without what it means; in place of a mapping the dataclass of which it is the document."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *said = get_args(hint)
    of = [
        getattr(import_module(f"{PACKAGE.name}.{item.module}"), item.name) for item in said if type(item) is DocumentOf
    ]
    return of[0] if of else kind


def documents_in(room: types.ModuleType) -> dict[Any, str]:
    """The types and dataclasses of the documents that a room names, in order, with the names."""
    held = [(_bare(item), name) for name, item in vars(room).items()]
    return {
        kind: name
        for kind, name in held
        if _is_object(kind) and (kind.__module__ == room.__name__ or not is_typeddict(kind))
    }


@cache
def _names() -> dict[Any, str]:
    return {kind: name for room in ROOMS for kind, name in documents_in(room).items()}


def _is_object(kind: Any) -> bool:
    return is_typeddict(kind) or (isinstance(kind, type) and is_dataclass(kind) and issubclass(kind, Documented))


def keys(kind: Any) -> dict[str, Any]:
    """The types of the keys, the version first."""
    kind = _bare(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        for key in keys_of(kind):
            if isinstance(held := getattr(kind, key, None), property):
                hints[key] = get_type_hints(held.fget, include_extras=True)["return"]
        first = keys(Document) if issubclass(kind, Versioned) else {}
        return first | {key: hints[key] for key in keys_of(kind)}
    hints = get_type_hints(kind, include_extras=True)
    own = {key: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for key, hint in hints.items()}
    own = (keys(BEGINS_WITH[kind]) if kind in BEGINS_WITH else {}) | own
    return {key: own[key] for key in sorted(own, key=lambda key: key != "format_version")}


def optional_keys(kind: Any) -> set[str]:
    """The keys that may be absent."""
    if not is_typeddict(kind):
        return set()
    hints = get_type_hints(kind, include_extras=True)
    return {key for key, hint in hints.items() if get_origin(hint) is NotRequired}


# --- comparing ------------------------------------------------------------------------------------------------------


def problems(value: Any, kind: Any, at: str = "document") -> Iterator[str]:
    """What in a value is not of a type: keys that are missing or too many, values of another type."""
    kind = _bare(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if _is_object(kind):
        yield from _of_object(value, kind, at)
    elif origin in (Union, types.UnionType):
        found = [list(problems(value, each, at)) for each in arguments]
        yield from min(found, key=len)
    elif origin in _CONTAINERS:
        yield from _of_items(value, _CONTAINERS[origin], _item(arguments), at)
    elif not _is_of(value, kind):
        yield f"{at} is {value!r:.40}, and not {_type_text(kind)}"


#: What JSON makes of each container.
_CONTAINERS: Mapping[Any, type] = {list: list, tuple: list, dict: dict, Mapping: dict}


def _item(arguments: tuple[Any, ...]) -> Any:
    """The type of what a container holds."""
    return arguments[0] if arguments[-1] is Ellipsis else arguments[-1]


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _is_of(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if _is_choice(kind):
        return value in {*kind}
    return kind is Any or type(value) is kind or (kind is float and type(value) is int)


def _of_items(value: Any, container: type, kind: Any, at: str) -> Iterator[str]:
    if not isinstance(value, container):
        yield f"{at} is no {container.__name__}"
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from problems(item, kind, f"{at}.{key}")


def _of_object(value: Any, kind: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at} is no object"
        return
    hints = keys(kind)
    yield from (f"{at}.{key} is missing" for key in hints.keys() - value.keys() - optional_keys(kind))
    yield from (f"{at}.{key} is not in {_names()[kind]}" for key in value.keys() - hints.keys())
    for key in hints.keys() & value.keys():
        yield from problems(value[key], hints[key], f"{at}.{key}")


# --- the page -------------------------------------------------------------------------------------------------------

_HEAD = """\
# JSON documents

What commands print with `--json`, what operators return, and what files hold. Each document begins with
`format_version`, which is {version}. New keys may appear in a version; none changes its meaning. A key that has nothing
to say is there and null. Times end in `_ms` (epoch milliseconds, UTC) or are ISO 8601 with `Z`.

This page is made from the types in `airflow_provider_ckpt/documents/`: `python -m tests.json_documents`.
"""


def page() -> str:
    """The page."""
    return "\n".join([_HEAD.format(version=documents.FORMAT_VERSION), *(_room(room) for room in ROOMS)])


def _room(room: types.ModuleType) -> str:
    title = "Errors" if room is documents else (room.__doc__ or "").split(".")[0].replace("``", "`")
    text = "" if room is documents else " ".join((room.__doc__ or "").split(".", 1)[1].split())
    above = {kind for other in ROOMS[: ROOMS.index(room)] for kind in documents_in(other)}
    own = [kind for kind, name in documents_in(room).items() if kind not in above and not name.startswith("_")]
    shown = [kind for kind in own if kind is not Document]  # what others begin with
    return "\n".join([f"## {title}\n", *([f"{text}\n"] if text else []), *map(_kind, shown)])


def _kind(kind: Any) -> str:
    doc = " ".join(re.split(r"\n\n    \w+:\n", kind.__doc__ or "")[0].split())
    by = f" Printed by {PRINTED_BY[kind]}." if kind in PRINTED_BY else ""
    rows = [f"| `{key}` | {_type_text(hint)} | {get_args(hint)[-1]} |" for key, hint in keys(kind).items()]
    return "\n".join(
        [f"### {_names()[kind]}\n", f"{doc}{by}\n", "| key | type | meaning |", "|---|---|---|", *rows, ""]
    )


def _type_text(kind: Any) -> str:
    kind = _bare(kind)
    origin, arguments = _CONTAINERS.get(get_origin(kind), get_origin(kind)), get_args(kind)
    if _is_object(kind):
        return f"[{_names()[kind]}](#{_names()[kind].lower()})"
    if origin in (Union, types.UnionType):
        return " or ".join(map(_type_text, arguments))
    if origin is list:
        return f"list of {_type_text(_item(arguments))}"
    if origin is dict:
        values = _type_text(arguments[1])
        return f"object of ({values})" if " or " in values else f"object of {values}"
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if _is_choice(kind):
        return ", ".join(f"`{value}`" for value in kind)
    names = {str: "text", int: "integer", float: "number", bool: "true or false", type(None): "null", Any: "any value"}
    return names[kind]


# --- the schema of the run facet ------------------------------------------------------------------------------------


def lineage_schema() -> str:
    """The JSON schema of OpenLineage's run facet ``ckpt_task``, from its type."""
    facet = _schema(lineage.TaskFacetFields)
    facet["properties"] |= {name: {"type": "string", "format": "uri"} for name in ("_producer", "_schemaURL")}
    facet["required"] += ["_producer", "_schemaURL"]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, "title": "CkptTaskRunFacet"}
    return json.dumps({**head, **facet}, indent=2) + "\n"


def _schema(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is Annotated:
        return {**_schema(get_args(kind)[0]), "description": get_args(kind)[1]}
    origin, arguments = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        hints = keys(kind)
        required = [key for key in hints if key not in optional_keys(kind)]
        properties = {key: _schema(hint) for key, hint in hints.items()}
        return {"type": "object", "properties": properties, "required": required}
    if origin is NotRequired:
        return _schema(arguments[0])
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(each) for each in arguments]}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    return {"type": {str: "string", int: "integer", type(None): "null"}[kind]}


if __name__ == "__main__":
    PAGE.write_text(page())
    LINEAGE_SCHEMA.write_text(lineage_schema())
