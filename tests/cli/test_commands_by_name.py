"""What we print is what somebody types next: with a query file the name, and nothing that the file says."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run


@pytest.fixture
def declared(golden, tmp_path, monkeypatch):
    """A damaged checkpoint that a query file declares, in whose directory commands run."""
    checkpoint = golden("agg-hdfs")
    (checkpoint / "commits/7").write_text("")
    (tmp_path / "ckpt.yaml").write_text(
        "format_version: 1\nqueries:\n  orders:\n"
        f"    checkpoint: {checkpoint}\n    sink: kafka\n    backups: {tmp_path}/backups\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_FILE", raising=False)
    return checkpoint


def commands_of(capsys, *words):
    run([*words, "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [command for finding in found for command in finding["commands"]]


@pytest.mark.parametrize("said", ["orders", "its location"])
@pytest.mark.parametrize("command", ["check", "gate"])
def test_commands_of_findings_name_the_query(declared, capsys, tmp_path, command, said):
    place = str(declared) if said == "its location" else said
    assert commands_of(capsys, command, place)[:4] == [
        f"ckpt rollback orders --to-backup {tmp_path}/backups/ID",
        "ckpt rollback orders --to-batch 6",
        "ckpt salvage orders",
        "ckpt restore orders ID --to NEW_LOCATION",
    ]


def test_without_the_file_they_have_the_location_and_words_in_capitals(declared, capsys):
    found = commands_of(capsys, "check", str(declared), "--file", "none")
    assert f"ckpt rollback {declared} --to-batch 6 --sink TYPE[:URI]" in found
    assert "ckpt restore ROOT ID --to NEW_LOCATION --sink TYPE[:URI]" in found


@pytest.mark.parametrize("form", ["text", "junit", "sarif"])
def test_every_form_of_a_check_has_them(declared, capsys, form):
    run(["check", "orders", "--format", form])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "ckpt salvage orders" in shown
    assert "ckpt salvage orders --sink" not in shown


def test_a_file_that_is_found_from_nowhere_is_named(declared, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    named = f"ckpt salvage orders --file {tmp_path}/ckpt.yaml"
    assert named in commands_of(capsys, "check", "orders", "--file", f"{tmp_path}/ckpt.yaml")
    monkeypatch.setenv("CKPT_FILE", f"{tmp_path}/ckpt.yaml")
    assert "ckpt salvage orders" in commands_of(capsys, "check", "orders")


def test_an_error_names_the_query_in_its_commands(declared, capsys, tmp_path):
    (tmp_path / "ckpt.yaml").write_text(f"format_version: 1\nqueries: {{orders: {{checkpoint: {declared}}}}}\n")
    (declared / "offsets/7").write_text("")
    for more in ((), ("--json",)):
        assert run(["rollback", "orders", "--to-batch", "7", *more]) == 4
        told = capsys.readouterr()
        assert "The plan of ckpt rollback orders --to-batch N says" in (told.out if more else told.err)


def test_explain_names_the_query(declared, capsys):
    run(["explain", "INVALID_LOG_VERSION.EXACT_MATCH_VERSION", "orders"])
    text = capsys.readouterr().out
    assert f" {declared}" not in "".join(line for line in text.splitlines() if "ckpt " in line)


def test_the_way_back_of_a_change_names_the_query(declared, capsys):
    words = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "duplicated"]
    assert run(["rollback", str(declared), "--to-batch", "6", *words]) == 0
    assert "To undo it: ckpt undo orders --undoes " in capsys.readouterr().out
