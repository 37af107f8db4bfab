"""The text of the rules, from the page that is part of the package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from airflow_provider_ckpt.checks.registry import RULES

_SECTION = re.compile(r"^## (CKPT\d{3})\n\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)


@cache
def texts() -> Mapping[str, str]:
    """Meaning, cause in Spark and remedy of each rule: Markdown by code, in the order of the page."""
    page = files("airflow_provider_ckpt.checks").joinpath("rules.md").read_text(encoding="utf-8")
    return {code: body.strip() for code, body in _SECTION.findall(page)}


def text_of(code: str) -> str | None:
    """The text of one rule, by its code in any case; None when there is no such rule."""
    code = code.strip().upper()
    return texts().get(code) if code in RULES else None
