"""No example of the runbook is left in a command that is printed."""

from __future__ import annotations

import re

import pytest

from airflow_provider_ckpt.explain.explanation import without_examples
from airflow_provider_ckpt.explain.given import Given
from airflow_provider_ckpt.explain.read_index import read_pages

#: A location, a number or a name of an example, in a command.
_EXAMPLE = re.compile(r"\w+://|(?<![\w-])--(?!source )[\w-]+ \d|broker:")
_COMMAND = re.compile(r"ckpt \w[^\n`]*(?:\\\n[^\n]*)*")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ckpt rollback s3://lake/checkpoints/audit --to-batch 41", "ckpt rollback {} --to-batch N"),
        ("--to-backup s3://lake/backups/audit/ID", "--to-backup ROOT/ID"),
        ("--backup-root s3://lake/backups --sink", "--backup-root ROOT --sink"),
        (
            "ckpt seed s3://lake/checkpoints/orders-2 --from s3://lake/checkpoints/orders",
            "ckpt seed NEW_LOCATION --from {}",
        ),
        ("--skip-version 17", "--skip-version VERSION"),
        ("--as 0=0 --as 1=1 --as 2=new --execute", "--as NEW=OLD --execute"),
        ("ckpt export x --as startingOffsets", "ckpt export x --as startingOffsets"),
    ],
)
def test_an_example(text, expected):
    assert without_examples(text, None) == expected.format("LOCATION")
    assert without_examples(text, "/data/my ck") == expected.format("'/data/my ck'")


@pytest.mark.parametrize("page", read_pages(), ids=lambda page: page.name)
def test_a_page_has_no_example_in_its_commands(page):
    for text in (page.sections["Repair"], *(cause.repair for cause in page.causes)):
        shown = without_examples(Given().in_place(text, examples=True), None)
        assert not [command for command in _COMMAND.findall(shown) if _EXAMPLE.search(command)]
