"""The checkpoint that a salvage would leave, as a listing."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.tree import Tree, stands_in_the_way
from tests.changes.salvage.bench import view_of
from tests.changes.salvage.damage import drop


def test_later_batches_go_and_the_entry_of_the_one_that_runs_again_stays(golden):
    view = view_of(golden("agg-hdfs"))
    for last, entries in ((7, {"offsets/6", "offsets/7"}), (6, {"offsets/6"})):
        after = Tree(view, 6, last).after({})
        assert {name for name in after.objects if name in ("offsets/6", "offsets/7", "offsets/8")} == entries
        assert after.latest_committed == 6
        assert not any(name.startswith("state/") and name.endswith("/8.delta") for name in after.objects)
    assert "state/0/0/8.delta" in Tree(view, 6, 7, keeps_state=True).after({}).objects


def test_the_log_of_a_file_source_ends_with_the_newest_entry_that_is_kept(golden):
    view = view_of(golden("file-to-parquet-5"))
    for last, end in ((3, 3), (2, 2)):
        after = Tree(view, 2, last).after({})
        assert (
            max(int(name[10:]) for name in after.objects if name.startswith("sources/0/") and name[10:].isdigit())
            == end
        )
        assert not [name for name in after.objects if name == f"sources/0/.{end + 1}.crc"]


def test_what_is_broken_counts_as_missing_and_a_piece_as_there(golden):
    path = golden("agg-hdfs")
    drop(path / "state/0/1/8.delta")
    tree = Tree(view_of(path), 7, 7, broken={"state/0/0/8.delta": "cut"})
    assert not {"state/0/0/8.delta", "state/0/0/.8.delta.crc"} & tree.after({}).objects.keys()
    tree.pieces["state/0/1/8.delta"] = Piece("state/0/1/8.delta", "backup", 5, "aa")
    assert tree.after({}).objects["state/0/1/8.delta"].size == 5
    assert tree.own("state/0/0/7.delta")
    assert not tree.own("state/0/1/8.delta")


def test_a_directory_in_the_way_goes_with_what_is_in_it(golden):
    path = golden("agg-hdfs")
    for name in ("offsets/8", "offsets/2.old"):
        (path / name).mkdir()
        (path / name / "part").write_text("x")
    tree = Tree(view_of(path), 7, 7)
    assert tree.cleared == {"offsets/8"}
    assert tree.after({}).objects.keys() & {"offsets/8/part", "offsets/2.old/part"} == {"offsets/2.old/part"}


@pytest.mark.parametrize(
    ("name", "in_the_way"),
    [
        ("offsets/8", True),
        ("commits/9", True),
        ("offsets/3", False),
        ("state/0/0/2.snapshot", True),
        ("metadata", True),
    ],
)
def test_spark_minds_a_directory_where_it_searches_or_writes(name, in_the_way):
    assert stands_in_the_way(name, 7) is in_the_way
