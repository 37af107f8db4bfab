"""What a few bytes can stand for has a bound: brace patterns, gzip, Avro, YAML. Each is an error, in little memory."""

from __future__ import annotations

import gzip
import io
import time
import tracemalloc
from pathlib import Path

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS, MOST_YAML_DEPTH, parse_yaml
from airflow_provider_ckpt.sources.file.end import MOST_PATTERNS, covered
from airflow_provider_ckpt.untrusted.limits import MIB, TABLE_METADATA_BYTES
from tests.goldens import unpack
from tests.sinks.conftest import RECORDED, marker

# --- braces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        ("{a,b}*", ["a1/x", "b1/x"]),
        ("{a,b}{1,2}", ["a1/x", "b1/x"]),
        ("{" + ",".join(["a1"] * MOST_PATTERNS) + "}", ["a1/x"]),
    ],
)
def test_braces_are_what_they_stand_for(pattern, read):
    assert covered(["a1/x", "b1/x", "c1/x"], pattern) == read


@pytest.mark.parametrize("pattern", ["{a,b}" * 10, "{a,b}" * 10_000, "{" + "," * MOST_PATTERNS + "}"])
def test_a_pattern_that_stands_for_too_many_is_refused_at_once(pattern):
    began = time.process_time()
    with pytest.raises(StoreError, match="more than 1,000 alternatives"):
        covered(["a"], pattern)
    assert time.process_time() - began < 2


# --- gzip ------------------------------------------------------------------------------------------------------------


def iceberg(directory: Path, data: bytes) -> str:
    (directory / "metadata").mkdir()
    (directory / "metadata" / "v1.gz.metadata.json").write_bytes(data)
    return f"iceberg:{directory}"


def test_gzip_is_unpacked_up_to_the_bound(tmp_path):
    """A file of some kilobytes stands for many megabytes; no more is unpacked than one byte past the bound."""
    chunk, packed = bytes(16 * MIB), io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(4):
            file.write(chunk)
    assert len(packed.getvalue()) < MIB
    with pytest.raises(StoreError, match="larger than 32 MiB"):
        marker(iceberg(tmp_path, packed.getvalue()), "q", 1)


GZIP = {
    "cut": gzip.compress(b"{}")[:-9],
    "two bytes": b"\x1f\x8b",
    "nonsense": b"\x1f\x8b\x08\x00nonsense",
    "brackets": gzip.compress(b"[" * MIB),
}


@pytest.mark.parametrize("data", GZIP.values(), ids=GZIP)
def test_gzip_that_is_cut_or_nonsense_is_an_error_that_names_the_file(tmp_path, data):
    with pytest.raises(StoreError) as refused:
        marker(iceberg(tmp_path, data), "q", 1)
    assert refused.value.name.endswith("v1.gz.metadata.json")


# --- Avro ------------------------------------------------------------------------------------------------------------

_SCHEMA = {"type": "record", "name": "c", "fields": [{"name": "operationType", "type": "string"}]}


def avro(text: str, codec: str) -> bytes:
    import fastavro

    written = io.BytesIO()
    fastavro.writer(written, _SCHEMA, [{"operationType": text}], codec=codec)
    return written.getvalue()


AVRO = {
    "larger than is read": avro("x" * (TABLE_METADATA_BYTES + 1), "null"),
    "cut": avro("x" * 100, "null")[:-30],
    "a header alone": b"Obj\x01",
    "a block that says it is longer than any": avro("x", "null")[:-19] + b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" * 2,
}


@pytest.mark.parametrize("case", AVRO)
def test_avro_within_its_bounds_or_an_error_that_names_the_commit(tmp_path, case):
    table = unpack(RECORDED / "hudi-6.tar.gz", tmp_path) / "table"
    newest = max((table / ".hoodie").glob("*.commit"))
    newest.write_bytes(AVRO[case])
    tracemalloc.start()
    try:
        with pytest.raises(StoreError) as refused:
            marker(f"hudi:{table}", "any", 2)
        assert newest.name in (refused.value.name or "")
        assert tracemalloc.get_traced_memory()[1] < 4 * TABLE_METADATA_BYTES
    finally:
        tracemalloc.stop()


# --- YAML ------------------------------------------------------------------------------------------------------------

YAML = {
    "aliases": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", r"line 2 has the alias \*a"),
    "the JSON is nested too deep": (
        "confs: " + "[" * (MOST_YAML_DEPTH + 1),
        f"nested deeper than {MOST_YAML_DEPTH} levels",
    ),
    "brackets without an end": ("[" * 100_000, f"nested deeper than {MOST_YAML_DEPTH} levels"),
    "too long": ("#" * (MOST_YAML_CHARS + 1), "more than 1,048,576 characters"),
}


@pytest.mark.parametrize(("text", "said"), YAML.values(), ids=YAML)
def test_yaml_out_of_bounds_is_refused_at_once(text, said):
    began = time.process_time()
    with pytest.raises(ValueError, match=said):
        parse_yaml(text)
    assert time.process_time() - began < 5
