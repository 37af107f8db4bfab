"""Requires that a new version writes to another output than the live query."""

from __future__ import annotations

from airflow_provider_ckpt.blue_green.stage_range import Opened
from airflow_provider_ckpt.errors import PlanError


def require_apart(location: str, live: Opened, shadow: Opened) -> None:
    """Raise PlanError when the shadow sink is the live one, or one is inside the other.

    Args:
        location: The checkpoint of the live query.
        live: The sink of the live query, and its store.
        shadow: The sink of the new version, and its store.
    """
    ours, theirs = shadow[1], live[1]
    inside = ours is not None and theirs is not None and (ours.is_within(theirs) or theirs.is_within(ours))
    if inside or live[0] == shadow[0]:
        raise PlanError(
            f"the shadow sink {shadow[0].at(ours).name} is the sink of the live query, or one is inside the other.",
            location=location,
            hint="Let the new version write to a sink of its own.",
        )
