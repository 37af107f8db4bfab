"""``ckpt salvage``, from end to end in this process."""

from __future__ import annotations

import json

from airflow_provider_ckpt.cli import run
from tests.changes.salvage.damage import drop, lose_rename

WORD = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_plan_is_shown_carried_out_and_taken_back(golden, capsys):
    checkpoint = golden("agg-hdfs")
    temporary = lose_rename(checkpoint / "state/0/0/8.delta")
    code, planned = ckpt(capsys, "salvage", checkpoint, "--sink", "kafka")
    assert (code, planned["plan"]["kind"], planned["plan"]["batch_id"], planned["sink_effect"]) == (
        0,
        "salvage",
        7,
        "exact",
    )
    assert planned["apply_command"] == f"ckpt salvage {checkpoint} --sink kafka --execute --i-know-it-is-stopped"
    assert any(temporary.name in note for note in planned["plan"]["notes"])
    (saved,) = planned["salvage"]["objects"]
    assert (saved["name"], saved["way"], saved["source"]) == (
        "state/0/0/8.delta",
        "temporary",
        str(temporary.relative_to(checkpoint)),
    )
    assert (planned["salvage"]["batch_id"], planned["salvage"]["given_up"]) == (7, None)
    code, done = ckpt(capsys, "salvage", checkpoint, "--sink", "kafka", *WORD)
    assert (code, done["receipt"]["status"], done["receipt"]["actions"]) == (0, "applied", 3)
    assert (checkpoint / "state/0/0/8.delta").exists()
    code, history = ckpt(capsys, "history", checkpoint)
    assert [(change["kind"], change["state"]) for change in history["changes"]] == [("salvage", "applied")]
    assert ckpt(capsys, "undo", checkpoint, *WORD)[0] == 0
    assert not (checkpoint / "state/0/0/8.delta").exists()


def test_a_plan_file_is_carried_out(golden, capsys, tmp_path):
    checkpoint, plan = golden("agg-hdfs"), tmp_path / "salvage.json"
    drop(checkpoint / "commits/6")
    drop(checkpoint / "commits/7")
    code, planned = ckpt(capsys, "salvage", checkpoint, "--plan-out", plan)
    assert (code, planned["apply_command"]) == (
        0,
        f"ckpt salvage {checkpoint} --plan {plan} --execute --i-know-it-is-stopped --accept-sink unknown",
    )
    assert planned["salvage"]["not_saved"] == []
    done = ckpt(capsys, "salvage", checkpoint, "--plan", plan, *WORD, "--accept-sink", "unknown")[1]
    assert (done["receipt"]["status"], done["salvage"]) == ("applied", None)
    assert (checkpoint / "commits/6").exists()


def test_nothing_is_needed(golden, capsys):
    code, planned = ckpt(capsys, "salvage", golden("agg-hdfs"))
    assert (code, planned["plan"]["actions"], planned["apply_command"]) == (0, [], None)


def test_what_cannot_be_saved_says_why_and_ends_with_4(golden, capsys):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "metadata").unlink()
    assert run(["salvage", str(checkpoint)]) == 4
    said = capsys.readouterr().err
    assert "no batch of this checkpoint can be saved: batch 7: metadata is missing" in said
    assert "--backup-root ROOT" in said


def test_a_sink_log_needs_its_sink(golden, capsys):
    assert run(["salvage", str(golden("agg-hdfs")), "--trim-sink-log"]) == 2
    assert "--trim-sink-log needs --sink file:URI" in capsys.readouterr().err
