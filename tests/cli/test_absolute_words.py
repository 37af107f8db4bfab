"""Printed commands mean the same in every directory, and to a shell what they say."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.cli.absolute_words import PLACES, absolute_words, named_by
from airflow_provider_ckpt.cli.options import SOURCE

#: Metavars of options that name no place. A new option belongs here or to PLACES.
NO_PLACES = frozenset(
    [
        "BACKUPS",
        "BATCH",
        "BATCHES",
        "BATCH[=NAME]",
        "BATCH_ID",
        "DAYS",
        "DURATION",
        "FROM=TO",
        "GROUP",
        "HOST:PORT",
        "HOURS",
        "HOW_FAR",
        "ID",
        "ID.KEY=VALUE",
        "ID=TYPE",
        "ID=kafka:PLACE",
        "ID[=kafka:PLACE]",
        "JSON",
        "JSON|OFFSET",
        "KEY=VALUE",
        "LAG",
        "LEVELS",
        "MONTHS",
        "NAME",
        "NAME.KEY=VALUE",
        "NEW=OLD|new",
        "OFFSETS",
        "OLD",
        "PARTITIONS",
        "PLAN_ID",
        "RECORDS",
        "SNAPSHOT",
        "SOURCES",
        "TABLE",
        "TEXT",
        "THREADS",
        "TIME",
        "TOPIC=NAME",
        "TOPIC[:PARTITIONS]",
        "VERSION",
        "WEEKS",
        "kafka:HOST:PORT",
        "HOST:PORT",
    ]
)

CASES = [
    ("rollback", "a --to-batch 4", "/here/a --to-batch 4"),
    ("rollback", "./a --to-backup=../b/20261127T000000.000Z-00000000", "/here/a --to-backup=/b/20261127T000000.000Z-00000000"),
    ("rollback", "--sink file:out a", "--sink file:/here/out /here/a"),
    ("rollback", "a --sink parquet:out --trim-sink-log", "/here/a --sink parquet:/here/out --trim-sink-log"),
    ("rollback", "a --sink delta:t#txnAppId=a//b", "/here/a --sink delta:/here/t#txnAppId=a//b"),
    ("rollback", "a --sink kafka:orders", "/here/a --sink kafka:orders"),
    ("rollback", "a --downstream q --undo-to u", "/here/a --downstream /here/q --undo-to /here/u"),
    ("rollback", "--to-batch 4 -- -a", "--to-batch 4 /here/-a"),
    ("rollback", "s3://lake/a --undo-to file:///u", "s3://lake/a --undo-to file:///u"),
    ("restore", "root latest --to new --plan p.json", "/here/root latest --to /here/new --plan /here/p.json"),
    ("reset-offsets", "a --source 0=delta:t", "/here/a --source 0=delta:/here/t"),
    ("reset-offsets", "a --source 0=kafka:broker:9092", "/here/a --source 0=kafka:broker:9092"),
    ("reset-offsets", "a --from-file o.csv", "/here/a --from-file /here/o.csv"),
    ("reset-offsets", "a --kafka-config ssl.ca.location=ca.pem", "/here/a --kafka-config ssl.ca.location=/here/ca.pem"),
    ("reset-offsets", "a --kafka-config client.id=ckpt", "/here/a --kafka-config client.id=ckpt"),
    ("seed", "a --from b", "/here/a --from /here/b"),
    ("salvage", "a --backup-root b", "/here/a --backup-root /here/b"),
    ("repair", "a --sink file:out --copy c", "/here/a --sink file:/here/out --copy /here/c"),
    ("show", "~/a", f"{Path.home()}/a"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "typed", "meant"), CASES)
def test_a_relative_path_is_made_absolute_and_nothing_else_is_changed(monkeypatch, command, typed, meant):
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    assert absolute_words(cli.commands[command], typed.split()) == meant.split()


def test_sources_that_findings_name_in_commands_are_absolute(monkeypatch):
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    told = ["0=file:in/*.json", "1=Delta:t", "2=kafka:broker:9092/orders", "3=iceberg"]
    assert [SOURCE.convert(text, None, None).text for text in told] == [
        "file:/here/in/*.json",
        "delta:/here/t",
        "kafka:broker:9092/orders",
        "iceberg",
    ]


def test_of_each_option_it_is_known_whether_it_names_a_place():
    options = [
        (name, param)
        for name, command in cli.commands.items()
        for param in command.params
        if isinstance(param, click.Option) and not param.is_flag and param.metavar
    ]
    unknown = {
        (name, param.opts[0]) for name, param in options if not named_by(param) and param.metavar not in NO_PLACES
    }
    assert unknown == set() and not NO_PLACES & PLACES.keys()


@pytest.mark.parametrize("by_plan", [[], ["--plan-out", "plan.json"]])
def test_what_is_printed_here_is_carried_out_and_taken_back_elsewhere(golden, capsys, monkeypatch, tmp_path, by_plan):
    home = golden("agg-hdfs").parent.rename(tmp_path / "it's a lake")
    (elsewhere := tmp_path / "elsewhere").mkdir()

    def printed(at: Path, *arguments: str) -> str:
        """The last line that a command prints in a directory."""
        monkeypatch.chdir(at)
        assert run(arguments) == 0
        return capsys.readouterr().out.rstrip().split("\n")[-1]

    quick = ["--quiet-period", "0", "--undo-to", "../undo"]
    carry_out = shlex.split(
        printed(home, "rollback", "checkpoint", "--to-batch", "6", "--sink", "noop", *quick, *by_plan)
    )
    undo = printed(elsewhere, *carry_out[1:]).partition("To undo it: ")[2]
    assert not (home / "checkpoint" / "commits" / "7").exists()
    assert printed(elsewhere, *carry_out[1:]).endswith(f"To undo it: {undo}") or not by_plan
    undo = printed(home, *shlex.split(undo)[1:], "--sink", "noop", "--quiet-period", "0")
    printed(elsewhere, *shlex.split(undo)[1:])
    assert (home / "checkpoint" / "commits" / "7").exists() and not list(elsewhere.iterdir())
