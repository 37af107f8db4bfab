"""Data types in a state schema: those that Spark reads, and those at which it stops."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec import state_schema
from airflow_provider_ckpt.codec.state_schema import unknown_type
from airflow_provider_ckpt.errors import MalformedEntryError

LONG = {"name": "a", "type": "long", "nullable": True, "metadata": {}}


def struct(*fields: object, **more: object) -> dict[str, object]:
    return {"type": "struct", "fields": list(fields), **more}


READ = [
    *("null", "void", "boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "timestamp_ltz", "interval", "variant", "decimal", "decimal(38,0)"),
    *("decimal( 10 , 2 )", "char(3)", "varchar(3)", "string collate UTF8_LCASE", "time(6)", "timestamp_ntz(9)"),
    *("interval day to second", "interval hour to minute", "interval second", "interval year to month"),
    *("geometry(OGC:CRS84)", "geography(OGC:CRS84, SPHERICAL)"),
    struct(),
    struct(LONG, LONG),
    struct({"name": "a", "type": "long"}),
    struct({**LONG, "type": struct(LONG)}),
    {"type": "array", "elementType": "long", "containsNull": True},
    {"type": "map", "keyType": "string", "valueType": struct(LONG), "valueContainsNull": False},
    {"type": "udt", "pyClass": "a.b", "serializedClass": "x", "sqlType": "long"},
]
NOT_READ = [
    *("", "lonf", "Long", " long", "int", "bigint", "bool", "any", "time", "decimal(10)", "decimal(39,2)"),
    *("decimal(5,9)", "decimal(1,2)x", "string()", "timestamp_ltz(3)", "interval month to year", "geometry(any)"),
    *(None, [], 5, {}, {"type": "struct"}, {"fields": []}, {"type": "strucu", "fields": []}),
    *(struct(x=1), struct(None), struct({**LONG, "x": 1}), struct({**LONG, "nullable": 1}), struct({"type": "long"})),
    *(struct({**LONG, "metadata": None}), struct({**LONG, "type": "lonf"}), struct({**LONG, "name": 5})),
    {"type": "array", "elementType": "long"},
    {"type": "array", "elementType": "lonf", "containsNull": True},
    {"type": "map", "keyType": "string", "valueType": "long"},
]


@pytest.mark.parametrize("data_type", READ, ids=str)
def test_what_spark_reads(data_type):
    assert unknown_type(data_type) is None


@pytest.mark.parametrize("data_type", NOT_READ, ids=str)
def test_what_spark_does_not_read(data_type):
    assert unknown_type(data_type) is not None


@pytest.mark.spark
def test_spark_agrees(spark):
    def is_read(data_type: object) -> bool:
        try:
            spark._jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(data_type))
        except Exception:
            return False
        return True

    assert [kind for kind in READ if not is_read(kind)] == []
    assert [kind for kind in NOT_READ if is_read(kind)] == []


def test_a_type_in_a_deep_place_is_seen():
    deep: object = "lonf"
    for _ in range(5_000):
        deep = {"type": "array", "elementType": deep, "containsNull": True}
    assert unknown_type(deep) == '"lonf"'


@pytest.mark.parametrize("schema", ["null", "{", '"long"', json.dumps(struct({**LONG, "type": "lonf"}))])
def test_a_schema_that_spark_does_not_read_is_told_by_sparks_error(schema):
    text = schema.encode()
    data = b"\0\2v2" + (b"\0\0\0\1" + len(text).to_bytes(2, "big") + text) * 2
    with pytest.raises(MalformedEntryError) as caught:
        state_schema.decode(data, "state/0/0/_metadata/schema")
    assert caught.value.spark_error == "UNSUPPORTED_DATATYPE"
