"""Doing: look at a checkpoint, change it by a plan, back it up and restore it.

The one layer that touches storage for a purpose. It knows neither Airflow nor Spark, never prints, never asks, and
deletes nothing that no plan names.
"""

from airflow_provider_ckpt.lifecycle.applying import Receipt, apply, forget
from airflow_provider_ckpt.lifecycle.backups import BackupPlan, plan_of_backup, take_backup
from airflow_provider_ckpt.lifecycle.checking import examine, inspect
from airflow_provider_ckpt.lifecycle.fleet import FleetRow, Found, find_checkpoints, judge_checkpoints, row_from_dict
from airflow_provider_ckpt.lifecycle.gating import forecast_restart
from airflow_provider_ckpt.lifecycle.lookup import (
    BackupListing,
    find_backup,
    list_backups,
    nothing_found,
    survey_backups,
)
from airflow_provider_ckpt.lifecycle.news import Known, parse_known
from airflow_provider_ckpt.lifecycle.observing import find_restart_set, observe, read_entries, read_initial_offsets
from airflow_provider_ckpt.lifecycle.planning import make_rollback, make_undo, sink_of, sinks_of
from airflow_provider_ckpt.lifecycle.pruning import PrunePlan, PruneReceipt, make_prune, prune
from airflow_provider_ckpt.lifecycle.records import Record, find_forgettable, find_record, history
from airflow_provider_ckpt.lifecycle.rehearsing import Rehearsal, rehearse
from airflow_provider_ckpt.lifecycle.restoring import make_restore, restore
from airflow_provider_ckpt.lifecycle.stores import Stores
from airflow_provider_ckpt.lifecycle.verifying import verify_backup
from airflow_provider_ckpt.lifecycle.waits import Wait, begin, outcome, wait_from_dict
from airflow_provider_ckpt.lifecycle.watching import Watched, answer, look

__all__ = [
    "BackupListing",
    "BackupPlan",
    "FleetRow",
    "Found",
    "Known",
    "PrunePlan",
    "PruneReceipt",
    "Receipt",
    "Record",
    "Rehearsal",
    "Stores",
    "Wait",
    "Watched",
    "answer",
    "apply",
    "begin",
    "examine",
    "find_backup",
    "find_checkpoints",
    "find_forgettable",
    "find_record",
    "find_restart_set",
    "forecast_restart",
    "forget",
    "history",
    "inspect",
    "judge_checkpoints",
    "list_backups",
    "look",
    "make_prune",
    "make_restore",
    "make_rollback",
    "make_undo",
    "nothing_found",
    "observe",
    "outcome",
    "parse_known",
    "plan_of_backup",
    "prune",
    "read_entries",
    "read_initial_offsets",
    "rehearse",
    "restore",
    "row_from_dict",
    "sink_of",
    "sinks_of",
    "survey_backups",
    "take_backup",
    "verify_backup",
    "wait_from_dict",
]
