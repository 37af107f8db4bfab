"""Every code block is run, read by what reads it, or says why not: the cheap half; `make docs-run` runs the rest."""

from __future__ import annotations

import ast
import configparser
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import ROOT, Block, blocks_of, counts, script_of, way_of
from tests.docs.shell import commands_of, said, shows
from tests.pages import pages

BLOCKS = [block for page in pages() for block in blocks_of(page)]
#: Few: each has a reason, and most name the test that runs the like of it.
MOST_NOT_RUN = 5
#: What no reader here can run, with the reason.
NOT_RUN = {block: block.notes["not run"] for block in BLOCKS if "not run" in block.notes}
REASONS = [*NOT_RUN.values(), *(block.notes["only made"] for block in BLOCKS if "only made" in block.notes)]


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_is_run_or_read_or_says_why_not(block):
    assert way_of(block), f"{block}: no test knows what to do with a block of {block.language}"


def test_few_blocks_are_not_run():
    assert len(NOT_RUN) <= MOST_NOT_RUN, counts(BLOCKS)
    assert all(len(reason.split()) >= 3 for reason in REASONS)


def test_what_a_reason_names_is_there():
    named = {name for reason in REASONS for name in re.findall(r"\b(?:tests|dags)/[\w./]*\w", reason)}
    assert {name for name in named if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("block", [block for block in BLOCKS if "run by" in block.notes], ids=str)
def test_what_another_test_runs_is_read_there(block):
    """Of a block with ``run by``: the file is there and names the page."""
    test = ROOT / block.notes["run by"]
    assert Path(block.page).name in test.read_text()


def test_the_table_of_the_demo_has_the_rows_that_it_prints():
    """Of docs/how-to/index.md: their names, in order; CI runs the demo."""
    [shown] = [
        block for block in BLOCKS if block.page == "docs/how-to/index.md" and "checkpoint_lifecycle" in block.text
    ]
    rows = re.findall(r"^│ (.+?) +│", shown.text, re.MULTILINE)
    written = "".join((ROOT / name).read_text() for name in ("dags/checkpoint_lifecycle.py", "demo/run.py"))
    said = re.findall(r"\"([a-z][a-z0-9 ]+)\"(?::|, )", written[written.index("summary = {") :])
    assert rows == [name for name in dict.fromkeys(said) if name in rows]


@pytest.mark.parametrize("block", of("sh", "bash", "cron"), ids=str)
def test_a_shell_block_has_whole_commands(block):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert commands_of(script_of(block)) or set(re.findall(r"^make ([a-z-]+)", block.text, re.MULTILINE)) <= {*targets}


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_a_python_block_parses(block):
    ast.parse(block.text)


@pytest.mark.parametrize("block", of("yaml", "json", "toml", "ini"), ids=str)
def test_a_block_of_data_parses(block):
    readers = {"yaml": yaml.safe_load, "json": json.loads, "toml": tomllib.loads, "ini": _sections}
    assert readers[block.language](block.text)


def _sections(text: str) -> list[str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser.sections()


def test_a_fenced_block_an_indented_one_and_their_comments(tmp_path):
    page = ROOT / "docs/shown.md"
    text = "a\n\n<!-- exit codes: 1 0 -->\n\n```sh\nckpt a\n```\n\n    ckpt b\n\n* item\n\n  more of it\n\n      ckpt c\n\nb\n\n    a table\n"
    blocks = blocks_of(page, text)
    assert [(block.line, block.language, block.text) for block in blocks] == [
        (6, "sh", "ckpt a"),
        (9, "sh", "ckpt b"),
        (15, "sh", "ckpt c"),
        (19, "text", "a table"),
    ]
    assert [dict(block.notes) for block in blocks] == [{"exit codes": "1 0"}, {}, {}, {}]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a\nb # c", ["a", "b # c"]),
        ("a \\\n  b\nc", ["a \\\n  b", "c"]),
        ("a '{\n}'\nb", ["a '{\n}'", "b"]),
        ("# only a comment\nmake demo", []),
        ("#!/bin/sh\na\nb", ["#!/bin/sh\na\nb"]),
    ],
)
def test_the_commands_of_a_block(text, commands):
    assert commands_of(text) == commands


@pytest.mark.parametrize(
    ("shown", "output", "is_shown"),
    [
        ("│ 43 │ yes │", "┃ batch ┃\n│    43 │ yes │\n└──┘", True),
        ("BLOCK a: b\nc", "BLOCK a: b c; d", True),
        ("BLOCK a … d", "BLOCK a: b c; d", True),
        ("BLOCK d … a", "BLOCK a: b c; d", False),
        ("at 2026-11-21T08:38:11.551Z", "at 2026-11-22T09:00:00.000Z", True),
        ("│ 42 │", "│ 43 │", False),
    ],
)
def test_a_page_shows_what_was_printed(shown, output, is_shown):
    assert shows(shown, output) is is_shown


def test_what_differs_from_run_to_run_is_left_out():
    assert said("20261122T062407.103Z-17ea636e of batch 7: 4.9 kB, 17ea636e") == "BACKUP of batch 7: SIZE , ID"
