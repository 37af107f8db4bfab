"""Which files a directory has that a query has not read: by what real queries write into the log of their source."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.source_log import FileEntry, FileSourceLog
from airflow_provider_ckpt.errors import CheckpointFormatError, StoreError
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.open_end import Access, open_end
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import FilesRead, FilesWritten, SourceEndReached

DAY_S = 24 * 3600
NOW_S = int(time.time()) - DAY_S


def write(directory: Path, *names: str, at_s: int = NOW_S) -> None:
    """Files, each a second later than the one before."""
    for number, name in enumerate(names):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
        os.utime(path, (at_s + number, at_s + number))


def read(spark: Any, path: object, checkpoint: Path, **options: str) -> None:
    """Run a query until its input is used up."""
    rows = spark.newSession().readStream.options(**options).text(str(path))
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(600)
    assert not query.isActive


def after(checkpoint: Path, batch_id: int | None) -> Progress:
    """How far the query was when a batch was its newest committed one."""
    if batch_id is None:
        return Progress(None)
    name = f"offsets/{batch_id}"
    return Progress(batch_id, codec.decode(name, (checkpoint / name).read_bytes()))


@pytest.fixture
def unread(ends):
    """How many files a look finds open."""

    def look(directory: object, checkpoint: Path, batch_id: int | None, at_ms: int = 2**62) -> int:
        found = ends(checkpoint, s0=f"file:{directory}").files_at("0", at_ms, after(checkpoint, batch_id))
        assert isinstance(found, FilesRead)
        return found.unread

    return look


@pytest.mark.spark
def test_a_frozen_end_is_reached_when_the_files_that_were_there_are_committed(spark, ends, tmp_path):
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    names = [f"f{number:02d}" for number in range(12)]
    write(source, *names[:10])
    declared = ends(checkpoint, s0=f"file:{source}")
    frozen = SourceEndReached().bound(declared, Progress(None))
    assert frozen == FilesWritten("0", (NOW_S + 9) * 1000)
    write(source, *names[10:], at_s=NOW_S + 10)
    read(spark, source, checkpoint, maxFilesPerTrigger="1")
    assert (checkpoint / "sources/0/9.compact").exists()

    for batch_id in (None, *range(12), 3, None, 11):  # as the query goes on, and as it is rolled back
        progress = after(checkpoint, batch_id)
        done = 0 if batch_id is None else batch_id + 1
        left = frozen.at_poll(declared, progress)
        assert (left.reached(progress), left.remaining(progress)) == (done >= 10, max(0, 10 - done))
        all_of_it = declared.files_at("0", 2**62, progress)
        assert all_of_it.remaining(progress) == 12 - done
        assert all_of_it == ends(checkpoint, s0=f"file:{source}").files_at("0", 2**62, progress), "remembered or not"
    assert declared.end_at(None, after(checkpoint, 8), slack=3).reached(progress)
    assert not declared.end_at(None, after(checkpoint, 8), slack=2).reached(progress)


LAYOUTS = {
    "plain": ("", ["a", "b c", "d%20e", "ü", "f=1"]),
    "what is hidden": ("", ["a", ".b", "_SUCCESS", "c._COPYING_", "_metadata", "_temporary/0/d", ".tmp/e"]),
    "directories that are no partitions": ("", ["a", "b/c", "d/e/f"]),
    "partitions": ("", ["day=1/hour=1/a", "day=2/hour=3 4/b", "day=2/hour=1/_c", "day=2/hour=1/.d"]),
    "a partition that begins with _": ("", ["_day=1/a", "_day=2/b"]),
    "a pattern": ("/*.txt", ["a.txt", "b.csv", "_c.txt", ".d.txt", "e.txt/f", "g/h.txt"]),
    "a pattern for directories": ("/d*", ["d1/a", "d2/b", "d2/c/e", "f/g", "d"]),
    "a directory of a hidden name": ("/_d*", ["_d1/a", "_d2/_b", "_d3"]),
    "alternatives": ("/{a,b}[0-4]?", ["a12", "b30", "c12", "a99", "a1"]),
    "a pattern in two parts": ("/*/*.txt", ["a/b.txt", "c/d.txt", "e.txt", "f/g/h.txt"]),
}


@pytest.mark.spark
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_files_are_those_that_spark_lists(spark, unread, tmp_path, layout):
    pattern, names = LAYOUTS[layout]
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write(source, *names)
    read(spark, f"{source}{pattern}", checkpoint)
    log = codec.decode("sources/0/0", (checkpoint / "sources/0/0").read_bytes())
    assert isinstance(log, FileSourceLog)
    declared = f"{source}{pattern}"
    assert unread(declared, checkpoint, None) == len(log.entries), [entry.path for entry in log.entries]
    assert unread(declared, checkpoint, 0) == 0


@pytest.mark.spark
def test_every_directory_counts_for_a_recursive_lookup(spark, unread, tmp_path):
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write(source, "a", "b/c", "d/e/f", "_g/h")
    read(spark, source, checkpoint, recursiveFileLookup="true")
    assert (unread(f"{source}/**", checkpoint, None), unread(f"{source}/**", checkpoint, 0)) == (3, 0)


@pytest.mark.spark
def test_of_the_output_of_another_query_its_log_counts(spark, unread, tmp_path):
    source, middle, checkpoint = tmp_path / "in", tmp_path / "middle", tmp_path / "checkpoint"
    write(source, "a", "b", "c")
    rows = spark.newSession().readStream.option("maxFilesPerTrigger", 1).text(str(source))
    writer = rows.writeStream.format("text").option("checkpointLocation", str(tmp_path / "first"))
    writer.trigger(availableNow=True).start(str(middle)).awaitTermination(600)
    write(middle, "part-of-a-batch-that-failed.txt")
    read(spark, middle, checkpoint, maxFilesPerTrigger="2")
    assert [unread(middle, checkpoint, batch_id) for batch_id in (None, 0, 1)] == [3, 1, 0]


@pytest.mark.spark
@pytest.mark.parametrize("clean", ["delete", "archive"])
def test_files_that_the_query_has_cleaned_away_are_read(spark, unread, tmp_path, clean):
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write(source, "a", "b", "c")
    options = {"cleanSource": clean, "sourceArchiveDir": str(tmp_path / "archive"), "maxFilesPerTrigger": "1"}
    read(spark, source, checkpoint, **options)
    assert len(list(source.iterdir())) < 3
    assert unread(source, checkpoint, 2) == 0


@pytest.mark.spark
def test_with_the_latest_first_the_oldest_are_left(spark, ends, tmp_path):
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write(source, "a", "b", "c")
    read(spark, source, checkpoint, latestFirst="true", maxFilesPerTrigger="1")
    left = ends(checkpoint, s0=f"file:{source}").files_at("0", 2**62, after(checkpoint, 0))
    assert left == FilesRead("0", 2, "b")


@pytest.mark.spark
def test_a_file_that_spark_ignores_for_its_age_is_waited_for_in_vain(spark, unread, tmp_path):
    """The way out is to take the file away, or to set maxFileAge."""
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write(source, "a", "b")
    read(spark, source, checkpoint)
    write(source, "old", at_s=NOW_S - 8 * DAY_S)
    write(source, "new", at_s=NOW_S + 5)
    read(spark, source, checkpoint)
    assert unread(source, checkpoint, 1) == 1
    assert unread(source, checkpoint, 1, at_ms=(NOW_S - 9 * DAY_S) * 1000) == 0


@pytest.fixture
def logged(tmp_path):
    """A checkpoint whose source has read these paths."""

    def make(*paths: str) -> Path:
        (tmp_path / "cp/sources/0").mkdir(parents=True)
        log = FileSourceLog(tuple(FileEntry(path, 0, 0) for path in paths))
        (tmp_path / "cp/sources/0/0").write_bytes(log.encode())
        (tmp_path / "cp/offsets").mkdir()
        (tmp_path / "cp/offsets/0").write_text('v1\n{}\n{"logOffset":0}')
        return tmp_path / "cp"

    return make


def test_a_directory_that_the_query_does_not_read_is_refused(unread, logged, tmp_path):
    write(tmp_path / "in", "a")
    with pytest.raises(StoreError, match="reads files in another directory, such as /data/in/a"):
        unread(tmp_path / "in", logged("file:///data/in/a"), 0)


@pytest.mark.parametrize(
    ("read", "said"),
    [([], "the directory is missing or empty"), (["file:///data/in/a"], "reads files in another directory")],
)
def test_a_directory_that_is_not_there_is_never_read_to_its_end(unread, logged, tmp_path, read, said):
    with pytest.raises(StoreError, match=said):
        unread(tmp_path / "nowhere", logged(*read), 0)


@pytest.mark.parametrize("path", ["file:{0}/a%20b", "file://{0}/a%20b", "{0}/a%20b"])
def test_paths_compare_however_they_are_spelled(unread, logged, tmp_path, path):
    write(tmp_path / "in", "a b")
    assert unread(tmp_path / "in", logged(path.format(tmp_path / "in")), 0) == 0


@pytest.mark.s3
def test_files_in_s3_are_known_by_bucket_and_key(s3_store, logged):
    source = s3_store("in")
    source.write("day=1/a b", b"x")
    source.write("day=1/c", b"x")
    bucket = source.root.partition("/")[0]
    checkpoint = logged(f"s3a://{bucket}/in/day=1/a%20b")
    declared = parse_asked(f"file:s3://{bucket}/in")
    access = Access(lambda location: s3_store("in"), Store.open(str(checkpoint)))
    stands = after(checkpoint, 0).offsets.offset("0")
    assert open_end(declared, "0", access).unread(None, stands) == FilesRead("0", 1, "day=1/c")


def test_of_a_compacted_entry_counts_what_the_query_has_come_to(unread, logged, tmp_path):
    """Spark removes the single entries after a while; a query that was rolled back stands in the midst of the rest."""
    source, checkpoint = tmp_path / "in", logged()
    names = [f"f{number}" for number in range(10)]
    write(source, *names)
    log = FileSourceLog(tuple(FileEntry(f"file://{source}/{name}", 0, at) for at, name in enumerate(names)))
    (checkpoint / "sources/0/0").unlink()
    (checkpoint / "sources/0/9.compact").write_bytes(log.encode())
    for batch_id in (7, 9):
        (checkpoint / f"offsets/{batch_id}").write_text(f'v1\n{{}}\n{{"logOffset":{batch_id}}}')
    assert [unread(source, checkpoint, batch_id) for batch_id in (7, 9)] == [2, 0]


def test_a_log_with_a_hole_is_an_error(unread, logged, tmp_path):
    checkpoint = logged("file:///data/in/a")
    (checkpoint / "offsets/5").write_text('v1\n{}\n{"logOffset":5}')
    with pytest.raises(CheckpointFormatError, match="sources/0/1.*is missing in the source's log"):
        unread(tmp_path, checkpoint, 5)


def test_an_offset_of_another_source_is_refused(end, tmp_path):
    declared = f"file:{tmp_path}"
    with pytest.raises(StoreError, match="source 0 is not a file source"):
        end(declared, '{"orders":{"0":1}}', slack=1, checkpoint=Store.open(str(tmp_path)))
    with pytest.raises(StoreError, match="is in the checkpoint, which was not given"):
        end(declared)
