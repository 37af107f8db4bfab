"""``ckpt init``: a file that the other commands take, that never replaces one, and that says what it does not know."""

from __future__ import annotations

import json
import shutil

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.query_parser import parse_query_file
from tests.pipelines.lab import Pipeline


@pytest.fixture
def lake(goldens, tmp_path, monkeypatch):
    """Two checkpoints, and an empty directory to work in."""
    for name in ("orders", "totals/_checkpoint"):
        shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "cp" / name)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("CKPT_FILE", raising=False)
    return tmp_path


def init(lake, *words: str) -> int:
    return run(["init", str(lake / "cp"), *words])


def test_the_other_commands_take_what_it_writes(lake, capsys):
    assert init(lake) == 0
    assert (
        "2 queries, 2 of 2 sources proven, 0 of 2 sinks proven, 0 times one reads what another writes"
        in capsys.readouterr().err
    )
    for command in ("show", "log", "check", "gate"):
        for name in ("orders", "totals"):
            assert run([command, name]) == 0, capsys.readouterr().err
    assert run(["lag", "orders"]) == 2  # where the files are is not known, because they are gone
    assert "no source was declared" in capsys.readouterr().err


def test_a_file_that_is_there_stays(lake, capsys):
    (lake / "work" / "ckpt.yaml").write_text("format_version: 1\n")
    assert init(lake) == 4
    assert "is there already" in capsys.readouterr().err
    assert (lake / "work" / "ckpt.yaml").read_text() == "format_version: 1\n"
    assert init(lake, "--out", "other.yaml") == 0
    assert list(parse_query_file((lake / "work" / "other.yaml").read_text()).queries) == ["orders", "totals"]


def test_it_is_printed_with_a_dash(lake, capsys):
    assert init(lake, "--out", "-") == 0
    assert list(parse_query_file(capsys.readouterr().out).queries) == ["orders", "totals"]
    assert not list((lake / "work").iterdir())


def test_the_document_says_what_the_file_says(lake, capsys):
    assert init(lake, "--out", "-", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    queries = parse_query_file(document["text"]).queries
    assert [query["name"] for query in document["queries"]] == list(queries)
    (source,) = document["queries"][0]["sources"].values()
    assert source["text"] == "file" and "sources/0/" in source["proven"][0] and source["say"]
    assert document["queries"][0]["sink"]["text"] is None and "2 checkpoints" in document["queries"][0]["sink"]["say"]


@pytest.mark.parametrize("place", ["cp/orders/ckpt.yaml", "cp/orders/offsets/ckpt.yaml"])
def test_no_checkpoint_gets_a_file(lake, place, capsys):
    assert init(lake, "--out", str(lake / place)) == 2
    assert not (lake / place).exists()


def test_without_a_checkpoint_it_ends_with_a_sentence(lake, capsys):
    (lake / "nothing").mkdir()
    assert run(["init", str(lake / "nothing")]) == 3
    assert "there is no checkpoint here" in capsys.readouterr().err
    assert run(["init", str(lake / "nowhere")]) == 3
    assert "does not exist" in capsys.readouterr().err
    assert not list((lake / "work").iterdir())


def test_an_odd_checkpoint_is_a_comment(lake, capsys):
    (lake / "cp" / "odd" / "offsets").mkdir(parents=True)
    (lake / "cp" / "odd" / "offsets" / "1").write_text("v9\n{")
    assert init(lake, "--tables", str(lake / "no-tables")) == 0
    text = (lake / "work" / "ckpt.yaml").read_text()
    assert {"orders", "totals"} <= set(parse_query_file(text).queries)
    assert f"# not read: {lake}/no-tables: the location does not exist" in text
    assert "1 not read" in capsys.readouterr().err


def test_a_specification_becomes_a_pipeline_that_the_gate_takes(shop, monkeypatch, capsys):
    made = Pipeline(shop("one_run"))
    made.write()
    monkeypatch.chdir(made.root)
    assert run(["init", "spark-pipeline.yml"]) == 0
    assert "3 queries" in capsys.readouterr().err
    assert list(parse_query_file((made.root / "ckpt.yaml").read_text()).pipelines["shop"].flows) == [
        "to_out",
        "bronze",
        "silver",
    ]
    assert run(["show", "shop.bronze", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["location"] == f"{made.flow('bronze', 'bronze')}/0"
    shutil.rmtree(made.storage)
    assert run(["init", "spark-pipeline.yml", "--out", "-"]) == 0, "a pipeline that never ran is one as well"
    text = capsys.readouterr().out
    assert parse_query_file(text).pipelines["shop"].flows == {} and text.count("# never ran: flow") == 3
    (made.root / "spark-pipeline.yml").write_text("name: shop")
    assert run(["init", "spark-pipeline.yml", "--out", "-"]) == 2
    assert "it has no storage" in capsys.readouterr().err
