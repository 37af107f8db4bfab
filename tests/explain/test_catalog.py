"""An entry of the catalogue is read whole, or refused."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.catalog import parse_catalog


def test_an_entry():
    text = "- conditions: [A_B]\n  cause: Why\n    it is.\n  repair: Do.\n  rules: [CKPT101]\n  commands: ['ckpt show {location}']\n"
    (entry,) = parse_catalog(text)
    assert (entry.title, entry.cause.text, entry.repair, entry.page) == ("A_B", "Why it is.", "Do.", None)
    assert (entry.cause.rules, entry.cause.commands) == (("CKPT101",), ("ckpt show {location}",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- {cause: x, repair: y}", "neither conditions nor texts"),
        ("- {conditions: [A], cause: x, repair: y, rulez: []}", "unknown key rulez"),
    ],
)
def test_what_is_no_entry(text, says):
    with pytest.raises(ValueError, match=says):
        parse_catalog(text)
