"""The site reads lists as GitHub does, and has the pages that are made from the code."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.pages import MADE, ROOT


def hook(name: str) -> ModuleType:
    """A hook of mkdocs, which is no module of a package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"packaging/{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site_lists, site_pages = hook("site_lists"), hook("site_pages")


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


def test_the_pages_that_are_made_are_written_before_the_site_is_built(tmp_path):
    site_pages.on_pre_build({"docs_dir": str(tmp_path)})
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {page.name: make() for page, make in MADE.items()}


@pytest.mark.parametrize("page", MADE, ids=lambda page: page.name)
def test_a_page_that_is_made_is_on_the_site_and_not_in_git(page):
    assert f"      - {page.name}\n" in (ROOT / "mkdocs.yml").read_text()
    assert f"/docs/{page.name}\n" in (ROOT / ".gitignore").read_text()
