"""What the commands that people read first say of the rules, each in one line."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run


def said_of_rules(out: str) -> str:
    """The line that tells what the rules found."""
    (line,) = (line for line in out.splitlines() if "in what was read here" in line.lower())
    return line


@pytest.mark.parametrize("command", ["show", "log"])
def test_whoever_reads_first_learns_what_a_check_finds_and_what_was_not_judged(golden, capsys, command):
    checkpoint = golden("agg-hdfs").rename(golden("agg-rocksdb").parent / "my checkpoint")

    def call(*options: str) -> str:
        assert run([command, str(checkpoint), *options]) == 0
        return capsys.readouterr().out

    unread = ["state", "source logs", "checksum files"]
    assert said_of_rules(call()) == (
        f"No finding in what was read here. Not judged: {', '.join(unread)}. To judge more: "
        f"ckpt check --deep '{checkpoint}'"
    )
    sound = {"errors": 0, "warnings": 0, "notes": 0, "codes": [], "unknown": unread}
    assert json.loads(call("--json"))["checked"] == sound
    (checkpoint / "metadata").unlink()
    assert said_of_rules(call()) == (
        f"In what was read here: 1 error: CKPT104 Query id missing. What to do: ckpt check '{checkpoint}'"
    )
    assert json.loads(call("--json"))["checked"] == {**sound, "errors": 1, "codes": ["CKPT104"]}
