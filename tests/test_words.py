"""Plain words: texts that people read use the words of the glossary in docs/concepts.md, and no metaphors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package import PACKAGE
from tests.pages import pages, text_of

ROOT = PACKAGE.parent
PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]
#: The word that no text has, and the words of the glossary for it.
INSTEAD = {
    r"looks?|looked|looking": "read, poll, list, check, search",
    r"stands?|standing|stood": "is at, is in",
    r"lanes?": "source partition",
    r"verdicts?": "sink effect, gate decision",
    r"savepoints?": "checkpoint, backup",
    r"frozen|freezes?": "the end of the sources at the start of the wait",
    r"your word": "confirm",
    r"houses?|walks?|puns?": "say it without a metaphor",
}
#: Where a text is not ours, or the word has its usual meaning: ``path: text that holds it``.
ALLOWED = {
    "change/plan/plan.py": ("verdict", "verdicts"),  # keys of the JSON of which a plan's id is the digest
    "documents/files.py": ("`verdict`",),
    "waiting/combined.py": ("frozen_end",),  # as waits were recorded
}
ALLOWED_IN_PAGES = {
    "docs/json.md": r"`?verdicts?`?",
    "docs/comparison.md": "savepoints?",  # a word of Flink's
    "CONTRIBUTING.md": r"random walks?|make walk|tests\.walk|a walk",  # the word of mathematics
}


def texts_of(module: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module, docstrings included, with its line; the text of an f-string without its values."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


ANY = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)


def found_in(text: str) -> Iterator[str]:
    for pattern, instead in INSTEAD.items() if ANY.search(text) else ():
        for match in re.finditer(rf"\b({pattern})\b", text, re.IGNORECASE):
            context = " ".join(text[max(0, match.start() - 40) : match.end() + 30].split())
            yield f"{match[0]!r} in {context!r}: say {instead}"


@pytest.mark.parametrize("module", [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py"))])
def test_texts_of_the_package_are_plain(module):
    """Messages, hints, help texts, log lines, docstrings."""
    allowed = ALLOWED.get(module, ())
    found = [
        f"{line}: {problem}"
        for line, text in texts_of(PACKAGE / module)
        for problem in found_in(text)
        if not any(words in text for words in allowed)
    ]
    assert found == []


@pytest.mark.parametrize("page", [str(path.relative_to(ROOT)) for path in PAGES])
def test_pages_are_plain(page):
    text = text_of(ROOT / page)
    assert list(found_in(re.sub(ALLOWED_IN_PAGES.get(page, r"(?!)"), "", text))) == []
