"""What a salvage takes for a whole entry, and when another entry tells a commit."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.salvage.entries import (
    COPY,
    MISMATCH,
    broken_entries,
    commit_again,
    problem_of_entry,
    sources_differ,
)
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.storage.store import Store

LINES = 'v1\n{"batchWatermarkMs":5,"batchTimestampMs":%d,"conf":{}}\n%s'

WHOLE = {
    ("commits/7", 'v1\n{"nextBatchWatermarkMs":0}'): None,
    ("commits/7", "v1"): "is cut off: it has no content after the version",
    ("commits/7", "v1\n"): "is cut off: it has no content after the version",
    ("offsets/7", LINES % (1, '{"logOffset":5}')): None,
    ("offsets/7", LINES % (1, "12\n-")): None,
    ("offsets/7", LINES % (1, '{"logOff')): "is cut off: the offset of source 0 has no end",
    ("sources/0/0", '\0v1\n{"orders":{"0":0}}'): None,
    ("sources/0/0", '\0v1\n{"orders":{"0":0}'): "is cut off: the offset has no end",
    ("offsets/7", 'v1\n{"batchWatermarkMs":5,"batchTimestampMs":1,"conf":{}}'): (
        "is cut off: it has no offset of any source"
    ),
}


@pytest.mark.parametrize(("name", "text", "said"), [(*key, said) for key, said in WHOLE.items()])
def test_an_entry_ends_as_spark_ends_it(name, text, said):
    assert problem_of_entry(codec.decode(name, text.encode())) == said


@pytest.mark.parametrize("end", [None, 8, 12])
def test_an_entry_that_differs_from_its_checksum_file_is_not_whole_unless_that_is_cut(end, golden):
    path = golden("agg-hdfs")
    checksum = (path / "offsets/.6.crc").read_bytes()
    (path / "offsets/.7.crc").write_bytes(checksum if end is None else (path / "offsets/.7.crc").read_bytes()[:end])
    broken = broken_entries(examine(Store.open(str(path)), deep=True))
    assert broken == ({"offsets/7": MISMATCH} if end is None else {})


def entries(*texts: tuple[str, str]):
    return {name: codec.decode(name, text.encode()) for name, text in texts}


@pytest.mark.parametrize(
    ("own", "following", "is_plain", "said"),
    [
        (1, 2, True, 'v1\n{"nextBatchWatermarkMs":5}'),
        (1, 2, False, None),  # ids of state files are in no other file
        (2, 2, True, None),  # a fence, or another entry that no query has planned
        (0, 2, True, None),
    ],
)
def test_the_next_entry_tells_a_commit(own, following, is_plain, said):
    found = entries(("offsets/3", LINES % (own, "1")), ("offsets/4", LINES % (following, "2")))
    assert commit_again(3, found, is_plain) == said
    assert commit_again(4, found, is_plain) is None, "no batch was planned after it"


def test_a_fence_does_not_say_that_the_batch_before_it_is_committed():
    fence = 'v1\n{"batchWatermarkMs":5,"batchTimestampMs":9,"conf":{},"ckptFence":true}\n1'
    assert commit_again(3, entries(("offsets/3", LINES % (1, "1")), ("offsets/4", fence)), is_plain=True) is None


def test_an_entry_that_was_cut_between_two_lines_has_fewer_sources():
    found = entries(("offsets/3", LINES % (1, "1\n2")), ("offsets/4", LINES % (2, "2")))
    assert sources_differ(found["offsets/4"], found["offsets/3"]) == "has 1 sources, and the entry before it has 2"
    assert sources_differ(found["offsets/3"], None) is None


def test_of_two_entries_that_are_the_same_the_one_with_a_checksum_file_is_right(golden):
    path = golden("agg-hdfs")
    (path / "offsets/7").write_bytes((path / "offsets/5").read_bytes())
    (path / "offsets/.7.crc").unlink()
    assert broken_entries(examine(Store.open(str(path)), deep=True)) == {"offsets/7": COPY}
    (path / "offsets/.5.crc").unlink()
    assert broken_entries(examine(Store.open(str(path)), deep=True)) == {"offsets/5": COPY, "offsets/7": COPY}
