"""What is shown of a change: a plan with the command that carries it out, and what was done with the one that undoes it."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.changes import change_output
from airflow_provider_ckpt.sinks.effects import SinkEffect
from tests.change.plans import ROLLBACK

STOPPED = ["--i-know-it-is-stopped", "--quiet-period", "0"]


def test_the_last_line_of_a_plan_carries_it_out_and_that_of_a_change_takes_it_back(golden, capsys):
    checkpoint = golden("agg-hdfs")
    assert run(["rollback", str(checkpoint), "--to-batch", "6", "--sink", "noop", "--quiet-period", "0"]) == 0
    shown = capsys.readouterr().out
    assert "Nothing was changed." in shown
    assert (checkpoint / "commits/7").exists()

    assert run(shlex.split(shown.rstrip().split("\n")[-1])[1:]) == 0
    done = capsys.readouterr().out
    assert not (checkpoint / "commits/7").exists()

    undo = done.rstrip().split("\n")[-1].partition("To undo it: ")[2]
    plan_id = undo.rpartition("--undoes ")[2]
    assert run(["undo", str(checkpoint), "--sink", "noop", "--quiet-period", "0"]) == 0
    applies = capsys.readouterr().out.rstrip().split("\n")[-1]
    assert f"--undoes {plan_id} --execute" in applies
    assert run(shlex.split(applies)[1:]) == 0
    assert (checkpoint / "commits/7").exists()
    again = capsys.readouterr().out.rstrip().split("\n")[-1].partition("To undo it, make the change again")[2]
    assert again == f", which is shown by: ckpt history {checkpoint} --plan {plan_id}"
    assert run(["history", str(checkpoint), "--plan", plan_id]) == 0


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        (("exact",), "To apply the plan:"),
        (
            ("duplicated", "unknown"),
            "To apply the plan and accept that the sink effect is duplicated (rows come twice) and unknown (nobody knows "
            "whether rows are lost or come twice):",
        ),
        (
            ("stops",),
            "To apply the plan and accept that the query stops (rows are lost, and the query then stops for good):",
        ),
        (
            ("skipped", "stops"),
            "To apply the plan and accept that the sink effect is skipped (rows are lost) and that the query stops (rows are "
            "lost, and the query then stops for good):",
        ),
    ],
)
def test_what_the_command_accepts_is_a_sentence(capsys, monkeypatch, effects, said):
    monkeypatch.setattr(change_output, "next_command", lambda *_: "ckpt rollback")
    monkeypatch.setattr(change_output, "remedied_command", lambda _: None)
    change_output.report_change(
        replace(ROLLBACK, effects=tuple(SinkEffect("s", each, "") for each in effects)), None, as_json=False
    )
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_json_document_has_the_plan_and_the_receipt_once_there_is_one(golden, capsys):
    rollback = ["rollback", str(golden("agg-hdfs")), "--to-batch", "6", "--sink", "noop", "--json", *STOPPED]
    documents = []
    for arguments in (rollback, [*rollback, "--execute"]):
        assert run(arguments) == 0
        documents.append(json.loads(capsys.readouterr().out))
    planned, done = documents
    assert planned["receipt"] is None
    assert done["receipt"]["actions"] == len(done["plan"]["actions"])
    assert planned["sink_effect"] == done["sink_effect"] == "exact"
