"""Templates: whatever is put into a page is text, and can be seen."""

from __future__ import annotations

import html
import re
import shlex

import pytest
from fastapi import Request
from markupsafe import Markup

from airflow_provider_ckpt.plugin.render import _environment, render
from tests.package import PACKAGE

REQUEST = Request(
    {
        "type": "http",
        "method": "GET",
        "path": "/ckpt/x",
        "root_path": "/ckpt",
        "headers": [],
        "query_string": b"",
        "server": ("h", 80),
        "scheme": "http",
    }
)


def shown(what: object) -> str:
    return (
        render(REQUEST, "error.html", title="t", what=what, code=404)
        .body.decode()
        .partition('<p role="alert">')[2]
        .partition("</p>")[0]
    )


@pytest.mark.parametrize(
    ("value", "page"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\"'><img src=x onerror=1>", "&#34;&#39;&gt;&lt;img src=x onerror=1&gt;"),
        ("{{ 7 * 7 }}{% raw %}", "{{ 7 * 7 }}{% raw %}"),
        ("left\u202eright\x1b[2J\x00", r"left\u202eright\x1b[2J\x00"),
        ("\ud800", "\ufffd"),
        (None, ""),
        (5, "5"),
        (Markup("<b>ours</b>"), "<b>ours</b>"),
    ],
)
def test_a_value_is_text(value, page):
    assert shown(value) == page


@pytest.mark.parametrize("value", ["##[error]x", "a\u202eb", "a\tb\xa0", "\"'><&amp;", '{"a": "##vso[x]"}', "ü / 100%"])
def test_what_a_program_reads_is_exact_and_hides_nothing(value):
    page = _environment().from_string('<input value="{{ value | exact }}">').render(value=value)
    (found,) = re.findall(r'<input value="([^"]*)">', page)
    assert html.unescape(found) == value
    assert not set(page) & set("\u202e\t\xa0") and "<" not in found


def test_a_location_in_a_command_is_one_word_of_a_shell():
    """Who writes a checkpoint has chosen the names of its directories, and people copy the commands."""
    text = _environment().from_string("ckpt undo {{ location | shell }}").render(location="/lake/a;id $(id)")
    assert shlex.split(html.unescape(text)) == ["ckpt", "undo", "/lake/a;id $(id)"]


def test_every_command_of_a_template_quotes_the_location():
    calls = [
        line
        for path in PACKAGE.glob("plugin/templates/*.html")
        for line in re.findall(r"command\(\"ckpt[^}]*", path.read_text())
    ]
    assert calls
    assert [call for call in calls if "location" in call and "location | shell" not in call] == []
