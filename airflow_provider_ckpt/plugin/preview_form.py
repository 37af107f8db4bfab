"""Form of a preview: its fields, and the values that were typed into them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.changes.reset.make import ResetRequest
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.declared import DECLARED
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.query.source import known_types
from airflow_provider_ckpt.storage.roots import Roots
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

Kind = Literal["rollback", "reset"]
KINDS: tuple[Kind, ...] = ("rollback", "reset")


Typed = Literal["text", "number", "flag", "json", "list", "lines"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Args:
        name: Name of the parameter of the DAG and of the address.
        label: For people.
        hint: An example, or what it means.
        kind: ``text``, ``number`` (whole), ``flag``, ``json``, ``list`` or ``lines``.
        is_goal: True if it says where to; exactly one of those is given.
    """

    name: str
    label: str
    hint: str = ""
    kind: Typed = "text"
    is_goal: bool = False


REQUESTS: Mapping[Kind, type] = {"rollback": RollbackRequest, "reset": ResetRequest}
#: How a field is typed, by what it means; text otherwise.
_KINDS: Mapping[str, Typed] = {
    "whole": "number",
    "flag": "flag",
    "json": "json",
    "bookmark": "json",
    "csv": "lines",
}


def _fields(request: type) -> Iterator[Field]:
    for name, field in fields_of(request).items():
        if field.form is not None:
            kind: Typed = (
                "list" if field.opt.many and field.opt.means == "text" else _KINDS.get(field.opt.means, "text")
            )
            yield Field(name, field.form.label, field.form.hint, kind, bool(field.opt.goal))


FIELDS: Mapping[Kind, tuple[Field, ...]] = {kind: tuple(_fields(request)) for kind, request in REQUESTS.items()}
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_YES = ("true", "on", "1")


def read_form(kind: Kind, typed: Mapping[str, str]) -> dict[str, Any]:
    """Typed values as the DAG takes them: numbers, objects, lists, true; empty ones are left out.

    Raises PlanError, which names the field, for what is none of it.
    """
    found: dict[str, Any] = {}
    for field in FIELDS[kind]:
        text = typed.get(field.name, "").strip()
        if text and text != "false":
            found[field.name] = value = _value(field, text)
            if wanted := fields_of(REQUESTS[kind])[field.name].opt.outside(value):
                raise _wrong(field, text, wanted)
    return {name: value for name, value in found.items() if value is not None}


def declared_form(kind: Kind, query: Query, readable: Roots) -> dict[str, str]:
    """What the query file declares of a query, as it is typed into the fields: what an operator would take of it.

    Args:
        kind: Kind of the change.
        query: The query.
        readable: Roots below which backups are searched; a root of others stays empty, for few changes need one.
    """
    said = {name: DECLARED[name].of(query) for name in (field.name for field in FIELDS[kind]) if name in DECLARED}
    if "sources" in said:
        said["sources"] = ",".join(f"{key}={kind}" for key, kind in known_types(query.deploy.by_id).items())
    if not readable.hold(str(said.get("backup_root"))):
        said.pop("backup_root", None)
    return {name: value for name, value in said.items() if isinstance(value, str)}


def has_goal(kind: Kind, asked: Mapping[str, Any]) -> bool:
    """True if a goal was given."""
    return any(field.is_goal and field.name in asked for field in FIELDS[kind])


def _value(field: Field, text: str) -> Any:
    match field.kind:
        case "number":
            if not _NUMBER.fullmatch(text):
                raise _wrong(field, text, "a whole number")
            return int(text)
        case "flag":
            return True if text.lower() in _YES else None
        case "json":
            return _json(field, text)
        case "list":
            return _json(field, text) if text.startswith("[") else text.split()
    return text


def _json(field: Field, text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        raise _wrong(field, text, "JSON") from None


def _wrong(field: Field, text: str, wanted: str) -> PlanError:
    return PlanError(f"{field.label!r} ({field.name}) is {wanted}, not {text!r:.60}.", hint="Nothing was done.")
