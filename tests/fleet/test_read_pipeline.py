"""Reading a pipeline: its flows at their versions, and the files that define it, of which nothing is run."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.read_pipeline import see, with_pipelines
from airflow_provider_ckpt.query.query_parser import parse_query_file

SPEC = (
    "name: shop\nstorage: {root}/storage\nlibraries: [{{glob: {{include: defs/**}}}}, {{glob: {{include: one.sql}}}}]\n"
)


@pytest.fixture
def root(tmp_path):
    """The directory of a project, whose code must not be run."""
    (tmp_path / "spark-pipeline.yml").write_text(SPEC.format(root=tmp_path))
    (tmp_path / "defs" / "deep").mkdir(parents=True)
    (tmp_path / "defs" / "__pycache__").mkdir()
    python = "from pyspark import pipelines as dp\nraise SystemExit('it was run')\n@dp.table\ndef bronze(): ...\n"
    (tmp_path / "defs" / "deep" / "a.py").write_text(python)
    (tmp_path / "defs" / "__pycache__" / "b.py").write_text("def (")
    (tmp_path / "one.sql").write_text("CREATE STREAMING TABLE silver AS SELECT * FROM STREAM bronze")
    return tmp_path


def begin(root, *parts):
    """A version of a flow, and what its undo leaves beside it."""
    directory = root.joinpath("storage", "_checkpoints", *parts)
    (directory / "offsets").mkdir(parents=True)
    (directory.parent / "_ckpt_undo" / "x").mkdir(parents=True, exist_ok=True)


def test_flows_are_those_of_the_storage_and_of_the_files(root):
    for parts in (("c", "d", "bronze", "bronze", "0"), ("c", "d", "bronze", "bronze", "10"), ("out", "to_out", "2"), ("my", "out", "to_out", "0"),
                  ("c", "2024", "7", "f", "0"), ("c", "d", "bronze", "bronze", "9")):  # fmt: skip
        begin(root, *parts)
    seen = see("shop", f"{root}/spark-pipeline.yml")
    found = {
        (flow.flow.parts, flow.flow.name): (flow.flow.version, flow.replaced, flow.is_there) for flow in seen.flows
    }
    assert found == {
        (("c", "d", "bronze"), "bronze"): (10, (0, 9), True),
        (("c", "2024", "7"), "f"): (0, (), True),
        (("out",), "to_out"): (2, (), True),
        (("my", "out"), "to_out"): (0, (), True),
        (("spark_catalog", "default", "bronze"), "bronze"): (0, (), False),
        (("spark_catalog", "default", "silver"), "silver"): (0, (), False),
    }
    assert seen.definitions.not_read == []


def test_files_that_cannot_be_read_are_said(root):
    (root / "one.sql").write_bytes(b"\xff")
    (said,) = see("shop", f"{root}/spark-pipeline.yml").definitions.not_read
    assert said.startswith("one.sql cannot be read: ")
    (root / "spark-pipeline.yml").write_text(f"name: a\nstorage: {root}\nlibraries: [{{glob: {{include: no/**}}}}]")
    assert see("shop", f"{root}/spark-pipeline.yml").definitions.not_read == [
        "no file was found that defines it, at no/**"
    ]


def test_only_what_is_named_is_read(root):
    text = (
        f"format_version: 1\npipelines: {{shop: {{spec: {root}/spark-pipeline.yml}}, gone: {{spec: {root}/gone.yml}}}}"
    )
    file = parse_query_file(text, f"{root}/ckpt.yaml")
    assert with_pipelines(file, ["orders", "/c"]) == file
    begin(root, "c", "d", "bronze", "bronze", "3")
    for word in ("shop.bronze", "shop", f"{root}/storage/_checkpoints/c/d/bronze/bronze"):
        assert with_pipelines(file, [word]).queries["shop.bronze"].checkpoint.endswith("bronze/bronze/3")
    assert with_pipelines(file, ["/elsewhere/_checkpoints/c/d/t/f/0"]) == file
    for words in (["gone.bronze"], None):
        with pytest.raises(CheckpointError, match=r"gone\.yml"):
            with_pipelines(file, words)
