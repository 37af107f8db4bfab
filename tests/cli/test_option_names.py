"""Options that texts name are options that there are; tests/cli/conftest.py judges each error of each test beside."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import airflow_provider_ckpt
from airflow_provider_ckpt.cli import MODULES, cli, run
from airflow_provider_ckpt.cli.options import Renamed
from airflow_provider_ckpt.errors import CheckpointError
from tests.option_names import foreign_options, options_of, texts_of

#: Of other programs than ours, and the beginning of those of a prune.
OTHERS = {"--glob", "--reset-offsets", "--delete-offsets", "--conf", "--packages", "--keep"}


def test_every_option_that_a_text_names_is_one_of_a_command():
    known = set().union(*map(options_of, MODULES)) | OTHERS | {"--help"}
    for place, text in texts_of(Path(airflow_provider_ckpt.__file__).parent):
        if place.startswith(("report/audit_page.py", "spark/audit.py")):
            continue  # a style sheet, whose variables begin alike; a program of its own
        if place.startswith(("query/spark_submit.py", "engines/")):
            continue  # options of spark-submit, which are read or given
        if place.startswith("cli/options.py") and text == "--backups":
            continue  # former names, which nothing else says
        wrong = [option for option in foreign_options("", text) if option not in known] if "--" in text else []
        assert wrong == [], f"{place}: {text}"


@pytest.mark.parametrize(
    ("name", "former", "commands"),
    [
        ("--backup-root", "--backups", ["fleet", "rollback", "salvage"]),
    ],
)
def test_the_help_has_one_name_and_a_former_one_is_taken(name, former, commands):
    assert [command for command in sorted(MODULES) if name in options_of(command)] == commands
    for command in commands:
        renamed = [param.opts for param in cli.commands[command].params if isinstance(param, Renamed)]
        assert [name, former] in renamed
        shown = CliRunner().invoke(cli, [command, "--help"]).output
        assert f"{name} " in shown and f"{former} " not in shown


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Add --deep.", ["--deep"]),
        ("Add --quiet-period 60.", []),
        ("See ckpt check --deep LOC.", []),
        ("See ckpt check --quiet-period.", ["--quiet-period"]),
        ("See 'ckpt check --deep s3://a/b.c' first. Then add --deep.", ["--deep"]),
        ("Run its command again with --export.", []),
        ("a--deep and ---- are none", []),
    ],
)
def test_what_is_foreign_to_a_rollback(text, foreign):
    assert foreign_options("rollback", text) == foreign


def test_the_errors_of_these_tests_are_judged(monkeypatch, tmp_path):
    def fail(*_: object) -> None:
        raise CheckpointError("no.", hint="Add --deep.")

    monkeypatch.setattr("airflow_provider_ckpt.cli.changes.history.survey", fail)
    with pytest.raises(AssertionError, match="ckpt history says: no. Add --deep"):
        run(["history", str(tmp_path)])
