"""When the entries beside a file say that it is not that of its name."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.salvage.neighbours import problem_beside, twins, write_times
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.changes.salvage.bench import view_of

PLAN = 'v1\n{"batchWatermarkMs":%d,"batchTimestampMs":%d,"conf":{}%s}\n{"logOffset":%d}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":%d}'
FENCE = ',"ckptFence":true'
LINE = 'v1\n{"path":"file:///in/a","timestamp":1,"batchId":%d}'


def entries(texts: dict[str, str]):
    return {name: codec.decode(name, text.encode()) for name, text in texts.items()}


WHOLE = entries(
    {
        "offsets/3": PLAN % (5, 300, "", 3),
        "commits/3": COMMIT % 6,
        "offsets/5": PLAN % (7, 500, "", 5),
        "commits/5": COMMIT % 8,
    }
)
CASES = {
    ("offsets/4", PLAN % (6, 400, "", 4)): None,
    ("offsets/4", PLAN % (5, 300, "", 3)): "has the content of offsets/3",
    ("offsets/4", PLAN % (6, 200, "", 2)): "was not planned after offsets/3, as their times say",
    ("offsets/4", PLAN % (6, 300, "", 4)): "was not planned after offsets/3, as their times say",
    ("offsets/4", PLAN % (6, 300, FENCE, 3)): None,
    ("offsets/4", PLAN % (6, 600, "", 6)): "was not planned before offsets/5, as their times say",
    ("offsets/4", PLAN % (5, 400, "", 4)): "does not have the watermark that commits/3 says",
    ("offsets/4", PLAN % (6, 0, "", 4)): None,  # a version that took down no time
    ("offsets/4", "v1\n\n4"): None,
    ("offsets/6", PLAN % (8, 600, "", 6)): None,
    ("offsets/6", PLAN % (7, 500, "", 5)): "has the content of offsets/5",
    ("commits/4", COMMIT % 7): None,
    ("commits/4", COMMIT % 6): "does not have the watermark of offsets/5",
    ("commits/5", COMMIT % 7): None,
    ("commits/5", COMMIT % 6): "has an earlier watermark than offsets/5",
    ("commits/9", COMMIT % 0): None,
    ("sources/0/4", LINE % 4): None,
    ("sources/0/4", LINE % 3): "has lines of another entry",
    ("sources/0/9.compact", LINE % 3): None,
    ("sources/0/9.compact", LINE % 12): "has lines of another entry",
    ("metadata", '{"id":"3f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}'): None,
}


@pytest.mark.parametrize(("name", "text", "said"), [(*key, said) for key, said in CASES.items()])
def test_what_the_entries_beside_it_say(name, text, said):
    assert problem_beside(name, codec.decode(name, text.encode()), WHOLE) == said


def test_the_description_of_another_operator(goldens):
    path = goldens["4.3.0/count-then-count"] / "checkpoint"
    data = (path / "state/0/_metadata/metadata").read_bytes()
    name = "state/%d/_metadata/metadata"
    assert problem_beside(name % 0, codec.decode(name % 0, data), {}) is None
    assert problem_beside(name % 1, codec.decode(name % 1, data), {}) == "is of operator 0"


def test_a_file_is_not_written_after_the_commit_of_its_batch(golden):
    path = golden("agg-hdfs")
    view = view_of(path)
    times = write_times(view, view.entries)
    at_ms = view.objects["commits/6"].modified_ms
    assert not times.is_after_commit(6, StoredObject("x", 1, at_ms, ""))
    assert times.is_after_commit(6, StoredObject("x", 1, at_ms + 1000, ""))
    assert not times.is_after_commit(6, StoredObject("x", 1, None, ""))
    assert not times.is_after_commit(8, StoredObject("x", 1, at_ms, "")), "it was not committed"


def test_the_times_of_a_copy_say_nothing(golden):
    path = golden("agg-hdfs")
    os.utime(path / "commits/3")
    view = view_of(path)
    assert write_times(view, view.entries).commits == {}
    assert write_times(view, {}).commits == {}


def test_only_files_of_the_same_part_of_the_state_are_twins():
    names = [
        "state/0/0/7.delta", "state/0/1/8.delta", "state/1/0/7.delta", "state/0/0/left/7.delta", "state/0/0/7.snapshot",
        "state/0/0/8.delta", "offsets/7",
    ]  # fmt: skip
    objects = [StoredObject(name, 46, 1, "") for name in names] + [StoredObject("state/0/0/6.delta", 47, 1, "")]
    assert list(twins("state/0/0/8.delta", 46, objects)) == ["state/0/0/7.delta", "state/0/1/8.delta"]
    assert list(twins("offsets/7", 46, objects)) == []
