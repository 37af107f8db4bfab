"""The operator that writes the index of a fleet."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.documents.tasks import IndexResultDocument
from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.operators.checkpoint import CheckpointIndexOperator
from airflow_provider_ckpt.storage.store import Store
from tests.fleets import damage, make_fleet
from tests.json_documents import problems
from tests.kafka_checkpoint import commit_batch


@pytest.fixture
def root(goldens, tmp_path):
    make_fleet(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "root", ["a", "b"])
    damage(tmp_path / "root" / "b" / "offsets" / "7")
    return tmp_path / "root"


def write(index: object, roots: object, **more: object) -> object:
    return CheckpointIndexOperator(task_id="index", checkpoint_roots=roots, index=str(index), **more).execute({})


def test_it_writes_what_the_page_reads(root, tmp_path):
    deploys = {"*/a": {"sources": {"0": "rate"}}}
    result = write(tmp_path / "index", [str(root)], deploys=deploys)
    assert list(problems(result, IndexResultDocument)) == []
    assert result == {
        "format_version": 1,
        "index": str(tmp_path / "index"),
        "rows": 2,
        "errors": 1,
        "written": True,
        "left_out": 0,
    }
    index = IndexReader().read(Store.open(str(tmp_path / "index")))
    assert [(row.location, row.worst) for row in index.rows] == [(f"{root}/a", None), (f"{root}/b", "error")]


@pytest.mark.parametrize(
    ("roots", "given", "unread"),
    [(True, False, 1), (False, False, 1), (True, True, 2)],
    ids=["roots", "file", "deploys"],
)
def test_the_query_file_and_the_argument_declare_the_same(tmp_path, monkeypatch, roots, given, unread):
    for name, count in {"in": 1, "given": 2}.items():
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / f"{number}.json").write_text("{}")
    root = tmp_path / "root"
    for name in ("a", "b"):
        commit_batch(root / name, 0, '{"logOffset":-1}')
    text = f"queries: {{of_file: {{checkpoint: {root}/a, sources: ['file:{tmp_path}/in'], alert: {{rows: 9}}}}}}\n"
    (tmp_path / "ckpt.yaml").write_text(f"format_version: 1\n{text}")
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(tmp_path / "ckpt.yaml"))
    deploys = {f"{root}/a": {"sources": [f"file:{tmp_path}/given"]}} if given else None
    write(tmp_path / "index", [str(root)] if roots else None, deploys=deploys)
    index = IndexReader().read(Store.open(str(tmp_path / "index")))
    assert [row.location for row in index.rows] == [f"{root}/a", f"{root}/b"][: 2 if roots else 1]
    assert (index.rows[0].query, index.rows[0].files, index.rows[0].error) == ("of_file", unread, None)


def test_one_root_may_be_a_text_and_a_newer_index_stays(root, tmp_path, monkeypatch):
    write(tmp_path / "index", str(root))
    monkeypatch.setattr("airflow_provider_ckpt.fleet.write_index.now_ms", lambda: 1_000)
    monkeypatch.setattr("airflow_provider_ckpt.fleet.read_index._CLOCKS_DIFFER_MS", 10**14)
    assert write(tmp_path / "index", str(root))["written"] is False


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"checkpoint_roots": []}, "checkpoint_roots and index must name a location each"),
        ({"index": ""}, "checkpoint_roots and index must name a location each"),
        ({"checkpoint_roots": 5}, "checkpoint_roots must be a list of texts or one text"),
        ({"backup_roots": [5]}, "backup_roots must be a list of texts"),
        ({"deep": "yes"}, "deep must be True or False"),
        ({"deploys": {"a": 5}}, "deploys: they have 'a', which is not a mapping"),
        ({"checkpoint_roots": ["/not/there"]}, "the location does not exist"),
    ],
)
def test_what_makes_no_sense_fails_for_good_with_nothing_written(root, tmp_path, given, why):
    arguments = {"checkpoint_roots": [str(root)], "index": str(tmp_path / "index"), **given}
    with pytest.raises(AirflowFailException, match=why):
        CheckpointIndexOperator(task_id="index", **arguments).execute({})
    assert not (tmp_path / "index").exists()


def test_a_checkpoint_whose_location_is_too_long_is_counted_and_said(root, tmp_path, monkeypatch):
    said: list[str] = []
    log = SimpleNamespace(info=lambda *_: None, warning=lambda text, *values: said.append(text % values))
    monkeypatch.setattr(CheckpointIndexOperator, "log", log)
    monkeypatch.setattr("airflow_provider_ckpt.fleet.write_index.MOST_LOCATION", len(f"{root}/a") - 1)
    result = write(tmp_path / "index", str(root))
    assert (result["rows"], result["left_out"], result["written"]) == (2, 2, True)
    assert said[-1].startswith("2 checkpoints are not in the index, because a location of more than 2,048 characters")


def test_of_a_query_file_it_has_the_names_and_the_thresholds(root, tmp_path):
    (tmp_path / "ckpt.yaml").write_text(
        f"format_version: 1\nqueries: {{mine: {{checkpoint: {root}/a, sources: [rate], alert: {{age: 1ms, behind: 1h}}}}}}"
    )
    CheckpointIndexOperator(task_id="index", index=f"{tmp_path}/index", query_file=f"{tmp_path}/ckpt.yaml").execute({})
    (row,) = IndexReader().read(Store.open(f"{tmp_path}/index")).rows
    assert row.query == "mine" and row.alarms.startswith("behind not known, at most 60 min; age ")
