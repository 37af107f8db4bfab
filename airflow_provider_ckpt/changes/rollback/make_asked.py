"""Making the plan of a rollback from what a person has asked for."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.rollback.goal import BeforeDeploy, RollbackTarget, ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.rollback.request import RollbackRequest


def make_rollback_asked(
    asked: RollbackRequest, target: RollbackTarget | ToBackup | BeforeDeploy, stores: Stores, *, fenced: bool = False
) -> Plan:
    """The plan of a rollback, behind the fence that is there or without one. Raises as :func:`make_rollback`."""
    return make_rollback(
        stores,
        target,
        trim_sink_log=asked.trim_sink_log,
        sink=asked.sink,
        sources=asked.source_types,
        trigger=asked.trigger,
        fenced=fenced,
    )
