"""Reading the steps of a plan that was written as JSON: whatever is no step is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from airflow_provider_ckpt.change.plan.actions import (
    PLACES,
    Action,
    Clear,
    Close,
    Copy,
    Create,
    Delete,
    Open,
    Repartition,
    Replace,
)
from airflow_provider_ckpt.change.plan.facts import Place
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.fields import Fields, shown

_FIELDS = ("do", "name", "place", "size", "identity", "sha256", "source", "data")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PARTITIONS = re.compile(r"[1-9][0-9]{0,8}")


def action_from_dict(value: Any) -> Action:
    """The action that ``to_dict`` wrote. Raises PlanError for anything else."""
    fields = Fields("an action", value, _FIELDS)
    parse = _PARSERS[fields.one_of("do", tuple(_PARSERS))]
    action = parse(fields, _name(fields), _place(fields))
    if action.to_dict() != dict(value):
        raise PlanError(f"not a plan: the {action.do} of {shown(action.name)} has fields of another action.")
    return action


def _delete(fields: Fields, name: str, place: Place) -> Action:
    action = Delete(name, place, fields.number("size"), fields.text("identity"), _sha256(fields))
    if not (action.identity or action.sha256):
        raise PlanError(f"not a plan: the delete of {shown(name)} does not say which content is to be deleted.")
    return action


def _copy(fields: Fields, name: str, place: Place) -> Action:
    source = fields.text("source")
    if source:
        _require_relative(source)
    identity = fields.text("identity")
    if identity and not source:
        raise PlanError(f"not a plan: the copy of {shown(name)} does not say from which object it comes.")
    return Copy(name, place, fields.number("size"), _sha256(fields), source, identity)


def _create(fields: Fields, name: str, place: Place) -> Action:
    return Create(name, place, fields.text("data", longest=None))


def _replace(fields: Fields, name: str, place: Place) -> Action:
    data = fields.text("data", longest=None)
    action = Replace(name, place, fields.number("size"), fields.text("identity"), _sha256(fields), data)
    if not (action.identity and action.sha256_before):
        raise PlanError(f"not a plan: the replace of {shown(name)} does not say which content is to be replaced.")
    return action


def _repartition(fields: Fields, name: str, place: Place) -> Action:
    text = fields.text("data")
    if not _PARTITIONS.fullmatch(text) or place != "checkpoint":
        raise fields.wrong("data", "a number of partitions")
    return Repartition(name, place, int(text))


def _clear(fields: Fields, name: str, place: Place) -> Action:
    return Clear(name, place)


def _close(fields: Fields, name: str, place: Place) -> Action:
    return Close(_next_entry(name, place), place)


def _open(fields: Fields, name: str, place: Place) -> Action:
    return Open(_next_entry(name, place), place)


def _next_entry(name: str, place: Place) -> str:
    entry = layout.parse(name)
    if place != "checkpoint" or not isinstance(entry, layout.LogEntry) or entry.log != layout.OFFSETS:
        raise PlanError(f"not a plan: {shown(name)} is not an offset entry, with which a checkpoint can be closed.")
    return name


_PARSERS: dict[str, Callable[[Fields, str, Place], Action]] = {
    "delete": _delete,
    "copy": _copy,
    "create": _create,
    "replace": _replace,
    "repartition": _repartition,
    "clear": _clear,
    "close": _close,
    "open": _open,
}


def _name(fields: Fields) -> str:
    return _require_relative(fields.text("name"))


def _require_relative(name: str) -> str:
    inside = f"/{name}/"
    if "//" in inside or "/../" in inside or "/./" in inside or "\\" in name or "\0" in name:
        raise PlanError(f"not a plan: {shown(name)} is not a name inside a location.")
    return name


def _place(fields: Fields) -> Place:
    wanted = fields.one_of("place", PLACES)
    return next(place for place in PLACES if place == wanted)


def _sha256(fields: Fields) -> str:
    value = fields.text("sha256")
    if value and not _SHA256.fullmatch(value):
        raise fields.wrong("sha256", "a SHA-256 in hex")
    return value
