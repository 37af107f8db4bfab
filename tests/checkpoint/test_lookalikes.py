"""What people give in the place of a checkpoint is named, with what to give instead."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.lookalikes import what_it_is

BACKUP = "20260101T000000.000Z-0a3c26f7"
#: Objects and directories at the top of a directory, and what that is.
LOOKALIKES = [
    ({"metadata"}, {"offsets", "commits"}, None, None),
    (set(), {"commits", "_delta_log"}, None, None),
    (set(), set(), None, None),
    ({"part-0.parquet"}, {"_delta_log"}, "a Delta table", "--sink"),
    (set(), {".hoodie"}, "a Hudi table", "--sink"),
    (set(), {"metadata", "data"}, "an Iceberg table", "--sink iceberg:URI"),
    (set(), {"metadata"}, None, None),
    ({"part-0.parquet"}, {"_spark_metadata"}, "the output directory of a file sink", "--sink file:URI"),
    ({"manifest.json"}, {"checkpoint"}, "a backup", "ckpt restore"),
    ({"manifest.json"}, set(), "a directory of data files", "checkpointLocation"),
    (set(), {"checkpoint"}, None, None),
    (set(), {BACKUP}, "the root of backups", "ckpt backups"),
    (set(), {f"{BACKUP}.old"}, None, None),
    ({"a.csv"}, set(), "a directory of data files", "checkpointLocation"),
    ({"a.csv", "metadata"}, set(), None, None),
    ({"a.exe"}, set(), None, None),
]


@pytest.mark.parametrize(("objects", "directories", "what", "hint"), LOOKALIKES)
def test_what_it_is(objects, directories, what, hint):
    said = what_it_is(objects, directories)
    assert (said and said[0]) == what
    assert said is None or hint in said[1]
