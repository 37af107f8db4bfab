"""Which sources are asked, and with what: the table itself is another module's (``test_judge_delta.py``)."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.source import Source, parse_by_id, parse_source
from airflow_provider_ckpt.sources.delta import judge as judge_delta
from airflow_provider_ckpt.sources.judge_tables import fitting, judge_tables
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch, plan_batch
from tests.oracle.mutations import mutate

PLACES = {
    source_id: parse_source(text, source_id)
    for source_id, text in {"0": "delta:/lake/orders", "1": "kafka:h:9092", "2": "rate"}.items()
}


def delta(version: int) -> str:
    """A position in a table."""
    return f'{{"sourceVersion":1,"reservoirId":"r","reservoirVersion":{version},"index":-1,"isStartingVersion":false}}'


@pytest.fixture
def asked(monkeypatch) -> list[TableAtRestart]:
    """The sources that were asked."""
    asked: list[TableAtRestart] = []
    monkeypatch.setattr(
        judge_delta, "judge", lambda at, declared, access: asked.append(at) or TableLosses(unknown=("x",))
    )
    return asked


def judge(home, options=None, **more) -> TableLosses:
    store = Store.open(str(home))
    return judge_tables(observe(store), PLACES, options or {}, Access(Store.open, store), 7, **more)


def test_a_table_is_asked_with_the_offsets_around_the_start(tmp_path, asked):
    for batch_id in range(3):
        commit_batch(tmp_path, batch_id, delta(batch_id), "{}", "5")
    plan_batch(tmp_path, 3, delta(3), "{}", "5")
    found = judge(tmp_path, {"0.skipChangeCommits": "true", "1.failOnDataLoss": "false"}, trigger="availableNow")
    assert found == TableLosses(unknown=("x",))
    (at,) = asked
    offsets = [offset and offset.json for offset in (at.before, at.committed, at.planned)]
    assert offsets == [None, delta(2), delta(3)], "with a batch in flight, nobody asks for the one before"
    assert (at.checkpoint, at.source_id, at.source.text, at.batch_id) == (str(tmp_path), "0", "delta:/lake/orders", 2)
    assert (at.options, at.now_ms, at.trigger) == ({"skipchangecommits": "true"}, 7, "availableNow")


def test_a_committed_batch_has_one_before(tmp_path, asked):
    for batch_id in range(3):
        commit_batch(tmp_path, batch_id, delta(batch_id), "{}", "5")
    judge(tmp_path)
    assert [(at.before and at.before.json, at.planned) for at in asked] == [(delta(1), None)]


def test_the_first_batch_has_none_before(tmp_path, asked):
    commit_batch(tmp_path, 0, delta(0), "{}", "5")
    judge(tmp_path)
    assert [(at.before, at.planned) for at in asked] == [(None, None)]


def test_a_query_without_a_position_is_not_judged(tmp_path, asked):
    plan_batch(tmp_path, 0, "{}", "{}", "5")
    assert judge(tmp_path) == TableLosses(unknown=("data loss of source 0",))
    assert asked == []


def test_a_query_without_a_batch_begins_anew(tmp_path, asked):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    (tmp_path / "metadata").write_text('{"id":"7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}')
    assert judge(tmp_path) == TableLosses()


def test_an_option_that_is_not_known_is_an_error(tmp_path, asked):
    commit_batch(tmp_path, 0, delta(0), "{}", "5")
    with pytest.raises(ValueError, match="is no option of a source"):
        judge(tmp_path, {"0.skipChanges": "true"})


@pytest.mark.parametrize(
    ("place", "answer"),
    [
        ("delta:/t", True),
        ("DELTA:/t", True),
        ("delta", False),
        ("delta:", False),
        ("kafka:h:1", False),
        ("rate", False),
    ],
)
def test_a_type_and_a_place_are_needed(place, answer):
    assert parse_source(place).is_stored is answer


@pytest.mark.parametrize("line", ["insert offsets/{N} 1 ''", "insert offsets/{N} 2 ''", "line offsets/{N} 2 hello",
                                  "line offsets/{N-1} 2 '{\"logOffset\":\"3\"}'"])  # fmt: skip
def test_an_offset_of_another_type(line, golden):
    checkpoint = golden("file-to-parquet-5")
    store, declared = Store.open(str(checkpoint)), parse_by_id({"0": "file:/landing"})
    assert fitting(observe(store), declared) == declared
    mutate(checkpoint, [line])
    assert fitting(observe(store), declared) == {}
    assert fitting(observe(store), {"0": Source("0")}).keys() == {"0"}, "of no type is nothing wrong"
