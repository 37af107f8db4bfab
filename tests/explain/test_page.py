"""A page of the runbook is parsed whole, or refused with its name."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.page import parse_page

SECTIONS = "# T\n\n## Cause\n\nWhy\nit is.\n\nMore.\n\n## Evidence\n\nE\n\n## Repair\n\nR\n\n## Prevention\n\nP\n"
FRONT = "---\ntitle: T\nsymptom: 7\ntexts: ['a (?P<b>x)']\nrules: [CKPT101]\ncommands: ['ckpt show {location}']\n"


def test_a_page_with_one_cause():
    page = parse_page("t", f"{FRONT}---\n{SECTIONS}")
    (cause,) = page.causes
    assert (page.name, page.number, page.title, page.rules) == ("t", 7, "T", ("CKPT101",))
    assert (cause.heading, cause.text, cause.commands) == ("", "Why it is.", ("ckpt show {location}",))
    assert page.sections["Repair"] == "R"


def test_a_cause_has_what_it_does_not_say_from_the_page():
    front = f"{FRONT}causes:\n- heading: First\n  rules: [CKPT102]\n- heading: Second\n  frames: [A.b]\n---\n"
    body = SECTIONS.replace("More.\n", "### First\n\nOne.\n\n### Second\n\nTwo.\n")
    first, second = parse_page("t", front + body).causes
    assert (first.text, first.rules, first.commands) == ("One.", ("CKPT102",), ("ckpt show {location}",))
    assert (second.text, second.rules, second.frames) == ("Two.", ("CKPT101",), ("A.b",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SECTIONS, "does not begin with YAML"),
        (f"{FRONT}rulez: []\n---\n{SECTIONS}", "unknown key rulez"),
        (f"{FRONT}---\n{SECTIONS.replace('## Repair', '## Fix')}", "its sections are not"),
        (f"{FRONT}causes: [{{heading: X, rule: []}}]\n---\n{SECTIONS}", "unknown key rule of the cause 'X'"),
        (f"{FRONT}causes: [{{heading: X}}]\n---\n{SECTIONS}", "no heading '### X'"),
    ],
)
def test_what_is_no_page_is_refused(text, says):
    with pytest.raises(ValueError, match="runbook page t: ") as raised:
        parse_page("t", text)
    assert says in str(raised.value)
