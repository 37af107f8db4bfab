"""Reading what is explained: the runbook, the catalogue of conditions, and the names of Spark's other conditions."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from airflow_provider_ckpt.explain.catalog import parse_catalog
from airflow_provider_ckpt.explain.matching import Index
from airflow_provider_ckpt.explain.read_pages import read_pages


@cache
def read_index() -> Index:
    """All of it, from the files of the package."""
    room = files("airflow_provider_ckpt.explain")
    entries = parse_catalog(room.joinpath("conditions.yaml").read_text(encoding="utf-8"))
    others = room.joinpath("other_conditions.txt").read_text(encoding="utf-8").split()
    return Index(read_pages(), entries, frozenset(others))
