"""``ckpt fence``, from end to end in this process."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store


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


def test_while_a_change_holds_the_lock_the_history_says_that_it_may_go_on(golden, capsys):
    checkpoint = golden("agg-hdfs")
    with locked(Store.open(str(checkpoint)), "fence", "ann"):
        assert run(["history", str(checkpoint)]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert "The lock of this location is held by ann (process" in said and "may still go on" in said
    assert run(["history", str(checkpoint)]) == 0
    assert "held by" not in "".join(capsys.readouterr())


def test_real_time_mode_is_refused(golden, capsys):
    code, refused = ckpt(capsys, "fence", golden("rate"), "--trigger", "realTime")
    assert (code, refused["error"]["code"]) == (4, "PLAN_REFUSED")


def test_a_rollback_with_a_fence_needs_no_word(golden, capsys):
    checkpoint = golden("agg-hdfs")
    command = ["rollback", checkpoint, "--to-batch", 5, "--fence", "--sink", "noop", "--accept-sink", "unknown"]
    code, planned = ckpt(capsys, *command)
    assert (code, planned["receipt"]) == (0, None) and not (checkpoint / "offsets/8").exists()
    assert planned["apply_command"].endswith("--execute") and "--i-know" not in planned["apply_command"]
    assert any("breaks the checkpoint" in warning for warning in planned["plan"]["warnings"])
    code, done = ckpt(capsys, *command, "--execute", "--quiet-period", "0")
    assert (code, done["receipt"]["batch_id"]) == (0, 5)
    assert [path.name for path in sorted((checkpoint / "offsets").glob("[0-9]*"))] == list("012345")
    kinds = [change["kind"] for change in ckpt(capsys, "history", checkpoint)[1]["changes"]]
    assert kinds == ["fence", "rollback"]


def test_a_plan_is_written_behind_a_fence_that_is_there(golden, capsys, tmp_path):
    checkpoint, file = golden("agg-hdfs"), tmp_path / "plan.json"
    command = ["rollback", checkpoint, "--to-batch", 5, "--fence", "--sink", "noop", "--plan-out", file]
    assert run([str(word) for word in command]) == 2
    assert "ckpt fence" in capsys.readouterr().err and not file.exists()
    assert ckpt(capsys, "fence", checkpoint, "--execute")[0] == 0
    code, planned = ckpt(capsys, *command)
    assert code == 0 and "fenced" in {item["kind"] for item in planned["plan"]["requirements"]}
    by_plan = ["rollback", checkpoint, "--plan", file, "--execute", "--quiet-period", "0", "--accept-sink", "unknown"]
    assert ckpt(capsys, *by_plan)[0] == 0
    assert not (checkpoint / "offsets/6").exists()


def test_a_fence_is_no_word(golden, capsys):
    command = ["rollback", golden("agg-hdfs"), "--to-batch", 5, "--fence", "--i-know-it-is-stopped", "--execute"]
    assert run([str(word) for word in command]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_a_restore_fences_what_the_backup_was_taken_from(golden, capsys, tmp_path):
    checkpoint, root, new = golden("agg-hdfs"), tmp_path / "backups", tmp_path / "new"
    assert ckpt(capsys, "backup", checkpoint, "--to", root)[0] == 0
    command = ["restore", root, "--to", new, "--sink", "noop", "--accept-sink", "unknown", "--fence"]
    assert run([str(word) for word in command]) == 2 and "--execute" in capsys.readouterr().err
    assert ckpt(capsys, *command, "--execute")[0] == 0
    assert (checkpoint / "offsets/8").exists() and not (new / "offsets/8").exists()
