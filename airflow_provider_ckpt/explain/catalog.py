"""The conditions that have no page of their own: what each means, and what to do; ``conditions.yaml`` has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from airflow_provider_ckpt.explain.page import LOADER, TOLD_KEYS, Cause, Told, parse_told

_KEYS = {
    *("conditions", "texts", "examples", "frames", "cause", "repair", "rules", "commands", "page"),
    *TOLD_KEYS,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Some conditions or texts with one cause.

    Args:
        conditions: Their names.
        texts: Patterns to search in a message that has no condition.
        examples: Messages as Spark prints them.
        cause: Why Spark stops, and the commands.
        repair: The remedy, in words.
        page: Name of the runbook's page that says more; None without one.
        told: Other signs that a text is of this entry.
    """

    conditions: tuple[str, ...]
    texts: tuple[re.Pattern[str], ...]
    examples: tuple[str, ...]
    cause: Cause
    repair: str
    page: str | None
    told: Told = field(default_factory=Told)

    @property
    def title(self) -> str:
        """Title where there is no text of a user."""
        return self.conditions[0] if self.conditions else self.examples[0]


def parse_catalog(text: str) -> tuple[Entry, ...]:
    """The entries of ``conditions.yaml``. Raises ValueError for one that is not as they are."""
    return tuple(_entry(item) for item in yaml.load(text, Loader=LOADER))


def _entry(item: Mapping[str, Any]) -> Entry:
    if unknown := set(item) - _KEYS:
        raise ValueError(f"conditions.yaml: unknown key {min(unknown)}")
    if not any(item.get(key) for key in ("conditions", "texts", "shared_texts", "storage")):
        raise ValueError("conditions.yaml: an entry has neither conditions nor texts")

    def texts(key: str) -> tuple[str, ...]:
        return tuple(str(text) for text in item.get(key) or ())

    return Entry(
        texts("conditions"),
        tuple(re.compile(text) for text in texts("texts")),
        texts("examples"),
        Cause(
            "",
            " ".join(str(item["cause"]).split()),
            frames=texts("frames"),
            rules=texts("rules"),
            commands=texts("commands"),
        ),
        " ".join(str(item["repair"]).split()),
        item.get("page"),
        parse_told(item, texts("frames")),
    )
