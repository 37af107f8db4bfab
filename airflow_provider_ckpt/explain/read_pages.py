"""Reading the runbook, which is part of the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from airflow_provider_ckpt.explain.page import Page, parse_page

#: The list of the pages.
_INDEX = "index.md"


@cache
def read_pages() -> tuple[Page, ...]:
    """All pages, by number. Raises ValueError for one that is not as pages are."""
    found = files("airflow_provider_ckpt.explain").joinpath("pages").iterdir()
    texts = {
        item.name[: -len(".md")]: item.read_text(encoding="utf-8")
        for item in found
        if item.name.endswith(".md") and item.name != _INDEX
    }
    return tuple(sorted((parse_page(name, text) for name, text in texts.items()), key=lambda page: page.number))
