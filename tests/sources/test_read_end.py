"""Where a batch of a Kinesis source ended: the entry of the next batch says it, or the side files of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, MalformedEntryError, PlanError
from airflow_provider_ckpt.sources.position import Position
from airflow_provider_ckpt.sources.read_end import read_end
from airflow_provider_ckpt.storage.store import Store

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
def query(tmp_path) -> Query:
    return Query(tmp_path)


def test_an_entry_of_any_other_source_says_itself_where_it_ended(query):
    position = Position("file:/c", "q", "0", 4, SourceOffset('{"t":{"0":5}}'))
    assert read_end(Store.open(str(query.root)), position, "kafka") == position.offset


def test_the_next_entry_says_it_and_knows_the_shards_that_follow_an_ended_one(query):
    began, following = offset(4, s0=after(1), s1=TRIM), offset(5, s0=after(9), s2=TRIM)
    query.plan(5, following)
    query.side(4, A, after(9))
    assert query.end(4, began) == following


def test_a_batch_without_data_repeats_the_entry(query):
    began, following = offset(4, s0=after(1)), offset(5, s0=after(9))
    query.plan(5, began)
    query.plan(6, following)
    assert query.end(4, began) == following


def test_without_a_next_entry_the_side_files_say_it(query):
    query.side(4, A, after(9, part=3))
    query.side(4, B, after(7))
    assert query.end(4, offset(4, s0=after(1), s1=TRIM)) == offset(5, s0=after(9, part=3), s1=after(7))


def test_a_shard_without_a_side_file_is_where_it_began(query):
    query.side(4, A, after(9))
    assert query.end(4, offset(4, s0=after(1), s1=TRIM)) == offset(5, s0=after(9), s1=TRIM)


def test_side_files_of_other_shards_do_not_count(query):
    query.side(4, A, after(9))
    query.side(4, C, after(3))
    assert query.end(4, offset(4, s0=after(1))) == offset(5, s0=after(9))


def test_an_entry_of_much_later_says_nothing_of_this_batch(query):
    query.plan(5, offset(7, s0=after(99)))
    query.side(4, A, after(9))
    assert query.end(4, offset(4, s0=after(1))) == offset(5, s0=after(9))


def test_without_either_it_is_refused(query):
    query.side(3, A, after(9))
    with pytest.raises(PlanError, match="says where its batch begins, and the batch after 4 is not planned") as refused:
        query.end(4, offset(4, s0=after(1)))
    assert "DYNAMODB" in refused.value.hint and refused.value.name == "offsets/4"


def test_the_children_of_an_ended_shard_are_not_guessed(query):
    query.side(4, A, END)
    with pytest.raises(PlanError, match=f"has read the shard {A} to its end, and which shards follow it"):
        query.end(4, offset(4, s0=after(1)))


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"iteratorType":"X","iteratorPosition":"5"}', b"5" * 70_000]
)
def test_a_broken_side_file_is_a_format_error_that_names_it(query, data):
    query.side(4, A, after(9))
    (query.root / f"sources/0/shard-source/4/{A}").write_bytes(data)
    with pytest.raises(CheckpointFormatError) as broken:
        query.end(4, offset(4, s0=after(1)))
    assert broken.value.name == f"sources/0/shard-source/4/{A}" and len(str(broken.value)) < 300


@pytest.mark.parametrize("counter", ["", "x", "-1", "9" * 30])
def test_an_offset_without_its_number_is_refused(query, counter):
    text = json.dumps({"metadata": {"batchId": counter}, A: after(1)})
    with pytest.raises(MalformedEntryError, match="does not have the number of its batch"):
        query.end(4, text)
