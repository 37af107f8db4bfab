"""What a search passes by is told in one bounded line."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.aside import NoCheckpoints, Some

LOST = " If a query had its checkpoint there, it is lost: restore it (ckpt restore)."


@pytest.mark.parametrize(
    ("empty", "files", "told"),
    [
        ([], [], ""),
        (["a"], [], f"1 empty directory (a) is no checkpoint.{LOST}"),
        ([], ["f"], "1 file (f) is no checkpoint."),
        (["a", "b"], ["f"], f"2 empty directories (a, b) and 1 file (f) are no checkpoints.{LOST}"),
        ([], [*"abcdefg"], "7 files (a, b, c and 4 more) are no checkpoints."),
    ],
)
def test_what_is_no_checkpoint_is_told_in_one_line(empty, files, told):
    others = NoCheckpoints()
    others.empty.add(empty)
    others.files.add(files)
    assert others.text() == told


def test_locations_are_counted_and_the_first_three_are_named():
    some = Some()
    for part in (["a"], ["b", "c", "d"], ["e"]):
        some.add(part)
    assert some == Some(5, ["a", "b", "c"])
