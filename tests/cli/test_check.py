"""``ckpt check``: exit codes, and what was read."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run


@pytest.mark.parametrize(
    ("damaged", "arguments", "code", "codes"),
    [
        (None, [], 0, set()),
        (None, ["--deep"], 0, set()),
        ("state/0/0/8.delta", [], 0, set()),  # the logs alone were read
        ("state/0/0/8.delta", ["--deep"], 1, {"CKPT130"}),
    ],
)
def test_what_is_found_of_what_is_read(golden, capsys, damaged, arguments, code, codes):
    checkpoint = golden("agg-hdfs")
    if damaged:
        (checkpoint / damaged).unlink()
    assert run(["check", str(checkpoint), "--json", *arguments]) == code
    document = json.loads(capsys.readouterr().out)
    errors = {finding["code"] for finding in document["findings"] if finding["severity"] == "error"}
    assert errors == codes
    assert bool(document["unknown"]) or "--deep" in arguments
