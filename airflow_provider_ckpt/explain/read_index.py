"""Reading what is explained: the runbook, the catalogue of conditions, and the names of Spark's other conditions."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from airflow_provider_ckpt.explain.catalog import parse_catalog
from airflow_provider_ckpt.explain.matching import Index
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


@cache
def read_index() -> Index:
    """All of it, from the files of the package."""
    room = files("airflow_provider_ckpt.explain")
    entries = parse_catalog(room.joinpath("conditions.yaml").read_text(encoding="utf-8"))
    others = room.joinpath("other_conditions.txt").read_text(encoding="utf-8").split()
    return Index(read_pages(), entries, frozenset(others))
