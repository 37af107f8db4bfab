"""Which temporary file is the whole file whose rename was lost."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_provider_ckpt.changes.salvage.entries import broken_entries
from airflow_provider_ckpt.changes.salvage.find_temporaries import Temporaries, known_piece
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.bench import view_of
from tests.changes.salvage.damage import UUID, cut, drop, lose_rename
from tests.state_streams import delta, delta_of_size


def judged(path, target, codec="lz4"):
    view = view_of(path)
    found = Temporaries(Store.open(str(path)), view, codec, broken_entries(view))
    return found.piece(target), found.problem(target)


def put_by_hand(path, target, content, like=None):
    """A temporary file of a name with the content of another one, of the time of the file that it replaces."""
    file = path / target
    temporary = file.with_name(f".{file.name}.{UUID}.tmp")
    at = (like or file).stat().st_mtime
    temporary.write_bytes(content)
    os.utime(temporary, (at, at))
    if file.exists():
        drop(file)
    return temporary


@pytest.mark.parametrize("name", ["state/0/0/8.delta", "offsets/7", "commits/7", "metadata", "sources/0/5"])
def test_a_whole_one_is_the_file(name, golden):
    path = golden("agg-hdfs")
    data = (path / name).read_bytes()
    temporary = lose_rename(path / name)
    piece, problem = judged(path, name)
    assert (piece.source, piece.size, problem) == (str(temporary.relative_to(path)), len(data), "")
    assert judged(path, "offsets/6") == (None, "")


def damaged(path, how):
    temporary = lose_rename(path)
    checksum = temporary.with_name(f".{temporary.name}.crc")
    how(temporary, checksum)
    return temporary


DAMAGES = {
    "is empty": lambda file, checksum: file.write_bytes(b""),
    "does not match the checksum file": lambda file, checksum: cut(file),
    "is not whole": lambda file, checksum: (cut(file), checksum.unlink()),
    "is older than the offset entry of its batch": lambda file, checksum: os.utime(file, (1, 1)),
    "2 temporary files that differ": lambda file, checksum: shutil.copy(
        file.with_name("7.delta"), file.with_name(file.name.replace("10.tmp", "11.tmp"))
    ),
}


@pytest.mark.parametrize("said", DAMAGES)
def test_one_that_is_not_surely_whole_is_none(said, golden):
    path = golden("agg-hdfs")
    damaged(path / "state/0/0/8.delta", DAMAGES[said])
    piece, problem = judged(path, "state/0/0/8.delta")
    assert piece is None
    assert said in problem


def test_a_name_with_an_id_may_have_any_date(golden):
    path = golden("agg-rocksdb-changelog-v2")
    name = next(str(file.relative_to(path)) for file in path.glob("state/0/0/8_*.changelog"))
    damaged(path / name, DAMAGES["is older than the offset entry of its batch"])
    assert judged(path, name)[0] is not None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("commits/7", b"v1", "is cut off"),
        ("offsets/7", b"v1\n{}", "is cut off"),
        ("offsets/7", CLOSING, "is of a change by ckpt"),
        ("offsets/7", b"v1\n" + b" " * (5 << 20), "is too large to be judged"),
        ("state/0/0/8.delta", b"", "is empty"),
    ],
)
def test_an_entry_that_is_cut_is_none(name, content, said, golden):
    path = golden("agg-hdfs")
    temporary = lose_rename(path / name)
    temporary.with_name(f".{temporary.name}.crc").unlink()
    temporary.write_bytes(content)
    piece, problem = judged(path, name)
    assert piece is None
    assert said in problem


def test_a_large_one_needs_its_checksum_file(golden):
    path = golden("agg-hdfs")
    temporary = lose_rename(path / "state/0/0/8.delta")
    temporary.with_name(f".{temporary.name}.crc").unlink()
    temporary.write_bytes(delta_of_size(100_000))
    assert "too large to be judged without its checksum file" in judged(path, "state/0/0/8.delta")[1]
    assert "compressed in a way" in judged(path, "state/0/0/8.delta", None)[1]


def test_a_zip_is_read(golden):
    path = golden("agg-rocksdb")
    temporary = lose_rename(path / "state/0/0/8.zip")
    assert judged(path, "state/0/0/8.zip")[0] is not None
    temporary.with_name(f".{temporary.name}.crc").unlink()
    cut(temporary)
    assert "is not whole" in judged(path, "state/0/0/8.zip")[1]


@pytest.mark.parametrize(
    ("target", "other", "said"),
    [
        ("offsets/7", "offsets/6", "has the content of offsets/6"),
        ("offsets/6", "offsets/5", "has the content of offsets/5"),
        ("commits/6", "commits/5", "does not have the watermark of offsets/7"),
        ("sources/0/5", "sources/0/4", "has lines of another entry"),
        ("state/0/0/8.delta", "state/0/0/7.delta", "has the content of state/0/0/7.delta"),
        ("state/0/0/8.delta", "state/0/1/8.delta", "has the content of state/0/1/8.delta"),
    ],
)
def test_the_content_of_another_batch_is_not_taken(target, other, said, golden):
    path = golden("agg-hdfs")
    put_by_hand(path, target, (path / other).read_bytes())
    piece, problem = judged(path, target)
    assert piece is None
    assert said in problem


def test_the_commit_before_it_says_that_a_copy_of_a_lost_entry_is_of_a_later_batch(golden):
    path = golden("agg-hdfs")
    put_by_hand(path, "offsets/5", (path / "offsets/6").read_bytes())
    drop(path / "offsets/6")
    assert "does not have the watermark that commits/4 says" in judged(path, "offsets/5")[1]


def test_the_same_content_is_taken_where_the_checksum_file_of_its_name_says_so(golden):
    path = golden("agg-hdfs")
    checksum = (path / "state/0/0/.7.delta.crc").read_bytes()
    put_by_hand(path, "state/0/0/8.delta", (path / "state/0/0/7.delta").read_bytes())
    (path / "state/0/0/.8.delta.crc").write_bytes(checksum)
    assert judged(path, "state/0/0/8.delta")[0] is not None


def test_a_file_without_any_key_is_the_same_for_all_batches(golden):
    path = golden("count-then-limit")
    empty = delta(b"")
    (path / "state/0/0/1.delta").write_bytes(empty)
    put_by_hand(path, "state/0/0/2.delta", empty)
    assert judged(path, "state/0/0/2.delta")[0].like == "state/0/0/1.delta"


def test_what_was_written_after_the_commit_is_not_of_the_batch(golden):
    path = golden("agg-hdfs")
    content = (path / "state/0/0/8.delta").read_bytes()
    temporary = put_by_hand(path, "state/0/0/8.delta", content)
    assert judged(path, "state/0/0/8.delta")[0] is not None
    os.utime(temporary)
    assert "was written after the commit of its batch" in judged(path, "state/0/0/8.delta")[1]


def test_a_snapshot_is_written_behind_the_batches(golden):
    path = golden("agg-hdfs")
    (snapshot,) = path.glob("state/0/0/*.snapshot")
    os.utime(lose_rename(snapshot))
    assert judged(path, str(snapshot.relative_to(path)))[0] is not None


def test_what_is_known_is_in_the_piece():
    piece = known_piece("commits/7", "v1")
    assert (piece.way, piece.size, piece.data) == ("known", 2, "v1")
