"""What is shown of a change: a plan with the command that carries it out, and what was done with the one that undoes it."""

from __future__ import annotations

import json
import shlex

from airflow_provider_ckpt.cli import run

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
