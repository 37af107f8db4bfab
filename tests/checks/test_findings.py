"""Every code is explained: a finding links to its section, and no section is about a code that does not exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.checks.rule_pages import text_of, texts
from airflow_provider_ckpt.cli import run

PAGE = Path(__file__).parents[2] / "docs/rules.md"


def sections() -> dict[str, str]:
    """Text by code, in the order of the page."""
    _, *parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    bodies = (re.sub(r"^# .+$", "", body, flags=re.MULTILINE).strip() for body in parts[1::2])
    return dict(zip(parts[::2], bodies, strict=True))


def test_every_code_has_a_section_and_no_section_is_of_an_unknown_code():
    assert list(sections()) == list(RULES)


@pytest.mark.parametrize("code", RULES)
def test_a_section_has_the_title_of_its_rule_and_explains_it(code):
    body = sections()[code]
    assert body.startswith(f"**{RULES[code]}.** ")
    lines = body.split("\n")
    assert 3 <= len(lines) <= 6 and all(len(line) <= 120 for line in lines)
    assert "" not in lines, "one paragraph, so that it can be quoted whole"


def test_the_package_holds_the_page():
    """One source: what the command prints is what the page says."""
    assert dict(texts()) == sections()


@pytest.mark.parametrize("code", RULES)
def test_a_finding_names_the_command_that_explains_it(capsys, code):
    command, name, argument = Finding(code, "note", "").doc.split()
    assert (command, run([name, argument])) == ("ckpt", 0)
    assert capsys.readouterr().out == f"{code}: {text_of(code)}\n"


def test_explain_lists_the_rules_and_refuses_others(capsys):
    assert run(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RULES)
    assert run(["explain", "ckpt201", "CKPT102", "--json"]) == 0
    assert [item["code"] for item in json.loads(capsys.readouterr().out)["explanations"]] == ["CKPT201", "CKPT102"]
    assert run(["explain", "CKPT999"]) == 2


def test_every_code_of_the_package_is_a_rule():
    package = PAGE.parents[1] / "airflow_provider_ckpt"
    written = {code for path in package.rglob("*.py") for code in re.findall(r'"(CKPT\d{3})"', path.read_text())}
    assert sorted(written - RULES.keys()) == []
