"""What a batch read, by where its source's entries stand: at the end of a batch, or at its beginning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.changes.rollback.goal import ToOffsets, choose
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.storage.store import Store
from tests.distributions import PAGES, install, on_path


def shard(position: str, kind: str = "AFTER_SEQUENCE_NUMBER") -> str:
    value = {"iteratorType": kind, "iteratorPosition": position, "subSequenceNumber": "-1", "isLast": "true"}
    return json.dumps({"metadata": {"streamName": "s", "batchId": "1"}, "shardId-0": value})


def entry(offset: str) -> OffsetSeq:
    return OffsetSeq(1, None, (("0", SourceOffset(offset)),))


#: Batch 0 begins at the start of the stream, batch 1 after record 5, batch 2 after record 9.
KINESIS = {0: entry(shard("", "TRIM_HORIZON")), 1: entry(shard("5")), 2: entry(shard("9"))}


@pytest.mark.parametrize(("limit", "batch"), [("5", 0), ("8", 0), ("9", 1), ("99", 1)])
def test_a_kinesis_batch_ends_where_the_next_one_begins(limit, batch):
    """Batch 2 is the newest, so where it ended is not known: nobody goes back to it by offsets."""
    target = ToOffsets({"0": shard(limit)}, {"0": "kinesis"})
    assert choose(target, [(number, KINESIS[number]) for number in (2, 1, 0)]) == batch


def test_a_batch_in_flight_says_where_the_one_before_ended():
    target = ToOffsets({"0": shard("9")}, {"0": "kinesis"})
    assert choose(target, [(1, KINESIS[1]), (0, KINESIS[0])], (2, KINESIS[2])) == 1
    assert choose(target, [(1, KINESIS[1]), (0, KINESIS[0])], (3, KINESIS[2])) == 0, "not right after it"


@pytest.fixture
def kinesis_checkpoint(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoint"
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"5c0c7a5e-7a1c-4b4d-9a55-1d1b7a2f9b10"}')
    for batch, seq in KINESIS.items():
        (checkpoint / "offsets" / str(batch)).write_text(
            'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}\n' + seq.offsets[0][1].json
        )
        (checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return checkpoint


def ask(capsys, *arguments: object) -> dict:
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_log_shows_a_kinesis_batch_from_its_own_entry_to_the_next(capsys, kinesis_checkpoint):
    rows = ask(capsys, "log", kinesis_checkpoint, "--source", "0=kinesis")["batches"]
    read = [(row["sources"][0]["start_offset"], row["sources"][0]["end_offset"]) for row in rows]
    texts = {batch: seq.offsets[0][1].json for batch, seq in KINESIS.items()}
    assert read == [(texts[0], texts[1]), (texts[1], texts[2]), (texts[2], None)]
    assert "the entry of the next batch" in rows[2]["sources"][0]["problem"]
    found = ask(capsys, "diff", kinesis_checkpoint, 0, 1, "--source", "0=kinesis")["sources"][0]
    assert (found["start_offset"], found["end_offset"]) == (texts[1], texts[2])


def test_the_first_batch_of_a_file_source_has_read(capsys, golden):
    row = ask(capsys, "log", golden("file-to-parquet-5"), "--batch", 0, "--source", "0=file")["batches"][0]
    assert (row["sources"][0]["total"], row["sources"][0]["unit"]) == (1, "log entries")


def kafka_checkpoint(home: Path, initial: bytes | None) -> Path:
    for log in ("offsets", "commits"):
        (home / log).mkdir(parents=True)
    for batch, end in ((0, 9), (1, 12)):
        offset = json.dumps({"t": {"0": end}})
        (home / "offsets" / str(batch)).write_text(f'v1\n{{"conf":{{}}}}\n{offset}')
        (home / "commits" / str(batch)).write_text("v1\n{}")
    if initial is not None:
        (home / "sources" / "0").mkdir(parents=True)
        (home / "sources" / "0" / "0").write_bytes(initial)
    return home


@pytest.mark.parametrize(("initial", "total"), [(b'\0v1\n{"t":{"0":4}}', 5), (None, None)])
def test_the_first_batch_of_kafka_counts_from_its_initial_offsets(capsys, tmp_path, initial, total):
    checkpoint = kafka_checkpoint(tmp_path / "checkpoint", initial)
    rows = ask(capsys, "log", checkpoint, "--source", "0=kafka")["batches"]
    assert [row["sources"][0]["total"] for row in rows] == [total, 3]


def test_nothing_is_counted_after_a_batch_that_was_purged(capsys, tmp_path):
    checkpoint = kafka_checkpoint(tmp_path / "checkpoint", b'\0v1\n{"t":{"0":4}}')
    for log in ("offsets", "commits"):
        (checkpoint / log / "0").unlink()
    found = ask(capsys, "log", checkpoint, "--source", "0=kafka")["batches"][0]["sources"][0]
    assert found["total"] is None and found["problem"] == "the offset entry before it is missing"


@pytest.fixture
def audit(tmp_path):
    """The checkpoint of a stream over two checkpoints, one of which was rolled back to batch 1 and run again."""
    store = Store.open(str(tmp_path / "audit"))
    store.create("metadata", b'{"id":"7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}')
    positions = (
        {"a": [0, 0, 1, 10]},
        {"a": [0, 0, 3, 30]},
        {"a": [1, 2, 1, 10]},
        {"a": [1, 2, 4, 90], "b": [0, 7, 8, 80]},
    )
    for batch_id, at in enumerate(positions):
        offset = json.dumps({"v": 1, "at": at})
        store.create(f"offsets/{batch_id}", f'v1\n{{"batchTimestampMs":{batch_id},"conf":{{}}}}\n{offset}'.encode())
        store.create(f"commits/{batch_id}", b'v1\n{"nextBatchWatermarkMs":0}')
    return store.location


def test_a_stream_over_checkpoints_is_counted_in_batches(audit, capsys):
    assert run(["log", audit, "--source", "0=checkpoint", "--json"]) == 0
    batches = json.loads(capsys.readouterr().out)["batches"]
    assert [batch["sources"][0]["partitions"] for batch in batches] == [{"a": 2}, {"a": 2}, {"a": 0}, {"a": 3, "b": 2}]
    assert run(["diff", audit, "0", "3", "--source", "0=checkpoint", "--json"]) == 0
    [source] = json.loads(capsys.readouterr().out)["sources"]
    assert (source["unit"], source["partitions"], source["total"]) == ("batches", {"a": 3, "b": 2}, 5)


@pytest.mark.parametrize(
    ("at", "batch"),
    [([0, 0, 1, 10], 0), ([0, 0, 3, 30], 1), ([1, 2, 1, 10], 2), ([1, 2, 3, 70], 2), ([1, 2, 4, 90], 3)],
)
def test_a_stream_over_checkpoints_is_rolled_back_to_its_own_offsets(audit, capsys, at, batch):
    offsets = json.dumps({"0": {"v": 1, "at": {"a": at}}})
    asked = ["rollback", audit, "--to-offsets", offsets, "--source", "0=checkpoint", "--sink", "foreach", "--json"]
    assert run(asked) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)["plan"]["batch_id"] == batch


# --- types that packages register -----------------------------------------------------------------------------------


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Three committed batches of a source that ckpt itself does not know."""
    checkpoint = tmp_path / "pages"
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"5c0c7a5e-7a1c-4b4d-9a55-1d1b7a2f9b10"}')
    for batch, page in enumerate((4, 9, 11)):
        seq = OffsetSeq(1, OffsetSeqMetadata(0, 1_700_000_000_000, {}), (("0", SourceOffset(f'{{"page":{page}}}')),))
        (checkpoint / f"offsets/{batch}").write_bytes(seq.encode())
        (checkpoint / f"commits/{batch}").write_text("v1\n{}")
    return checkpoint


def test_a_registered_type_is_counted_compared_and_waited_for(capsys, pages, tmp_path):
    with on_path(install(tmp_path / "site", "acme-ckpt", {"acme-pages": "acme_pages_cli:KIND"}, acme_pages_cli=PAGES)):
        rows = ask(capsys, "log", pages, "--source", "0=acme-pages")["batches"]
        assert [(row["sources"][0]["total"], row["sources"][0]["unit"]) for row in rows] == [
            (4, "pages"),
            (5, "pages"),
            (2, "pages"),
        ]
        assert ask(capsys, "diff", pages, 0, 2, "--source", "0=acme-pages")["sources"][0]["total"] == 7
        wait = ("wait", pages, "--offsets", '{"0":{"page":11}}', "--source", "0=acme-pages", "--timeout", "1s")
        assert ask(capsys, *wait)["reached"] is True
        [plan] = [
            ask(capsys, "rollback", pages, "--to-offsets", '{"0":{"page":9}}', "--source", "0=acme-pages")["plan"]
        ]
        assert plan["batch_id"] == 1


def test_a_broken_package_breaks_no_command(capsys, pages, tmp_path):
    with on_path(install(tmp_path / "site", "acme-ckpt", {"acme-books": "no_such:KIND"})):
        rows = ask(capsys, "log", pages, "--source", "0=acme-books")["batches"]
        problems = {row["sources"][0]["problem"] for row in rows}
        assert [row["sources"][0]["end_offset"] for row in rows] == ['{"page":4}', '{"page":9}', '{"page":11}']
        said = "the source type acme-books of acme-ckpt 1.2 cannot be used: it cannot be imported (ModuleNotFoundError"
        assert all(problem.startswith(said) for problem in problems), problems
        assert ask(capsys, "show", pages)["latest_committed_batch"] == 2
        wait = ["wait", pages, "--offsets", '{"0":{"page":10}}', "--source", "0=acme-books", "--timeout", "1s"]
        assert run([*map(str, wait)]) == 3
        assert said in " ".join(capsys.readouterr().err.split())
