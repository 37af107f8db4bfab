"""The pages for readers: those that people write, and those that are made from the code and are not in git."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from tests import api_page, json_documents
from tests.package import PACKAGE

ROOT = PACKAGE.parent
#: What makes the text of each page that is made; ``make docs`` writes it.
MADE: Mapping[Path, Callable[[], str]] = {
    api_page.PAGE: api_page.page,
    json_documents.PAGE: json_documents.page,
}


def pages() -> list[Path]:
    """All pages, in order, also those that were never written."""
    return sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *MADE})


@cache
def text_of(page: Path) -> str:
    """What is on a page; on one that is made, what the code says now."""
    return MADE[page]() if page in MADE else page.read_text()
