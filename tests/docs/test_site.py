"""The site reads lists as GitHub does."""

from __future__ import annotations

import importlib.util

import pytest

from tests.docs.blocks import ROOT

SPEC = importlib.util.spec_from_file_location("site_lists", ROOT / "packaging/site_lists.py")
assert SPEC and SPEC.loader
site_lists = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site_lists)


@pytest.mark.parametrize(
    ("text", "indented"),
    [
        ("1. a\n   b\n\n       code\n\n   c\n2. d\n3. e", "1. a\n    b\n\n        code\n\n    c\n\n2. d\n3. e"),
        ("* a\n  b\n\n      code", "* a\n    b\n\n        code"),
        ("a\n\n    code\n\n1. b", "a\n\n    code\n\n1. b"),
        ("* a\n\nb\n\n    code", "* a\n\nb\n\n    code"),
        ("* a\n  * b\n    c", "* a\n    * b\n      c"),
        ("* a\n\n```text\n  b\n```\n  c", "* a\n\n```text\n  b\n```\n  c"),
        ("* a\n\n  ```text\nb\n  ```\n  c", "* a\n\n    ```text\nb\n    ```\n    c"),
    ],
)
def test_what_belongs_to_an_item_is_indented_by_four(text, indented):
    assert site_lists.indented(text) == indented


def test_the_name_of_a_condition_breaks_behind_its_underscores_alone():
    cell = "<td><code>CANNOT_LOAD_STATE_STORE.KEY_ROW</code>, <code>ckpt undo_it</code></td>"
    assert site_lists.breakable(cell) == (
        "<td><code>CANNOT_<wbr>LOAD_<wbr>STATE_<wbr>STORE.<wbr>KEY_<wbr>ROW</code>, <code>ckpt undo_it</code></td>"
    )
    style = (ROOT / "docs/site.css").read_text()
    assert ".md-typeset td code" in style and "word-break: normal" in style
    assert "site.css" in (ROOT / "mkdocs.yml").read_text()
