"""Every code is explained: a finding links to its section, and no section is about a code that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.findings import RULES, RULES_PAGE, Finding

PAGE = Path(__file__).parents[1] / RULES_PAGE


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


def test_a_finding_links_to_its_section():
    anchors = {f"{RULES_PAGE}#{re.sub(r'[^a-z0-9-]', '', heading.lower())}" for heading in sections()}
    assert {Finding(code, "note", "").doc for code in RULES} == anchors


def test_every_code_of_the_package_is_a_rule():
    package = PAGE.parents[1] / "airflow_provider_ckpt"
    written = {code for path in package.rglob("*.py") for code in re.findall(r'"(CKPT\d{3})"', path.read_text())}
    assert sorted(written - RULES.keys()) == []
