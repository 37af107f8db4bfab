"""What ``ckpt show`` says of a checkpoint that a change has closed."""

from __future__ import annotations

import json

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.offset_log import CLOSING


def test_a_closed_checkpoint_is_shown_and_said_to_be_closed(golden, capsys):
    checkpoint = golden("agg-hdfs")
    assert run(["show", str(checkpoint), "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    newest = before["latest_planned_batch"]
    (checkpoint / f"offsets/{newest + 1}").write_bytes(CLOSING)
    assert run(["show", str(checkpoint), "--json"]) == 0
    found = {**before["checked"], "errors": 1, "codes": ["CKPT103"]}
    assert json.loads(capsys.readouterr().out) == {**before, "closed": True, "checked": found}
    assert run(["show", str(checkpoint)]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert f"offsets/{newest + 1} closes this checkpoint: a change by ckpt has not ended" in said
    assert "ckpt undo" in said


def test_damage_beside_the_closing_entry_is_still_an_error(golden, capsys):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets/8").write_bytes(CLOSING)
    (checkpoint / "offsets/7").write_text("garbage")
    assert run(["show", str(checkpoint)]) == 3
    assert "offsets/7" in capsys.readouterr().err
