"""Whether a stream can read with one schema what was written with another: Delta's rules, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_ckpt.tables.delta_schema import DeltaSchema, change_between, schema_of


def column(name: str, kind: Any = "long", *, null: bool = True, physical: str = "") -> dict[str, Any]:
    metadata = {"delta.columnMapping.physicalName": physical} if physical else {}
    return {"name": name, "type": kind, "nullable": null, "metadata": metadata}


def struct(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


def array(kind: Any, *, null: bool = True) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": null}


def table(*columns: dict[str, Any], by: tuple[str, ...] = (), **properties: str) -> DeltaSchema:
    named = {f"delta.{key.replace('_', '.')}": value for key, value in properties.items()}
    return DeltaSchema("t", struct(*columns), by, named)


N, DAY = column("n"), column("day", "string")
MAPPED = {"columnMapping_mode": "name"}

CHANGES = {
    "nothing": (table(N), table(N), None),
    "a column more": (table(N), table(N, DAY), None),
    "a column less": (table(N, DAY), table(N), "types"),
    "another type": (table(N), table(column("n", "string")), "types"),
    "a wider type": (table(column("n", "integer")), table(N, enableTypeWidening="true"), "widening"),
    "another case": (table(N), table(column("N")), "types"),
    "nulls are allowed": (table(column("n", null=False)), table(N), None),
    "nulls are not allowed any more": (table(N), table(column("n", null=False)), "types"),
    "other partitions": (table(N, DAY), table(N, DAY, by=("day",)), "types"),
    "a column more inside": (table(column("s", struct(N))), table(column("s", struct(N, DAY))), None),
    "a column less inside": (table(column("s", struct(N, DAY))), table(column("s", struct(N))), "types"),
    "an array of something else": (table(column("a", array("long"))), table(column("a", array("string"))), "types"),
    "an array without nulls": (table(column("a", array("long"))), table(column("a", array("long", null=False))), "types"),
    "no array any more": (table(column("a", array("long"))), table(column("a")), "types"),
    "columns are mapped": (table(N), table(column("n", physical="n"), **MAPPED), None),
    "columns are mapped no more": (table(column("n", physical="n"), **MAPPED), table(N), "mapping"),
    "mapped, and renamed": (table(N), table(column("m", physical="n"), **MAPPED), "mapping"),
    "a rename": (table(column("n", physical="c1"), **MAPPED), table(column("m", physical="c1"), **MAPPED), "mapping"),
    "a drop": (
        table(column("n", physical="c1"), column("day", physical="c2"), **MAPPED),
        table(column("n", physical="c1"), **MAPPED),
        "mapping",
    ),
    "a drop, and a column of the same name": (
        table(column("n", physical="c1"), **MAPPED),
        table(column("n", physical="c2"), **MAPPED),
        "mapping",
    ),
    "a rename inside an array": (
        table(column("a", array(struct(column("n", physical="c2"))), physical="c1"), **MAPPED),
        table(column("a", array(struct(column("m", physical="c2"))), physical="c1"), **MAPPED),
        "mapping",
    ),
    "other partitions of mapped columns": (
        table(column("n", physical="c1"), **MAPPED),
        table(column("n", physical="c1"), by=("n",), **MAPPED),
        "mapping",
    ),
    "a mapped column more": (
        table(column("n", physical="c1"), **MAPPED),
        table(column("n", physical="c1"), column("day", physical="c2"), **MAPPED),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("written", "read", "change"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_schema(written, read, change):
    assert change_between(written, read) == change


def test_an_action_is_read():
    action = {"id": "t", "schemaString": json.dumps(struct(N)), "partitionColumns": ["n"], "configuration": {"a": "b"}}
    assert schema_of(action) == DeltaSchema("t", struct(N), ("n",), {"a": "b"})
    assert schema_of({**action, "configuration": None}).properties == {}


@pytest.mark.parametrize("action", [{}, {"id": "t"}, {"id": "t", "schemaString": "{"}])
def test_what_is_no_action_is_an_error(action):
    with pytest.raises((KeyError, ValueError)):
        schema_of(action)
