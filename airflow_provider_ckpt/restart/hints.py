"""Words that several findings share."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt.checks import remedies

NEW_LOCATION = f"or {remedies.NEW_LOCATION}."


def listed(names: Iterable[str]) -> str:
    """Names with commas."""
    return ", ".join(names) or "none"
