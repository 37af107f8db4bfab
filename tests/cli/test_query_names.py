"""The name of a query stands where a location stands, and brings what its query file declares."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.cli.query_names import _OF_COMMANDS, _OPTIONS

WORD = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")


@pytest.fixture
def declared(golden, tmp_path, monkeypatch):
    """A directory with a query file, in which commands run; writes another one when it is called."""
    checkpoint = golden("agg-hdfs")

    def declare(text: str = "sink: kafka") -> None:
        (tmp_path / "ckpt.yaml").write_text(
            f'format_version: 1\ndefaults: {{undo: "{tmp_path}/undo/{{query}}"}}\nqueries:\n  orders:\n'
            f"    checkpoint: {checkpoint}\n    backups: {tmp_path}/backups\n    {text}\n"
        )

    declare()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("CKPT_FILE", raising=False)
    declare.checkpoint, declare.file = checkpoint, tmp_path / "ckpt.yaml"
    return declare


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("said", ["orders", "location", "relative"])
def test_a_name_a_location_and_both_are_one_query(declared, capsys, said):
    words = {"orders": "orders", "location": declared.checkpoint, "relative": "../agg-hdfs/checkpoint"}
    code, planned = ckpt(capsys, "rollback", words[said], "--to-batch", 6)
    assert (code, planned["plan"]["location"]) == (0, str(declared.checkpoint))
    assert planned["plan"]["sink_effects"][0]["sink"] == "kafka"
    assert planned["declared"] == {
        "--sink": f"{declared.file} line 7",
        "--undo-to": f"{declared.file} line 2",
        "--backup-root": f"{declared.file} line 6",
    }


def test_an_option_wins_over_the_file(declared, capsys):
    planned = ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--sink", "console")[1]
    assert planned["plan"]["sink_effects"][0]["sink"] == "console"
    assert "--sink" not in planned["declared"]


def test_a_printed_command_keeps_the_name_and_says_its_file(declared, capsys):
    planned = ckpt(capsys, "rollback", "orders", "--to-batch", 6)[1]
    assert planned["apply_command"] == (
        f"ckpt rollback orders --to-batch 6 --file {declared.file} --execute --i-know-it-is-stopped "
        "--accept-sink duplicated"
    )


def test_a_change_by_name_keeps_what_goes_where_the_file_says(declared, capsys):
    done = ckpt(capsys, "rollback", "orders", "--to-batch", 6, *WORD, "--accept-sink", "duplicated")[1]
    assert done["receipt"]["status"] == "applied"
    assert (declared.file.parent / "undo/orders").is_dir()
    assert [change["kind"] for change in ckpt(capsys, "history", "orders")[1]["changes"]] == ["rollback"]
    assert ckpt(capsys, "undo", "orders", *WORD)[0] == 0


def test_a_plan_of_another_declaration_is_stale_and_says_the_difference(declared, capsys):
    plan = declared.file.parent / "plan.json"
    assert ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--plan-out", plan)[0] == 0
    assert ckpt(capsys, "rollback", "orders", "--plan", plan)[0] == 0
    declared("sink: console")
    code, error = ckpt(capsys, "rollback", "orders", "--plan", plan)
    assert (code, error["error"]["code"]) == (4, "STALE_PLAN")
    assert error["error"]["message"] == (
        f"the plan was made for the sink kafka, and {declared.file} line 7 declares console now."
    )


def test_backups_of_a_query_are_under_the_root_that_the_file_says(declared, capsys):
    assert ckpt(capsys, "backup", "orders")[0] == 0
    assert len(ckpt(capsys, "backups", "orders")[1]["backups"]) == 1
    assert ckpt(capsys, "verify", "orders")[0] == 0


@pytest.mark.parametrize("option", [("--to", "orders"), ("--to=orders",)])
def test_a_restore_goes_to_the_checkpoint_of_a_name_and_to_no_directory_of_that_name(declared, capsys, option):
    assert ckpt(capsys, "backup", "orders")[0] == 0
    declared.checkpoint.rename(declared.checkpoint.with_name("lost"))
    assert ckpt(capsys, "restore", "orders", "latest", *option, "--execute", "--accept-sink", "unknown")[0] in (0, 4)
    planned = ckpt(capsys, "restore", "orders", "latest", *option)[1]
    assert planned["plan"]["location"] == str(declared.checkpoint)
    assert not (declared.file.parent / "below/orders").exists()


@pytest.mark.parametrize("how", ["option", "option with =", "environment"])
def test_the_file_is_named_or_found_upwards(declared, capsys, monkeypatch, tmp_path_factory, how):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    words = {"option": ["--file", declared.file], "option with =": [f"--file={declared.file}"], "environment": []}
    if how == "environment":
        monkeypatch.setenv("CKPT_FILE", str(declared.file))
    assert ckpt(capsys, "show", "orders", *words[how])[0] == 0


def test_a_name_that_is_none_is_told_with_one_that_is_near(declared, capsys):
    assert run(["show", "ordres"]) == 2
    assert f"ordres is no query of {declared.file}, and nothing is there; did you mean orders?" in (
        capsys.readouterr().err
    )


def test_a_file_that_is_broken_ends_the_command_with_its_line(declared, capsys):
    declared("sinc: kafka")
    assert run(["show", "orders"]) == 2
    assert f"{declared.file} line 7, queries.orders.sinc: it is unknown here" in capsys.readouterr().err


def test_without_a_query_file_nothing_changes(declared, capsys):
    declared.file.unlink()
    assert ckpt(capsys, "show", declared.checkpoint)[0] == 0
    assert run(["show", "orders"]) == 3


def test_each_option_that_the_file_fills_is_one_of_a_command():
    known = {option for command in cli.commands.values() for param in command.params for option in param.opts}
    assert set(_OPTIONS) <= known
    for command, options in _OF_COMMANDS.items():
        assert set(options) <= {option for param in cli.commands[command].params for option in param.opts}
