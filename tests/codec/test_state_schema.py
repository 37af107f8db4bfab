"""Schemas of state stores, as ``java.io.DataOutputStream`` writes them, whole and cut."""

from __future__ import annotations

import json
import struct

import pytest

from airflow_provider_ckpt.codec import state_schema
from airflow_provider_ckpt.codec.state_schema import ColumnFamily
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError, UnsupportedVersionError

NAME = "state/0/0/_metadata/schema"


def struct_type(*columns: tuple[str, object]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return json.dumps({"type": "struct", "fields": fields})


KEY, VALUE = struct_type(("k", "string")), struct_type(("v", "long"), ("w", json.loads(struct_type(("x", "integer")))))
COLUMNS = ((("k", "string"),), (("v", "long"), ("w", "struct")))


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def chunks(*texts: str) -> bytes:
    return struct.pack(">i", len(texts)) + b"".join(map(utf, texts))


def family(name: str, *, ids: bool) -> bytes:
    schema_id = b"\0\1" if ids else b""
    return utf(name) + schema_id + chunks(KEY) + schema_id + chunks(VALUE) + chunks("x") + chunks()


VERSION_2 = utf("v2") + chunks(KEY[:5], KEY[5:]) + chunks(VALUE)


@pytest.mark.parametrize("data", [utf("v1") + utf(KEY) + utf(VALUE), VERSION_2, VERSION_2 + b"more"])
def test_one_store_has_one_family(data):
    read = state_schema.decode(data, NAME)
    assert read.families == (ColumnFamily("default", *COLUMNS),) and read.encode() == data


@pytest.mark.parametrize("ids", [True, False], ids=["Spark 4.1", "Spark 4.0"])
@pytest.mark.parametrize("names", [(), ("a",), ("a", "b")])
def test_version_3_has_every_family_with_and_without_ids(ids, names):
    data = utf("v3") + struct.pack(">i", len(names)) + b"".join(family(name, ids=ids) for name in names)
    assert state_schema.decode(data, NAME).families == tuple(ColumnFamily(name, *COLUMNS) for name in names)


def test_an_empty_schema_is_incomplete():
    with pytest.raises(IncompleteLogFileError, match="the state schema is empty"):
        state_schema.decode(b"", NAME)


def test_a_later_schema_is_refused():
    with pytest.raises(UnsupportedVersionError, match="state schema entry has version v4"):
        state_schema.decode(utf("v4"), NAME)


@pytest.mark.parametrize("data", [VERSION_2, utf("v3") + struct.pack(">i", 1) + family("a", ids=True)])
def test_a_cut_schema_ends_early_wherever_it_is_cut(data):
    for cut in range(1, len(data) - 4, 3):
        with pytest.raises(MalformedEntryError) as refused:
            state_schema.decode(data[:cut], NAME)
        assert refused.value.spark_error == "EOFException" and refused.value.name == NAME


@pytest.mark.parametrize(
    ("data", "problem", "spark_error"),
    [
        (utf("v2") + struct.pack(">i", -1), "says that -1 parts follow", None),
        (utf("v2") + struct.pack(">i", 5_000), "says that 5000 parts follow", None),
        (utf("v1") + utf("x") + utf(VALUE), "the state schema is not JSON", "UNSUPPORTED_DATATYPE"),
        (utf("v1") + utf("[]") + utf(VALUE), "the state schema is not a JSON object", "UNSUPPORTED_DATATYPE"),
        (
            utf("v1") + utf(struct_type(("k", "longg"))) + utf(VALUE),
            "longg.*, which is not a data type",
            "UNSUPPORTED_DATATYPE",
        ),
        (
            utf("v1") + utf('{"type":"array"}') + utf(VALUE),
            "which is not a data type of Spark's",
            "UNSUPPORTED_DATATYPE",
        ),
    ],
)
def test_what_is_no_schema(data, problem, spark_error):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        state_schema.decode(data, NAME)
    assert spark_error is None or refused.value.spark_error == spark_error
