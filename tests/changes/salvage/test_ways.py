"""The ways to a file: in which order, and what makes up for one that has none."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.tree import Tree
from airflow_provider_ckpt.changes.salvage.ways import Ways, WithBackup, WithTemporaries
from tests.changes.salvage.bench import view_of
from tests.changes.salvage.damage import drop

IDS = ("1_aa", "3_bb")
HELD = (
    "metadata",
    "offsets/5",
    "commits/5",
    "sources/0/5",
    "sources/0/9.compact",
    "state/0/0/6.delta",
    "state/0/0/6.snapshot",
)


def backup(*names: str) -> Manifest:
    return Manifest("b", "x", "q", 5, 0, None, tuple(ManifestObject(name, 1, "aa", f"b/{name}") for name in names))


def in_place(**temporary: Piece) -> WithTemporaries:
    found = {piece.name: piece for piece in temporary.values()}
    return WithTemporaries(found.get, tuple(found), lambda name: "not whole" if name == "x" else "", {})


@pytest.mark.parametrize(
    ("shared", "names"),
    [(5, set(HELD)), (4, {"metadata"}), (3, {"metadata"})],
)
def test_a_backup_brings_what_is_of_the_same_history(shared, names):
    ways = WithBackup(Ways(), backup(*HELD), shared, lambda item: True)
    assert {name for name in HELD if ways.piece(name)} == names


def test_what_is_named_by_an_id_is_the_same_wherever_it_is():
    held = ("state/0/0/6_0a1b.changelog", "state/0/0/SSTs/000009-0a.sst")
    ways = WithBackup(Ways(), backup(*held), 0, lambda item: True)
    assert [ways.piece(name).source for name in held] == [f"b/{name}" for name in held]


def test_what_the_backup_has_not_as_it_was_is_not_taken():
    assert WithBackup(Ways(), backup(*HELD), 5, lambda item: False).piece("metadata") is None
    assert WithBackup(Ways(), backup(*HELD), 5, lambda item: True).piece("offsets/6") is None


def test_the_checkpoint_itself_comes_first():
    own = Piece("offsets/5", "temporary", 2, "bb", "offsets/.5.tmp")
    ways = WithBackup(in_place(own=own), backup(*HELD), 5, lambda item: True)
    assert ways.piece("offsets/5") is own
    assert (ways.problem("x"), ways.problem("y")) == ("not whole", "")


def test_a_whole_version_makes_up_for_a_change_and_a_compacted_entry_for_one_of_a_source(golden):
    tree = Tree(view_of(golden("agg-hdfs")), 5, 5)
    ways = WithBackup(in_place(), backup(*HELD), 5, lambda item: True)
    found = ways.pieces(tree, ["state/0/0/4.delta", "sources/0/9", "commits/5"])
    assert set(found) == {"state/0/0/6.snapshot", "sources/0/9.compact", "commits/5"}
    tree.pieces.update(found)
    assert ways.pieces(tree, ["state/0/0/4.delta"]) == {}
    assert ways.pieces(Tree(tree.view, 4, 4), ["state/0/0/4.delta"]) == {}, "it is of a later batch"


def test_a_backup_of_the_very_batch_brings_what_no_listing_misses(golden):
    path = golden("agg-hdfs")
    drop(path / "sources/0/5")
    view = view_of(path)
    ways = WithBackup(in_place(), backup(*HELD, "notes.txt"), 5, lambda item: True)
    assert "sources/0/5" in ways.from_the_start(Tree(view, 5, 5))
    assert "notes.txt" not in ways.from_the_start(Tree(view, 5, 5))
    assert ways.from_the_start(Tree(view, 6, 6)) == {}
    assert Ways().from_the_start(Tree(view, 5, 5)) == {}


def test_no_way_at_all():
    assert (Ways().piece("x"), Ways().problem("x"), tuple(Ways().names())) == (None, "", ())
