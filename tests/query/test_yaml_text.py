"""YAML of strangers is read within bounds."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query import yaml_text
from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS, MOST_YAML_DEPTH, parse_yaml

REFUSED = {
    "a: [": "not YAML: ",
    "a: 1\na: 2": "line 2 gives 'a' again; give it once",
    "a: &x 1\nb: *x": r"line 2 has the alias \*x, which is refused; write the value itself",
    "[" * (MOST_YAML_DEPTH + 1) + "]" * (MOST_YAML_DEPTH + 1): "nested deeper than 50 levels",
    "#" * (MOST_YAML_CHARS + 1): "more than 1,048,576 characters",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=[text[:40] for text in REFUSED])
def test_what_is_too_much_or_twice_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_yaml(text)


def test_yaml_at_its_bounds_is_read(monkeypatch):
    monkeypatch.setattr(yaml_text, "MOST_YAML_CHARS", 1_000)
    assert parse_yaml("#" * 1_000) is None
    with pytest.raises(ValueError, match="more than 1,000 characters"):
        parse_yaml("#" * 1_001)
    assert parse_yaml("[" * MOST_YAML_DEPTH + "]" * MOST_YAML_DEPTH)
