"""What a checkpoint tells of its query, and what the directory of a file source says of it."""

from __future__ import annotations

import json
import os

import pytest

from airflow_provider_ckpt.graph.read_stream import read_stream
from airflow_provider_ckpt.graph.stream import Stream, StreamSource
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.storage.store import Store

from .fleet_jobs import ROOT

AT_S = 1_700_000_000


def of_fleet(root, name: str) -> Stream:
    return read_stream(Store.open(str(root / "checkpoints" / name)), None, Paths({str(ROOT): str(root)}))


def test_it_tells_of_its_batches_and_its_confs(thirty_files):
    stream = of_fleet(thirty_files, "land/orders")
    assert (stream.latest_committed, stream.confs_of, stream.error) == (3, ((3, 5),), "")
    assert set(stream.planned_ms) <= {1, 2, 3} and 3 in stream.committed_ms


def test_each_source_has_its_offset_and_its_files(thirty_files):
    stream = of_fleet(thirty_files, "both")
    assert [(source.id, source.taken.count, source.passed_over) for source in stream.sources] == [
        ("0", 4, 0),
        ("1", 4, 0),
    ]
    two = of_fleet(thirty_files, "two").sources
    assert two[1].proven is None and "reservoirId" in two[1].offset.json


def test_what_is_no_checkpoint_is_an_error(tmp_path):
    assert "offsets" in read_stream(Store.open(str(tmp_path)), None, Paths()).error


@pytest.fixture
def source(tmp_path):
    """A file source that took a and b, in a directory with these and other files; each with its time after them."""

    def read(*, planned_s: int = AT_S + 100, at_s: int = AT_S, **others: int) -> StreamSource:
        directory, checkpoint = tmp_path / "in", tmp_path / "cp"
        for name, seconds in {"a": 0, "b": 0, **others}.items():
            directory.mkdir(exist_ok=True)
            (directory / name).write_text("{}")
            os.utime(directory / name, (at_s + seconds, at_s + seconds))
        lines = [{"path": f"file://{directory}/{name}", "timestamp": AT_S * 1000, "batchId": 0} for name in "ab"]
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": planned_s * 1000, "conf": {}}
        contents = {
            "metadata": '{"id":"q"}',
            "offsets/0": f'v1\n{json.dumps(metadata)}\n{{"logOffset":0}}',
            "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
            "sources/0/0": "\n".join(["v1", *map(json.dumps, lines)]),
        }
        for name, text in contents.items():
            (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
            (checkpoint / name).write_text(text)
        (found,) = read_stream(Store.open(str(checkpoint)), None, Paths()).sources or ()
        return found

    return read


def test_files_that_the_log_does_not_name_are_counted(source):
    assert source().passed_over == 0
    assert source(c=10).passed_over == 1


def test_files_that_came_later_or_are_hidden_do_not_count(source):
    assert source(late=500).passed_over == 0
    assert source(_c=10).passed_over == 0


def test_files_with_other_times_prove_nothing(source):
    """As of a source that keeps the same log, and is told of files by a queue."""
    assert source(at_s=AT_S + 2).passed_over is None


def test_a_directory_that_has_none_of_the_files_proves_nothing(source, tmp_path):
    source()
    for name in "ab":
        (tmp_path / "in" / name).unlink()
    (tmp_path / "in" / "c").write_text("")
    (found,) = read_stream(Store.open(str(tmp_path / "cp")), None, Paths()).sources or ()
    assert found.passed_over is None
