"""What a change leaves can be read and replaced by who runs the query: owner, group, mode and time of every file."""

from __future__ import annotations

import os
import stat

import pytest

from airflow_provider_ckpt.cli import run
from tests.change.modes import (
    CASES,
    CHANGES,
    NOBODY,
    OWNER,
    PLACES,
    UNDO,
    Tree,
    acting,
    differing,
    directory_with_modes,
    make_tree,
    seen,
    strange,
)


@pytest.fixture
def place():
    with directory_with_modes() as path:
        yield path


@pytest.fixture(params=CHANGES)
def tree(request, place, goldens, monkeypatch) -> Tree:
    return make_tree(request.param, place, goldens, monkeypatch)


@pytest.mark.sweep
@pytest.mark.parametrize(("user", "records"), CASES)
def test_a_change_leaves_what_it_was_and_its_undo_every_file_as_it_was(tree, user, records, capsys):
    before = seen(tree.place)
    with PLACES[records](tree) as records, acting(user, 0o077):
        assert run([*tree.words, *records]) == 0, capsys.readouterr()
        after = seen(tree.place)
        assert strange(before, after) == {}, "each new file is as those beside it, each other one as it was"
        assert run(["undo", str(tree.checkpoint), *UNDO, *records]) == 0, capsys.readouterr()
    assert differing(before, seen(tree.place)) == [], "content, owner, group, mode and time of every file"


def test_who_is_not_the_owner_is_refused_before_anything_is_changed(tree, capsys):
    """The directories are open to all: it is the owner of new files that cannot be given."""
    for path in (tree.place, *tree.place.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o644)
    before = seen(tree.place)
    with acting(NOBODY, 0o022):
        code = run([*tree.words, "--json"])
    assert (code, seen(tree.place)) == (4, before)
    said = capsys.readouterr().out
    for word in (f"user {NOBODY}", f"owner {OWNER}", "mode 0644", str(tree.place)):
        assert word in said
    assert "Nothing was done. Run the same command as the owner" in said


def test_who_may_do_the_same_by_the_group_is_not_refused(place, goldens, monkeypatch, capsys):
    """An operator in the group of the query, whose directories and files are open to the group: it does no harm."""
    tree = make_tree("fence", place, goldens, monkeypatch)
    for path in (tree.place, *tree.place.rglob("*")):
        path.chmod(0o2770 if path.is_dir() else 0o660)
    with acting(NOBODY, 0o077, group=OWNER):
        assert run(tree.words) == 0, capsys.readouterr()
    newest = tree.checkpoint / "offsets/8"
    assert (newest.stat().st_gid, stat.S_IMODE(newest.stat().st_mode)) == (OWNER, 0o660)


@pytest.mark.parametrize(
    ("mode", "says"),
    [(0o555, "may not write to the directory"), (0o1777, "sticky")],
    ids=["read-only", "sticky"],
)
def test_a_directory_that_cannot_be_changed_is_named_before_anything_is(
    place, goldens, monkeypatch, capsys, mode, says
):
    tree = make_tree("rollback", place, goldens, monkeypatch)
    if mode & stat.S_ISVTX:
        for path in (tree.place, *tree.place.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
    last = tree.checkpoint / "state/0/1"  # the steps before are possible
    last.chmod(mode)
    os.chown(last, 0, 0)
    before = seen(tree.place)
    with acting(NOBODY if mode & stat.S_ISVTX else OWNER, 0o022):
        code = run([*tree.words, "--json"])
    assert (code, seen(tree.place)) == (4, before)
    assert says in capsys.readouterr().out


def test_the_next_operator_can_take_the_change_back(place, goldens, monkeypatch, capsys):
    """Root with umask 077 changes; who owns the checkpoint undoes."""
    tree = make_tree("rollback", place, goldens, monkeypatch)
    before = seen(tree.place)
    with acting(0, 0o077):
        assert run(tree.words) == 0, capsys.readouterr()
    with acting(OWNER, 0o022):
        assert run(["undo", str(tree.checkpoint), *UNDO]) == 0, capsys.readouterr()
    assert seen(tree.place) == before


def test_files_that_say_that_they_are_older_than_1970_come_back_from_another_disk(place, goldens, monkeypatch, capsys):
    """Disks of cameras, archives and clocks that were never set give such times."""
    tree = make_tree("rollback", place, goldens, monkeypatch)
    for path in tree.place.rglob("*"):
        os.utime(path, (-86_400, -86_400))
    before = seen(tree.place)
    with PLACES["records on another disk"](tree) as records:
        assert run([*tree.words, *records]) == 0, capsys.readouterr()
        assert run(["undo", str(tree.checkpoint), *UNDO, *records]) == 0, capsys.readouterr()
    assert seen(tree.place) == before


@pytest.mark.parametrize("kind", ["restore", "seed"])
def test_a_new_location_is_as_the_directory_that_it_is_in(place, goldens, monkeypatch, capsys, kind):
    tree = make_tree("fence", place, goldens, monkeypatch)
    new = tree.place / "new"
    with acting(0, 0o077):
        if kind == "restore":
            assert run(["backup", str(tree.checkpoint), "--to", str(place / "backups")]) == 0
            words = ["restore", str(place / "backups"), "latest", "--to", str(new)]
        else:
            words = ["seed", str(new), "--offsets", '{"0": {"t": {"0": 5}}}', "--source", "0=kafka"]
        accepted = [word for effect in ("unknown", "duplicated") for word in ("--accept-sink", effect)]
        assert run([*words, "--sink", "kafka", "--execute", *accepted]) == 0, capsys.readouterr()
    found = {(item.stat().st_uid, item.stat().st_gid, stat.S_IMODE(item.stat().st_mode)) for item in new.rglob("*")}
    assert found == {(OWNER, OWNER, 0o750), (OWNER, OWNER, 0o640)}
