"""What a move means: what is read a second time, and what is never read."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.sources.move import Move, kind_of

DELTA = '{"sourceVersion":1,"reservoirId":"r","reservoirVersion":%d,"index":%d,"isStartingVersion":false}'
FIRST = DELTA.replace("false", "true")
ICEBERG = '{"version":1,"snapshot_id":%d,"position":%d,"scan_all_files":false}'
NOTHING = ("", "")

MOVES = {
    "it stays": ("kafka", '{"t":{"0":5,"1":7}}', '{"t": {"1": 7, "0": 5}}', NOTHING),
    "back": ("kafka", '{"t":{"0":5,"1":7}}', '{"t":{"0":1,"1":7}}', ("at most 4 offsets of source 0", "")),
    "on": ("kafka", '{"t":{"0":5,"1":7}}', '{"t":{"0":5,"1":9}}', ("", "at most 2 offsets of source 0")),
    "one back and one on": (
        "kafka",
        '{"t":{"0":5,"1":7}}',
        '{"t":{"0":1,"1":9}}',
        ("at most 4 offsets of source 0", "at most 2 offsets of source 0"),
    ),
    "a partition that came": ("kafka", '{"t":{"0":5}}', '{"t":{"0":5,"1":3}}', ("", "at most 3 offsets of source 0")),
    "a partition that went": ("kafka", '{"t":{"0":5,"1":3}}', '{"t":{"0":5}}', NOTHING),
    "versions": ("delta", DELTA % (7, -1), DELTA % (4, -1), ("at most 3 table versions of source 0", "")),
    "a version that was half read": ("delta", DELTA % (7, 5), DELTA % (7, -1), ("at most 1 table versions of source 0", "")),
    "back from a version that was half read": ("delta", DELTA % (7, 5), DELTA % (4, -1), ("at most 4 table versions of source 0", "")),
    "on from a version that was half read": ("delta", DELTA % (7, 5), DELTA % (9, -1), ("", "at most 2 table versions of source 0")),
    "out of the first snapshot": ("delta", FIRST % (3, 7), DELTA % (3, -1), ("at most 1 table versions of source 0", "at most the rest of the first snapshot of source 0")),
    "out of the first snapshot and on": (
        "delta",
        FIRST % (3, 7),
        DELTA % (5, -1),
        ("", "at most 2 table versions and the rest of the first snapshot of source 0"),
    ),
    "it stays in the first snapshot": ("delta", FIRST % (3, 7), FIRST % (3, 7), NOTHING),
    "snapshots have no order": (
        "iceberg",
        ICEBERG % (1, 0),
        ICEBERG % (2, 0),
        ("an unknown part of source 0", "an unknown part of source 0"),
    ),
    "the same snapshot": ("iceberg", ICEBERG % (1, 0), ICEBERG % (1, 0), NOTHING),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "old", "new", "texts"), MOVES.values(), ids=MOVES)
def test_what_is_read_again_and_what_is_left_out(kind, old, new, texts):
    move = Move("0", kind, SourceOffset(old), SourceOffset(new))
    assert (move.again, move.left_out) == texts


@pytest.mark.parametrize(
    ("text", "kind"),
    [('{"t":{"0":5}}', "kafka"), (DELTA % (1, -1), "delta"), (ICEBERG % (1, 2), "iceberg"), ("17", None), ('{"logOffset":1}', None)],
)  # fmt: skip
def test_the_shape_of_what_a_reset_has_written_tells_its_type(text, kind):
    assert kind_of(SourceOffset(text)) == kind
