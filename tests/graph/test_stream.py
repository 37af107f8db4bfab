"""The directory that a file source reads, by the files that its log names."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.graph.stream import Taken


@pytest.mark.parametrize(
    ("directories", "directory"),
    [
        (["/in"], "/in"),
        (["/in/day=1", "/in/day=2"], "/in"),
        (["/in/day=1/hour=2", "/in/day=2/hour=1"], "/in"),
        (["/in/day=1"], None),  # it may read this partition alone
        (["/in/a", "/in/b"], None),  # by a pattern, or recursively
        (["/in", "/in/day=1"], "/in"),
        ([], None),
    ],
)
def test_the_directory_is_known_when_the_files_say_it(directories, directory):
    assert Taken(frozenset(directories)).directory == directory


def test_files_are_counted():
    assert Taken(frozenset({"/in"}), {"/in/a": 1, "/in/b": 2}).count == 2
