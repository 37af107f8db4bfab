"""Entries of ``saved.json`` on each object that a change has saved, and the attributes read back from it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.change.plan.facts import Saved
from airflow_provider_ckpt.storage.access import Attributes, access

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import AttributeFields, SavedObjectFields

#: What a disk may hold as owner, group, mode and time, which may be before 1970.
_MOST_ID, _MOST_MODE, _MOST_NS = 1 << 32, 0o7777, 1 << 63


def saved_fields(size: int, sha256: str, attributes: Attributes | None) -> SavedObjectFields:
    """JSON-ready: an object that was copied; one that has got a second name keeps what it has by itself."""
    fields: SavedObjectFields = {"size": size, "sha256": sha256}
    if attributes is not None:
        fields["attributes"] = _attribute_fields(attributes)
    return fields


def _attribute_fields(attributes: Attributes) -> AttributeFields:
    return {
        "owner": int(attributes.access.owner),
        "group": int(attributes.access.group),
        "mode": attributes.access.mode,
        "modified_ns": attributes.modified_ns,
        "extended": {name: base64.b64encode(value).decode() for name, value in attributes.extended.items()},
    }


def saved_from(fields: Any) -> Saved:
    """Parse the entry of an object. Raises TypeError, KeyError, ValueError or AttributeError for anything else."""
    told = fields.get("attributes")
    return Saved(int(fields["size"]), str(fields["sha256"]), None if told is None else _attributes_from(told))


def _attributes_from(told: Any) -> Attributes:
    owner, group, mode = (_bounded(told[key], most) for key, most in _KEYS)
    modified = told["modified_ns"]
    extended = {str(name): base64.b64decode(value, validate=True) for name, value in told["extended"].items()}
    return Attributes(
        access(owner, group, mode), extended, None if modified is None else _bounded(modified, _MOST_NS, -_MOST_NS)
    )


_KEYS = (("owner", _MOST_ID), ("group", _MOST_ID), ("mode", _MOST_MODE))


def _bounded(value: Any, most: int, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(value)
    return value
