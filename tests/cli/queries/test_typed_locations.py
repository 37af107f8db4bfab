"""Locations that are typed go through ``paths`` of the query file, as those of the file do."""

from __future__ import annotations

import json

from airflow_provider_ckpt.cli import run

PATHS = "paths: {{'dbfs:/mnt/lake': '{root}'}}\n"


def test_a_typed_location_and_a_typed_sink_are_opened_as_the_file_says(declared, capsys):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}", PATHS.format(root=declared.checkpoint.parent))
    name = declared.checkpoint.name
    for spelled in ("dbfs:/mnt/lake", "dbfs:///mnt/lake", "/dbfs/mnt/lake"):
        assert run(["show", f"{spelled}/{name}", "--json"]) == 0, spelled
        assert json.loads(capsys.readouterr().out)["location"].endswith(f"/{name}")
    words = ["rollback", "orders", "--to-batch", "6", "--json"]
    answers = []
    for sink in (f"file:{declared.checkpoint.parent}/out", "file:dbfs:/mnt/lake/out"):
        run([*words, "--sink", sink])
        answers.append(capsys.readouterr())
    assert "is not the beginning of a URI" not in answers[1].out + answers[1].err
    assert f"{declared.checkpoint.parent}/out" in answers[1].out + answers[1].err
