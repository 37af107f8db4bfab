"""A command that is said again, because nobody saw it end: it answers that the change was made, and makes no other one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.record.journal import UNDONE
from airflow_provider_ckpt.cli import run

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "unknown"]


@pytest.fixture
def ckpt(capsys):
    def call(*arguments):
        code = run([*map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def tree(place):
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_a_change_behind_a_fence_that_is_said_again_was_made(golden, ckpt):
    words = ["sources", "--as", "n0=0", "--as", "n1=1", "--fence", "--execute", "--quiet-period", "0"]
    place = golden("two-sources")
    words = [words[0], place, *words[1:]]
    assert ckpt(*words)[1]["receipt"]["status"] == "applied"
    there = (tree(place), ckpt("history", place)[1])
    code, again = ckpt(*words)
    assert (code, again["receipt"]["status"], again["apply_command"]) == (0, "already_applied", None)
    assert (tree(place), ckpt("history", place)[1]) == there


def test_its_plan_says_who_has_made_it(golden, ckpt, capsys):
    place = golden("two-sources")
    words = ["sources", str(place), "--as", "0=1", "--as", "1=0"]
    ckpt(*words, *DO_IT)
    assert run(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"of {place} was carried out already by " in said and "Nothing was done now." in said


def test_a_plan_that_was_carried_out_is_done_whatever_has_happened_since(golden, ckpt, tmp_path):
    place = golden("two-sources")
    ckpt("rollback", place, "--to-batch", 2, "--plan-out", tmp_path / "plan.json")
    words = ["rollback", place, "--plan", tmp_path / "plan.json", *DO_IT]
    assert ckpt(*words)[1]["receipt"]["status"] == "applied"
    ckpt("rollback", place, "--to-batch", 1, *DO_IT)
    assert ckpt(*words)[1]["receipt"]["status"] == "already_applied"
    assert not (place / "commits/2").exists()


def test_an_undo_that_is_typed_again_says_first_that_it_goes_further(golden, ckpt):
    place = golden("two-sources")
    for batch_id in (2, 1):
        ckpt("rollback", place, "--to-batch", batch_id, *DO_IT)
    first = ckpt("undo", place, *DO_IT)[1]["plan"]
    plan = ckpt("undo", place)[1]["plan"]
    assert plan["notes"][0].startswith(f"The undo of {first['undoes']} was carried out already by ")
    assert "it takes back the change before it, the rollback" in plan["notes"][0]


def test_an_undo_that_was_killed_before_its_change_says_so_goes_no_further(golden, ckpt):
    place = golden("two-sources")
    ckpt("rollback", place, "--to-batch", 2, *DO_IT)
    record = ckpt("rollback", place, "--to-batch", 1, *DO_IT)[1]["receipt"]["record"]
    ckpt("undo", place, *DO_IT)
    (Path(record) / UNDONE).unlink()
    plan = ckpt("undo", place)[1]["plan"]
    assert plan["undoes"] == Path(record).name
    assert not any("goes further" in note for note in plan["notes"])


def test_an_undo_of_a_change_that_is_named_is_done_once(golden, ckpt):
    place = golden("two-sources")
    ids = [ckpt("rollback", place, "--to-batch", batch_id, *DO_IT)[1]["plan"]["plan_id"] for batch_id in (2, 1)]
    for status in ("applied", "already_applied"):
        code, told = ckpt("undo", place, "--undoes", ids[1], *DO_IT)
        assert (code, told["receipt"]["status"]) == (0, status)
    code, told = ckpt("undo", place, "--undoes", "0123456789abcdef", *DO_IT)
    assert (code, told["error"]["code"]) == (4, "PLAN_REFUSED")
