"""``ckpt repair``, from end to end in this process."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from tests.changes.repair.fake_table import FakeTable, part

WORD = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")


@pytest.fixture
def table(tmp_path) -> FakeTable:
    return FakeTable(tmp_path).run(12)


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_command_that_the_gate_prints_is_planned_carried_out_and_taken_back(table, capsys):
    before = table.forget("10")
    sink = f"file:{table.output}"
    found = ckpt(capsys, "gate", table.checkpoint, "--sink", sink)[1]["findings"]
    (command,) = next(item["commands"] for item in found if item["code"] == "CKPT142")
    assert command == f"ckpt repair {table.checkpoint} --sink {sink}"
    code, planned = ckpt(capsys, *command.split()[1:])
    assert (code, planned["plan"]["kind"], planned["sink_effect"], planned["receipt"]) == (0, "repair", "exact", None)
    assert planned["apply_command"] == f"{command} --execute --i-know-it-is-stopped"
    assert table.entries.keys() == before.keys() - {"10"}
    assert ckpt(capsys, *command.split()[1:], *WORD)[1]["receipt"]["status"] == "applied"
    assert table.entries == before
    (change,) = ckpt(capsys, "history", table.checkpoint)[1]["changes"]
    assert (change["kind"], change["state"], change["from_batch"], change["to_batch"]) == ("repair", "applied", 11, 11)
    assert ckpt(capsys, "undo", table.checkpoint, *WORD, "--accept-sink", "skipped")[0] == 0
    assert table.entries.keys() == before.keys() - {"10"}


def test_a_plan_file_with_a_copy_and_decisions(table, tmp_path, capsys):
    copy = table.copied(tmp_path / "copy")
    (copy / "10").unlink()
    before = table.forget("9.compact", "10")
    table.data(part(10, 3, 9), 10, 1)
    words = ["repair", table.checkpoint, "--sink", f"file:{table.output}", "--copy", copy]
    adopted = [word for task in (0, 1) for word in ("--adopt", f"10={part(10, task)}")]
    plan = tmp_path / "plan.json"
    code, planned = ckpt(capsys, *words, *adopted, "--plan-out", plan)
    assert (code, planned["accept_sink"], planned["plan"]["source"]) == (0, ["unknown"], str(copy))
    command = planned["apply_command"].split()[1:]
    assert command == [
        "repair", str(table.checkpoint), "--plan", str(plan), "--execute", "--i-know-it-is-stopped",
        "--accept-sink", "unknown",
    ]  # fmt: skip
    assert ckpt(capsys, *command, "--quiet-period", "0", "--approved-by", "ben")[0] == 0
    assert table.entries == before


def test_it_says_what_to_decide(table, capsys):
    (table.checkpoint / "commits/10").unlink()
    table.forget("10")
    code = run(["repair", str(table.checkpoint), "--sink", f"file:{table.output}"])
    said = capsys.readouterr().err
    assert code == 4
    assert "--adopt 10" in said and "--empty 10" in said


def test_nothing_to_do(table, capsys):
    assert run(["repair", str(table.checkpoint), "--sink", f"parquet:{table.output}"]) == 0
    assert "the log of the sink lacks no entry" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "give the sink whose log is to be completed"),
        (["--sink", "file:{out}", "--adopt", "x"], "'x' is no batch"),
        (["--sink", "file:{out}", "--plan", "p.json"], "--plan gives the whole plan"),
        (["--sink", "file:{out}", "--compact-interval", "0"], "--compact-interval"),
    ],
)
def test_usage(table, capsys, words, why):
    assert run(["repair", str(table.checkpoint), *(word.format(out=table.output) for word in words)]) == 2
    assert why in capsys.readouterr().err
