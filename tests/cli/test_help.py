"""The help of every command: what an option does, its unit and its default, and an example that parses."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from airflow_provider_ckpt.cli import GROUPS, cli
from airflow_provider_ckpt.cli.options import NO_DEFAULT
from airflow_provider_ckpt.cli.sectioned import _FEW_OPTIONS, _SECTIONS
from tests.package import PACKAGE

COMMANDS = dict(cli.commands)
OPTIONS = [
    pytest.param(name, option, id=f"{name} {option.opts[-1]}")
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
]
#: What a number of the command line counts, as its help shows it.
UNITS = {"BATCHES", "BATCH_ID", "SOURCES", "LEVELS", "THREADS", "BACKUPS", "HOURS", "DAYS", "WEEKS", "MONTHS"}
UNITS |= {"OFFSETS", "PARTITIONS", "RECORDS", "SECONDS", "BYTES", "ROWS", "PORT", "VERSION", "SNAPSHOT"}


def help_of(name: str) -> str:
    return COMMANDS[name].get_help(click.Context(COMMANDS[name], info_name=f"ckpt {name}", terminal_width=1000))


def examples_of(name: str) -> list[list[str]]:
    """The arguments of ``ckpt`` in the examples of a command's help."""
    _, _, rest = help_of(name).partition("Examples:\n")
    lines = rest.partition("\n\n")[0].splitlines()
    words = [shlex.split(line.strip().removeprefix('eval "$(').replace(')"', ""), comments=True) for line in lines]
    return [line[1 : line.index("|") if "|" in line else None] for line in words]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_examples_that_parse(name):
    examples = examples_of(name)
    assert examples
    for called, *arguments in examples:
        assert called == name
        COMMANDS[name].make_context(name, arguments)  # parsed, not executed


def test_the_help_has_the_groups_of_the_reference_and_a_line_for_each_command_in_80_columns():
    text = cli.get_help(click.Context(cli, info_name="ckpt", terminal_width=80))
    commands = text.partition("Options:")[0].partition("\n\n")[2]
    assert "..." not in commands and max(map(len, text.splitlines())) <= 80
    reference = (PACKAGE.parent / "docs" / "reference.md").read_text()
    sections = {}
    for section in reference.split("\n## ")[1:]:
        if found := re.findall(r"^### ckpt ([a-z-]+)", section, re.MULTILINE):
            sections[section.partition("\n")[0]] = found
    shells = sections.pop("What all commands have in common")
    described = {group: sorted(names) for group, names in {**sections, "Shells and assistants": shells}.items()}
    assert described == {group: sorted(names) for group, names in GROUPS.items()}
    for group, names in GROUPS.items():
        (block,) = re.findall(rf"^{group}:\n((?:  .*\n)*)", commands, re.MULTILINE)
        assert re.findall(r"^  ([a-z-]+) +[A-Z].*\.$", block, re.MULTILINE) == list(names)
        assert len(block.splitlines()) == len(names)
    assert set(COMMANDS) == {name for names in GROUPS.values() for name in names}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_described_by_a_sentence(name):
    described = help_of(name).splitlines()[2].strip()
    assert described[0].isupper()
    assert described.split()[0] not in ("What", "Where", "How", "The")  # it says what the command does
    assert described.endswith(".")


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_is_described_by_a_sentence(name, option):
    assert option.help
    assert option.help[0].isupper()
    assert option.help.endswith(".")


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_shows_its_default(name, option):
    """Where it shows none, the help of the command says that it has none."""
    has_default = isinstance(option.default, str | int | float) and not isinstance(option.default, bool)
    if has_default:
        assert option.show_default or "by default" in option.help.lower()
    assert NO_DEFAULT in help_of(name)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_names_its_unit(name, option):
    kind = option.type.name
    if kind == "duration":
        assert option.metavar == "DURATION"
        assert "seconds" in option.help
    elif kind == "time":
        assert option.metavar == "TIME"
    elif isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
        assert option.metavar in UNITS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_with_times_says_how_they_are_written(name):
    metavars = {option.metavar for option in COMMANDS[name].params if isinstance(option, click.Option)}
    if "TIME" in metavars:
        assert "A TIME is ISO 8601 (UTC when it has no time zone)" in help_of(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_shown_once_and_the_common_ones_before_the_others(name):
    options = [option for option in COMMANDS[name].params if isinstance(option, click.Option) and not option.hidden]
    text = help_of(name).partition("Examples:")[0]
    lines = re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.MULTILINE)
    assert sorted(lines) == sorted([*(option.opts[0] for option in options), "--help"])
    titles = re.findall(r"^([A-Z][a-z ]+):$", text, re.MULTILINE)
    known = ["Options", *_SECTIONS]
    assert titles == [title for title in known if title in titles]
    assert (len(titles) > 1) == (len(lines) >= _FEW_OPTIONS)
    if "Carrying it out:" in text and "--execute" in lines:
        assert text.partition("Carrying it out:")[2].split()[0] == "--execute"
