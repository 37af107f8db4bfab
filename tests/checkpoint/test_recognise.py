"""What a directory is, by what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.recognise import what_is

CASES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "both logs": (("offsets/", "commits/"), "the checkpoint"),
    "a query that has committed nothing": (("offsets/", "metadata"), "the checkpoint"),
    "a backup": (("manifest.json", "checkpoint/"), "the backup"),
    "an offset log alone": (("offsets/",), None),
    "a commit log alone": (("commits/", "metadata"), None),
    "a manifest of something else": (("manifest.json",), None),
    "names of files where directories belong": (("offsets", "commits"), None),
    "nothing": ((), None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_directory_is_known_by_what_is_in_it(tmp_path: Path, case: str):
    names, expected = CASES[case]
    for name in names:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    assert what_is(tmp_path) == expected


def test_the_log_of_a_sink_is_known_by_its_name(tmp_path):
    assert what_is(tmp_path / "_spark_metadata") == "the log of a sink,"
