"""Absolute paths inside a checkpoint change, and no other byte does."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.embedded_paths import paths_of, with_paths

OPERATOR = "state/0/_metadata/v2/0"


def test_the_files_of_real_checkpoints_that_hold_paths(goldens):
    found = {}
    for case in ("file-to-parquet-12", "join-state-format-3", "agg-hdfs", "rate"):
        home = goldens[f"4.3.0/{case}"]
        for path in sorted(home.rglob("*")):
            name = path.relative_to(home).as_posix().removeprefix("checkpoint/").removeprefix("output/")
            if path.is_file() and not path.name.startswith("."):
                number = len(paths_of(codec.decode(name, path.read_bytes())))
                found[case, name.partition("/")[0]] = found.get((case, name.partition("/")[0]), 0) + number
    with_some = {key: number for key, number in found.items() if number}
    assert {case for case, where in with_some if where == "sources"} == {
        "file-to-parquet-12",
        "agg-hdfs",
        "join-state-format-3",
    }
    assert {case for case, where in with_some if where == "_spark_metadata"} >= {"file-to-parquet-12"}
    assert {case for case, where in with_some if where == "state"} == {"join-state-format-3"}


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("file-to-parquet-12", "checkpoint/sources/0/9.compact"),
        ("file-to-parquet-12", "output/_spark_metadata/10"),
        ("transform-with-state", f"checkpoint/{OPERATOR}"),
    ],
)
def test_a_file_of_spark_with_other_paths_is_what_spark_would_have_written(goldens, case, name):
    data = (goldens[f"4.3.0/{case}"] / name).read_bytes()
    inside = name.partition("/")[2]
    moved = with_paths(inside, codec.decode(inside, data), lambda path: path.replace("/golden/", "/elsewhere/"))
    assert moved != data
    assert moved == data.replace(b"/golden/", b"/elsewhere/")


def move(path: str) -> str:
    return path.replace("file:///in", "s3://out")


def test_a_path_in_a_spelling_of_its_own_is_written_as_spark_would():
    before = b'v1\n{"path":"file:\\/\\/\\/in\\/a","timestamp":1,"batchId":0}'
    entry = codec.decode("sources/0/0", before)
    assert with_paths("sources/0/0", entry, move) == b'v1\n{"path":"s3://out/a","timestamp":1,"batchId":0}'


def test_where_no_path_moves_the_bytes_stay():
    before = b'v1\n{ "path":"file:\\/\\/\\/else","timestamp":1,"batchId":0}\n'
    assert with_paths("sources/0/0", codec.decode("sources/0/0", before), move) == before


def test_unknown_fields_order_spaces_and_line_ends_stay():
    before = 'v1\r\n{"batchId": 3, "timestamp":1, "more":"x", "path" : "file:///in/ä"}\r\n'
    entry = codec.decode("sources/0/3", before.encode())
    assert with_paths("sources/0/3", entry, move) == before.replace("file:///in", "s3://out").encode()
