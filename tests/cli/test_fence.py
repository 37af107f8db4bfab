"""``ckpt fence``, from end to end in this process."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.fence import put_fence


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(put_fence, "SETTLE_ON_DISK_S", 0.0)


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_plan_is_shown_carried_out_and_taken_back(golden, capsys):
    checkpoint = golden("agg-hdfs")
    code, planned = ckpt(capsys, "fence", checkpoint)
    assert (code, planned["plan"]["kind"], planned["sink_effect"], planned["receipt"]) == (0, "fence", "exact", None)
    assert planned["apply_command"] == f"ckpt fence {checkpoint} --execute"
    assert not (checkpoint / "offsets/8").exists()
    code, done = ckpt(capsys, "fence", checkpoint, "--execute")
    assert (code, done["receipt"]["status"], done["receipt"]["actions"]) == (0, "applied", 1)
    assert (checkpoint / "offsets/8").exists()
    assert ckpt(capsys, "fence", checkpoint, "--execute")[1]["receipt"]["status"] == "already_applied"
    (change,) = ckpt(capsys, "history", checkpoint)[1]["changes"]
    assert (change["kind"], change["state"], change["from_batch"], change["to_batch"]) == ("fence", "applied", 7, 7)
    word = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]
    assert ckpt(capsys, "undo", checkpoint, *word)[0] == 0
    assert not (checkpoint / "offsets/8").exists()
    assert ckpt(capsys, "history", checkpoint)[1]["changes"][0]["state"] == "undone"


def test_a_batch_in_flight_that_is_not_committed_in_time_is_named(golden, capsys):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "commits/7").unlink()
    (checkpoint / "commits/.7.crc").unlink()
    code = run(["fence", str(checkpoint), "--execute", "--wait-for-batch", "0.05"])
    said = capsys.readouterr().err
    assert code == 4 and "batch 7 is in flight since" in said and "--wait-for-batch" in said
    assert "Waiting up to 0.1 s" in said
    assert not (checkpoint / "offsets/8").exists()


def test_real_time_mode_is_refused(golden, capsys):
    code, refused = ckpt(capsys, "fence", golden("rate"), "--trigger", "realTime")
    assert (code, refused["error"]["code"]) == (4, "PLAN_REFUSED")
