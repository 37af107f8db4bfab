"""What ``ckpt log`` prints for people."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.cli import run


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--last", "3"), "The newest 3 of 8 batches; --last BATCHES shows more."),
        (("--last", "8"), None),
        ((), None),
        (("--batch", "2"), None),
    ],
)
def test_it_says_that_there_are_more_batches(golden, capsys, options, said):
    assert run(["log", str(golden("agg-hdfs")), *options]) == 0
    text = capsys.readouterr().out
    assert (said in text) if said else ("The newest" not in text)
