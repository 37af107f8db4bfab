"""Making the plan of a reset from what a person has asked for."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.reset.request import ResetRequest
from airflow_provider_ckpt.sources.move import Aim


def reset_asked(
    asked: ResetRequest, stores: Stores, aim: Aim, asks_anew: Callable[[str], bool] = lambda by: False
) -> Callable[[bool], Plan]:
    """What makes the plan of a reset, behind the fence that is there or without one.

    Args:
        asked: What was asked for.
        stores: Where.
        aim: Where the source goes, as what it reads from has told.
        asks_anew: As of :func:`make_reset`.
    """
    source_id = (asked.source.id if asked.source else None) or ""

    def make(fenced: bool) -> Plan:
        return make_reset(
            stores,
            source_id,
            aim,
            sink=asked.sink,
            state_sees_rows_again=asked.state_will_see_rows_again,
            trigger=asked.trigger,
            fenced=fenced,
            asks_anew=asks_anew,
        )

    return make
