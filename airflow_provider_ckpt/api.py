"""The Python API, for notebooks and DAGs: what may be imported by name. Airflow's classes have modules of their own.

A checkpoint is opened with :class:`Store` and seen with :func:`observe` or, with everything that the rules judge,
:func:`examine`::

    from airflow_provider_ckpt.api import Store, deploy_of, forecast_restart

    store = Store.open("s3://lake/checkpoints/orders")
    view, foretold = forecast_restart(store, deploy_of(spark, sources=["kafka"], sink="kafka"), Store.open)
    print(foretold.decision, foretold.sentence, foretold.unknown)

All errors are :class:`CheckpointError`. Importing this module loads neither Airflow nor PySpark.
"""

from airflow_provider_ckpt.backup.catalog import find_backup, list_backups
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.prune import prune
from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.open_sinks import open_sinks
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.declared import require_same_declared, with_declared
from airflow_provider_ckpt.change.plan.file import decode as decode_plan
from airflow_provider_ckpt.change.plan.file import encode as encode_plan
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.fence.make import make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.repair.decision import parse_decisions
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.restore.make import fork_id, make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.goal import ToBackup, ToBatch, ToOffsets, ToTimestamp, ToWatermark
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.changes.seed.make import make_seed, parse_positions, positions_of
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change as parse_source_change
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import examine, inspect
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.checks.rule_pages import text_of
from airflow_provider_ckpt.codec import decode
from airflow_provider_ckpt.codec.source_kind import SourceKind
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import Order, TypedOffset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.explain.explain import explain, explain_condition, explain_rules
from airflow_provider_ckpt.explain.explanation import Evidence, Explained, Explanation, Met, Unknown
from airflow_provider_ckpt.fleet import DEPTH
from airflow_provider_ckpt.fleet.approval import (
    JointPlan,
    PlannedQuery,
    outcomes,
    reason_of,
    refusal_text,
    trouble_text,
)
from airflow_provider_ckpt.fleet.bookmarks import KeptBookmark, Refusal
from airflow_provider_ckpt.fleet.changes import Known, parse_known
from airflow_provider_ckpt.fleet.find import Found, find_checkpoints
from airflow_provider_ckpt.fleet.find_undoable import find_undoable
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.read_bookmarks import match_queries, read_bookmarks
from airflow_provider_ckpt.fleet.read_query_file import read_deploy, read_query_file
from airflow_provider_ckpt.fleet.row import FleetRow, row_from_dict
from airflow_provider_ckpt.query.deploy import DeploySpec, declare, parse_conf_file
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.query.query_schema import query_schema
from airflow_provider_ckpt.query.sink import Sink as DeclaredSink
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.report.fleet_tables import fleet_tables
from airflow_provider_ckpt.report.table import render
from airflow_provider_ckpt.report.tables import fleet_table
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sources.delta.resolve_goal import DeltaAim
from airflow_provider_ckpt.sources.goal import parse_goal
from airflow_provider_ckpt.sources.iceberg.resolve_goal import IcebergAim
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import parse_scope
from airflow_provider_ckpt.spark import deploy_of
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms
from airflow_provider_ckpt.waiting.poll import poll_progress

__all__ = [
    "DEPTH",
    "RULES",
    "CheckpointError",
    "CheckpointView",
    "DeclaredSink",
    "DeltaAim",
    "DeploySpec",
    "Evidence",
    "Explained",
    "Explanation",
    "Finding",
    "FleetRow",
    "Forecast",
    "Found",
    "IcebergAim",
    "JointPlan",
    "KafkaAim",
    "KafkaBroker",
    "KeptBookmark",
    "Known",
    "Manifest",
    "Met",
    "Order",
    "PathRule",
    "Plan",
    "PlannedQuery",
    "Query",
    "QueryFile",
    "Receipt",
    "Refusal",
    "RetentionPolicy",
    "SinkEffect",
    "SourceKind",
    "SourceOffset",
    "Store",
    "Stores",
    "ToBackup",
    "ToBatch",
    "ToOffsets",
    "ToTimestamp",
    "ToWatermark",
    "TypedOffset",
    "Unknown",
    "apply",
    "check",
    "declare",
    "decode",
    "decode_plan",
    "deploy_of",
    "encode_plan",
    "examine",
    "explain",
    "explain_condition",
    "explain_rules",
    "find_backup",
    "find_checkpoints",
    "find_undoable",
    "fleet_table",
    "fleet_tables",
    "forecast",
    "forecast_restart",
    "fork_id",
    "history",
    "inspect",
    "judge_checkpoints",
    "list_backups",
    "make_fence",
    "make_prune",
    "make_repair",
    "make_repartition",
    "make_reset",
    "make_restore",
    "make_rollback",
    "make_salvage",
    "make_seed",
    "make_source_change",
    "make_undo",
    "match_queries",
    "observe",
    "open_sinks",
    "outcomes",
    "parse_conf_file",
    "parse_decisions",
    "parse_duration_ms",
    "parse_goal",
    "parse_known",
    "parse_positions",
    "parse_scope",
    "parse_sink",
    "parse_source_change",
    "parse_time_ms",
    "poll_progress",
    "positions_of",
    "prune",
    "put_fence",
    "query_schema",
    "read_bookmarks",
    "read_deploy",
    "read_query_file",
    "reason_of",
    "refusal_text",
    "render",
    "require_same_declared",
    "restore",
    "row_from_dict",
    "take_backup",
    "text_of",
    "trouble_text",
    "verify_backup",
    "with_declared",
    "write_seed",
]
