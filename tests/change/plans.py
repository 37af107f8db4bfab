"""A plan of each kind, with every requirement and every action."""

from __future__ import annotations

from typing import Any

from airflow_provider_ckpt.change.plan.actions import Close, Copy, Create, Delete, Open, Repartition, Replace
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import (
    EmptyLocation,
    FromBackup,
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    SameQuery,
    WriterStopped,
)
from airflow_provider_ckpt.sinks.effects import SinkEffect

#: What ``apply`` is told of a query that is stopped, and whose sink nobody declared.
STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
SHA = "ab" * 32
IN_PLACE = (SameQuery("q"), LatestCommitted("5"), LatestPlanned("6"), KeptObjects("d"), WriterStopped())
ROLLBACK = Plan(
    "rollback",
    "s3://lake/orders",
    "q",
    3,
    1_700_000_000_000,
    (*IN_PLACE, KeptSinkLog("s"), FromBackup("b")),
    (
        Delete("commits/5", size=4, identity="etag"),
        Delete("_spark_metadata/5", "sink", 4, "etag"),
        Copy("offsets/3", size=4, sha256=SHA, source="b/checkpoint/offsets/3"),
    ),
    ("a warning",),
    (SinkEffect("file:s3://lake/out", "exact", "why"),),
    "s3://lake/backups",
    "s3://lake/out",
    notes=("a note",),
)
UNDO = Plan(
    "undo",
    "s3://lake/orders",
    "q",
    5,
    1,
    IN_PLACE,
    (Delete("offsets/4", identity="new"), Copy("offsets/4", size=4, sha256=SHA, source="checkpoint/offsets/4")),
    source="s3://lake/_ckpt_undo/orders/x/saved",
    undoes="0123456789abcdef",
)
#: An undo of a change between whose steps Spark would start wrong.
CLOSED_UNDO = Plan(
    "undo",
    "s3://lake/orders",
    "q",
    5,
    1,
    IN_PLACE,
    (
        Close("offsets/7"),
        Replace("offsets/5", "checkpoint", 4, "etag", SHA, "v1"),
        Delete("sources/1/0", identity="new"),
        Open("offsets/7"),
    ),
    undoes="0123456789abcdef",
)
RESTORE = Plan(
    "restore",
    "s3://lake/new",
    "q",
    5,
    1,
    (EmptyLocation(),),
    (Copy("offsets/5", size=4, sha256=SHA, source="b/offsets/5"), Create("metadata", data="{}")),
    source="s3://lake/backups",
)
REPARTITION = Plan(
    "repartition",
    "s3://lake/orders",
    "q",
    6,
    1,
    (*IN_PLACE, KeptSinkLog("s")),
    (Repartition("commits/6", partitions=5), Create("_spark_metadata/6", "sink", "v1")),
    effects=(SinkEffect("file:s3://lake/out", "exact", "why"),),
    sink="s3://lake/out",
)
REPAIR = Plan(
    "repair",
    "s3://lake/orders",
    "q",
    5,
    1,
    (*IN_PLACE, KeptSinkLog("s")),
    (Delete("_spark_metadata/.4.crc", "sink", 4, "etag"), Create("_spark_metadata/4", "sink", "v1")),
    effects=(SinkEffect("file:s3://lake/out", "skipped", "why"),),
    source="s3://lake/copy",
    sink="s3://lake/out",
    asked='{"adopt": {}, "empty": [4], "interval": 10}',
)
RESET = Plan(
    "reset",
    "s3://lake/orders",
    "q",
    5,
    1,
    IN_PLACE,
    (
        Delete("offsets/6", size=4, identity="etag"),
        Replace("offsets/5", size=4, identity="etag", sha256_before=SHA, data="v1"),
    ),
    effects=(SinkEffect("kafka", "duplicated", "why"),),
)
