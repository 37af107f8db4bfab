"""The columns of all epochs together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from airflow_provider_ckpt.errors import StoreError


def merged_schema(schemas: Iterable[str], location: str) -> dict[str, Any]:
    """Every column that any epoch has, in the order in which they came, each of which may be null.

    Args:
        schemas: Spark's ``StructType`` as JSON text, the oldest first.
        location: For the error.

    Raises:
        StoreError: A column has two types.
    """
    fields: dict[str, dict[str, Any]] = {}
    for schema in schemas:
        for field in json.loads(schema)["fields"]:
            known = fields.setdefault(field["name"], {**field, "nullable": True})
            if known["type"] != field["type"]:
                raise StoreError(
                    f"the column {field['name']!r} has the type {json.dumps(known['type'])} in some epochs and "
                    f"{json.dumps(field['type'])} in later ones, so they cannot be read as one table.",
                    location=location,
                    hint="Write the stream with the new type to another path, with another checkpoint location.",
                )
    return {"type": "struct", "fields": list(fields.values())}
