"""The Python API, for notebooks and DAGs: what may be imported by name. Airflow's classes have modules of their own.

A checkpoint is opened with :class:`Store` and seen with :func:`observe` or, with everything that the rules judge,
:func:`examine`::

    from airflow_provider_ckpt.api import Store, deploy_of, forecast_restart

    store = Store.open("s3://lake/checkpoints/orders")
    view, foretold = forecast_restart(store, deploy_of(spark, sources=["kafka"], sink="kafka"), Store.open)
    print(foretold.decision, foretold.sentence, foretold.unknown)

All errors are :class:`CheckpointError`. Importing this module loads neither Airflow nor PySpark.
"""

from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.codec import decode
from airflow_provider_ckpt.deploy import DeploySpec, declare, parse_deploy_file
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.findings import RULES, Finding
from airflow_provider_ckpt.forecast import Forecast, forecast
from airflow_provider_ckpt.lifecycle import (
    FleetRow,
    Found,
    Known,
    Stores,
    apply,
    examine,
    find_backup,
    find_checkpoints,
    forecast_restart,
    history,
    inspect,
    judge_checkpoints,
    list_backups,
    look,
    make_prune,
    make_restore,
    make_rollback,
    make_undo,
    observe,
    parse_known,
    prune,
    restore,
    row_from_dict,
    take_backup,
    verify_backup,
)
from airflow_provider_ckpt.lifecycle.fleet import DEPTH
from airflow_provider_ckpt.report import fleet_table, render
from airflow_provider_ckpt.rules import text_of
from airflow_provider_ckpt.spark import deploy_of
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms
from airflow_provider_ckpt.view import CheckpointView

__all__ = [
    "DEPTH",
    "RULES",
    "CheckpointError",
    "CheckpointView",
    "DeploySpec",
    "Finding",
    "FleetRow",
    "Forecast",
    "Found",
    "Known",
    "Store",
    "Stores",
    "apply",
    "check",
    "declare",
    "decode",
    "deploy_of",
    "examine",
    "find_backup",
    "find_checkpoints",
    "fleet_table",
    "forecast",
    "forecast_restart",
    "history",
    "inspect",
    "judge_checkpoints",
    "list_backups",
    "look",
    "make_prune",
    "make_restore",
    "make_rollback",
    "make_undo",
    "observe",
    "parse_deploy_file",
    "parse_duration_ms",
    "parse_known",
    "parse_time_ms",
    "prune",
    "render",
    "restore",
    "row_from_dict",
    "take_backup",
    "text_of",
    "verify_backup",
]
