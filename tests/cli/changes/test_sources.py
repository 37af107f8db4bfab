"""``ckpt sources``: what it shows, what it plans and carries out, and what it refuses."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]
NAMES = ["--as", "orders=0", "--as", "payments=1"]


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_without_options_it_shows_the_sources(golden, capsys):
    place = golden("two-sources")
    (place / "sources/2").mkdir()
    code, shown = ckpt(capsys, "sources", place)
    assert code == 0
    assert [source["source_id"] for source in shown["sources"]] == ["0", "1"]
    assert shown["leftovers"] == [{"name": "sources/2", "files": 0}]
    assert run(["sources", str(place)]) == 0
    text = capsys.readouterr().out
    assert '{"logOffset":3}' in text
    assert "sources/2 belongs to no source" in text.replace("\n", " ")


def test_a_plan_is_written_approved_carried_out_and_taken_back(golden, capsys, tmp_path):
    place = golden("two-sources")
    code, planned = ckpt(capsys, "sources", place, *NAMES, "--plan-out", tmp_path / "plan.json")
    assert (code, planned["plan"]["kind"], planned["sink_effect"]) == (0, "sources", "exact")
    assert "ckpt sources" in planned["apply_command"]
    code, applied = ckpt(capsys, "sources", place, "--plan", tmp_path / "plan.json", "--approved-by", "ben", *DO_IT)
    assert (code, applied["receipt"]["status"]) == (0, "applied")
    assert [source["source_id"] for source in ckpt(capsys, "sources", place)[1]["sources"]] == ["orders", "payments"]
    (change,) = ckpt(capsys, "history", place)[1]["changes"]
    assert (change["kind"], change["approved_by"]) == ("sources", "ben")
    assert ckpt(capsys, "undo", place, *DO_IT)[0] == 0
    assert [source["source_id"] for source in ckpt(capsys, "sources", place)[1]["sources"]] == ["0", "1"]


def test_a_plan_is_shown_with_what_it_does_and_asks_for_the_word_that_the_query_is_stopped(golden, capsys):
    place = golden("two-sources")
    assert run(["sources", str(place), *NAMES]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for says in ("change of sources to those of the next query", "written first and removed last", "close"):
        assert says in text
    code, refused = ckpt(capsys, "sources", place, *NAMES, "--execute")
    assert (code, refused["error"]["code"]) == (4, "CHECKPOINT_BUSY")
    assert "this change of sources needs a statement" in refused["error"]["message"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--drop", "0"], "--drop needs --as NEW=OLD"),
        (["--execute"], "--execute needs --as NEW=OLD"),
        (["--as", "0"], "'0' is not NEW=OLD"),
        (["--as", "a b=0"], "is not the name of a source"),
        (["--plan", "p.json", *NAMES], "leave out --as"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(golden, capsys, words, says):
    code, error = ckpt(capsys, "sources", golden("two-sources"), *words)
    assert code == 2
    assert says in json.dumps(error)


def test_a_source_that_is_not_mentioned_is_refused_with_what_to_say(golden, capsys):
    code, refused = ckpt(capsys, "sources", golden("two-sources"), "--as", "0=0")
    assert code == 4
    assert "nothing is said of source 1" in refused["error"]["message"]
    assert "--drop 1" in refused["error"]["hint"]


def test_the_finding_of_the_gate_names_the_command(golden, capsys):
    place = golden("two-sources")
    _, told = ckpt(capsys, "gate", place, "--source-count", "3")
    (finding,) = [found for found in told["findings"] if found["code"] == "CKPT210"][:1]
    assert finding["commands"] == [f"ckpt sources {place} --as 0=OLD --as 1=OLD --as 2=OLD"]
