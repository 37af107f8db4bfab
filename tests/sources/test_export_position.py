"""What is exported of each committed batch: of both versions of the log, of several sources, never of a planned batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, MalformedEntryError, PlanError
from airflow_provider_ckpt.sources.export_position import export_position, read_end
from airflow_provider_ckpt.sources.position import Position
from airflow_provider_ckpt.storage.store import Store
from tests.views import METADATA

BATCHES = 4


def shard(number: int) -> dict[str, str]:
    return {
        "iteratorType": "AFTER_SEQUENCE_NUMBER",
        "iteratorPosition": str(number),
        "subSequenceNumber": "-1",
        "isLast": "true",
    }


def kinesis(batch_id: int) -> str:
    value = {"metadata": {"streamName": "s", "batchId": str(batch_id)}, "shardId-0": shard(100 * batch_id)}
    return json.dumps(value, separators=(",", ":"))


#: By name: the offset in the entry of each batch, the form, and its text after each batch.
SOURCES = {
    "orders": (
        lambda batch: f'{{"orders":{{"1":{7 * batch},"0":{batch}}}}}',
        {
            "startingOffsets": lambda batch: f'{{"orders":{{"0":{batch},"1":{7 * batch}}}}}',
            "csv": lambda batch: f"orders,0,{batch}\norders,1,{7 * batch}",
        },
    ),
    "audit": (
        lambda batch: (
            f'{{"sourceVersion":1,"reservoirId":"r","reservoirVersion":{batch},"index":-1,"isStartingVersion":false}}'
        ),
        {"startingVersion": str},
    ),
    "clicks": (kinesis, {"startingPosition": lambda batch: kinesis(batch + 1)}),
}


@pytest.fixture(params=[1, 2])
def query(request, tmp_path) -> tuple[Store, dict[str, str]]:
    """Three sources; batches are committed but for the last one, which is planned. And the id of each source."""
    store = Store.open(str(tmp_path))
    ids = {name: name if request.param == 2 else str(number) for number, name in enumerate(SOURCES)}
    store.create("metadata", METADATA)
    for batch in range(BATCHES + 1):
        offsets = [(ids[name], SourceOffset(at(batch))) for name, (at, _) in SOURCES.items()]
        entry = OffsetSeq(request.param, OffsetSeqMetadata(0, 1_000 + batch, {}), tuple(offsets))
        store.create(f"offsets/{batch}", entry.encode())
        if batch < BATCHES:
            store.create(f"commits/{batch}", b"v1\n{}")
    return store, ids


CASES = [(name, form) for name, (_, forms) in SOURCES.items() for form in forms]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_the_text_of_each_committed_batch(query, name, form):
    store, ids = query
    text_after = SOURCES[name][1][form]
    for batch in range(BATCHES):
        exported = export_position(store, form, ids[name], batch)
        assert (exported.source_id, exported.batch_id, exported.text) == (ids[name], batch, text_after(batch))
    newest = export_position(store, form, ids[name])
    assert (newest.batch_id, newest.text) == (BATCHES - 1, text_after(BATCHES - 1))


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_planned_batch_is_no_position(query, name, form):
    store, ids = query
    with pytest.raises(CheckpointNotFoundError, match="the commit log does not have this batch"):
        export_position(store, form, ids[name], BATCHES)


@pytest.mark.parametrize(
    ("name", "form"), [("orders", "startingVersion"), ("audit", "startingPosition"), ("clicks", "startingOffsets")]
)
def test_the_form_of_another_source_is_refused(query, name, form):
    store, ids = query
    with pytest.raises(MalformedEntryError, match="not an offset of the source type"):
        export_position(store, form, ids[name])


A, B, C = (f"shardId-00000000000{number}" for number in range(3))


def after(number: int, part: int = -1) -> dict:
    return {
        "iteratorType": "AFTER_SEQUENCE_NUMBER",
        "iteratorPosition": str(number),
        "subSequenceNumber": str(part),
        "isLast": "true",
    }


END = {"iteratorType": "SHARD_END", "iteratorPosition": "", "subSequenceNumber": "-1", "isLast": "true"}
TRIM = {"iteratorType": "TRIM_HORIZON", "iteratorPosition": "", "subSequenceNumber": "-1", "isLast": "true"}


def offset(counter: int, **shards: dict) -> str:
    value = {
        "metadata": {"streamName": "s", "batchId": str(counter)},
        **{f"shardId-00000000000{name[1:]}": at for name, at in shards.items()},
    }
    return json.dumps(value, separators=(",", ":"))


class Query:
    """Entries and side files as the connector writes them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def plan(self, batch_id: int, text: str) -> None:
        (self.root / "offsets").mkdir(exist_ok=True)
        (self.root / f"offsets/{batch_id}").write_text(f"v1\n{{}}\n{text}")

    def side(self, counter: int, shard_id: str, at: dict) -> None:
        fields = {
            "shardId": shard_id,
            **at,
            "subSequenceNumber": int(at["subSequenceNumber"]),
            "isLast": at["isLast"] == "true",
        }
        directory = self.root / f"sources/0/shard-source/{counter}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / shard_id).write_text(json.dumps(fields))

    def end(self, batch_id: int, text: str) -> str:
        position = Position("file:/c", "q", "0", batch_id, SourceOffset(text))
        return read_end(Store.open(str(self.root)), position, "kinesis").json


@pytest.fixture
def shards_query(tmp_path) -> Query:
    return Query(tmp_path)


def test_an_entry_of_any_other_source_says_itself_where_it_ended(shards_query):
    position = Position("file:/c", "q", "0", 4, SourceOffset('{"t":{"0":5}}'))
    assert read_end(Store.open(str(shards_query.root)), position, "kafka") == position.offset


def test_the_next_entry_says_it_and_knows_the_shards_that_follow_an_ended_one(shards_query):
    began, following = offset(4, s0=after(1), s1=TRIM), offset(5, s0=after(9), s2=TRIM)
    shards_query.plan(5, following)
    shards_query.side(4, A, after(9))
    assert shards_query.end(4, began) == following


def test_a_batch_without_data_repeats_the_entry(shards_query):
    began, following = offset(4, s0=after(1)), offset(5, s0=after(9))
    shards_query.plan(5, began)
    shards_query.plan(6, following)
    assert shards_query.end(4, began) == following


def test_without_a_next_entry_the_side_files_say_it(shards_query):
    shards_query.side(4, A, after(9, part=3))
    shards_query.side(4, B, after(7))
    assert shards_query.end(4, offset(4, s0=after(1), s1=TRIM)) == offset(5, s0=after(9, part=3), s1=after(7))


def test_a_shard_without_a_side_file_is_where_it_began(shards_query):
    shards_query.side(4, A, after(9))
    assert shards_query.end(4, offset(4, s0=after(1), s1=TRIM)) == offset(5, s0=after(9), s1=TRIM)


def test_side_files_of_other_shards_do_not_count(shards_query):
    shards_query.side(4, A, after(9))
    shards_query.side(4, C, after(3))
    assert shards_query.end(4, offset(4, s0=after(1))) == offset(5, s0=after(9))


def test_an_entry_of_much_later_says_nothing_of_this_batch(shards_query):
    shards_query.plan(5, offset(7, s0=after(99)))
    shards_query.side(4, A, after(9))
    assert shards_query.end(4, offset(4, s0=after(1))) == offset(5, s0=after(9))


def test_without_either_it_is_refused(shards_query):
    shards_query.side(3, A, after(9))
    with pytest.raises(PlanError, match="says where its batch begins, and the batch after 4 is not planned") as refused:
        shards_query.end(4, offset(4, s0=after(1)))
    assert "DYNAMODB" in refused.value.hint and refused.value.name == "offsets/4"


def test_the_children_of_an_ended_shard_are_not_guessed(shards_query):
    shards_query.side(4, A, END)
    with pytest.raises(PlanError, match=f"has read the shard {A} to its end, and which shards follow it"):
        shards_query.end(4, offset(4, s0=after(1)))


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"iteratorType":"X","iteratorPosition":"5"}', b"5" * 70_000]
)
def test_a_broken_side_file_is_a_format_error_that_names_it(shards_query, data):
    shards_query.side(4, A, after(9))
    (shards_query.root / f"sources/0/shard-source/4/{A}").write_bytes(data)
    with pytest.raises(CheckpointFormatError) as broken:
        shards_query.end(4, offset(4, s0=after(1)))
    assert broken.value.name == f"sources/0/shard-source/4/{A}" and len(str(broken.value)) < 300


@pytest.mark.parametrize("counter", ["", "x", "-1", "9" * 30])
def test_an_offset_without_its_number_is_refused(shards_query, counter):
    text = json.dumps({"metadata": {"batchId": counter}, A: after(1)})
    with pytest.raises(MalformedEntryError, match="does not have the number of its batch"):
        shards_query.end(4, text)
