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
    assert run([*shlex.split(undo)[1:], "--sink", "noop", "--execute", *STOPPED]) == 0
    assert (checkpoint / "commits/7").exists()


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
