"""What Spark itself says about a checkpoint that it has just written: the content of ``EXPECTED.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
from lab import COMMON_CONFS, Lab

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


def expected(lab: Lab) -> dict[str, Any]:
    """The facts of one case."""
    offset_log, commit_log = open_log(lab, "OffsetSeqLog", "offsets"), open_log(lab, "CommitLog", "commits")
    latest = offset_log.getLatest().get()._2()
    metadata = latest.metadataOpt() if VERSION >= (4, 2) else latest.metadata()
    logged: dict[str, Any] = json.loads(metadata.get().json()) if metadata.isDefined() else {}
    confs = logged.get("conf", {})
    planned, committed = list(offset_log.listBatchesOnDisk()), list(commit_log.listBatchesOnDisk())
    offset_log_version = version_line(lab.checkpoint / "offsets" / str(planned[-1]))
    source_offsets = dict(offsets_by_source(latest, offset_log_version))
    state_partitions = find_state_partitions(lab.checkpoint / "state")
    provider = confs.get("spark.sql.streaming.stateStore.providerClass") if state_partitions else None
    return {
        "spark_version": pyspark.__version__,
        "case": lab.case.name,
        "query_id": lab.query.id,
        "offset_log_version": offset_log_version,
        "commit_log_version": version_line(lab.checkpoint / "commits" / str(committed[-1])),
        "planned_batches": planned,
        "committed_batches": committed,
        "batch_watermark_ms": logged.get("batchWatermarkMs"),
        "source_count": len(source_offsets),
        "source_offsets": source_offsets,
        "state_operators": progress_of_operators(lab),
        "state_metadata": read_state_metadata(lab) if state_partitions else [],
        "state_partitions": state_partitions,
        "non_default_confs": {key: value for key, value in confs.items() if value != default_conf(lab, key)},
        "deploy": {
            "confs": {**COMMON_CONFS, **lab.case.confs},
            "sources": dict(lab.case.sources),
            "sink": lab.case.sink,
            "output_mode": lab.case.output_mode,
            "state_provider": provider,
        },
    }


def open_log(lab: Lab, class_name: str, log: str) -> Any:
    """One of Spark's two logs of the checkpoint, read only where Spark can do that."""
    package = "org.apache.spark.sql.execution.streaming" + (".checkpointing" if VERSION >= (4, 1) else "")
    log_class = getattr(lab.gateway.jvm, f"{package}.{class_name}")
    read_only = (True,) if VERSION >= (4, 2) else ()
    return log_class(lab.spark._jsparkSession, str(lab.checkpoint / log), *read_only)


def version_line(log_file: Path) -> int:
    """The version that opens a log file; Spark has a method for it since 4.2 only."""
    return int(log_file.read_text().split("\n")[0].lstrip("v"))


def offsets_by_source(entry: Any, version: int) -> Iterator[tuple[str, str | None]]:
    """Every source's id (version 1: its position) and its offset as JSON text, None if it has none."""
    offsets = (entry.offsetsMap() if version == 2 else entry.offsets()).iterator()
    position = 0
    while offsets.hasNext():
        item = offsets.next()
        source, offset = (item._1(), item._2()) if version == 2 else (str(position), item)
        yield source, offset.get().json() if offset.isDefined() else None
        position += 1


def progress_of_operators(lab: Lab) -> list[dict[str, Any]]:
    """The stateful operators of the last batch, as its progress report shows them."""
    reports = [report for report in lab.query.recentProgress if report["stateOperators"]]
    keys = {
        "operatorName": "operator_name",
        "numShufflePartitions": "partitions",
        "numStateStoreInstances": "store_instances",
        "numRowsTotal": "rows",
    }
    operators = reports[-1]["stateOperators"] if reports else []
    return [{ours: operator[spark] for spark, ours in keys.items()} for operator in operators]


def read_state_metadata(lab: Lab) -> list[dict[str, Any]] | None:
    """The operator metadata as Spark's data source reads it; None on Spark 3, which has no such source."""
    if VERSION < (4, 0):
        return None
    keys = {
        "operatorId": "operator_id",
        "operatorName": "operator_name",
        "stateStoreName": "store_name",
        "numPartitions": "partitions",
        "minBatchId": "min_batch_id",
        "maxBatchId": "max_batch_id",
    }
    table = lab.spark.read.format("state-metadata").load(str(lab.checkpoint))
    rows = table.select(*keys).orderBy(*keys).collect()
    return [{ours: row[spark] for spark, ours in keys.items()} for row in rows]


def find_state_partitions(state: Path) -> dict[str, list[int]]:
    """The partition directories of every operator on disk: a repartition leaves old ones behind."""
    return {
        operator.name: sorted(int(partition.name) for partition in operator.glob("[0-9]*"))
        for operator in sorted(state.glob("[0-9]*"))
    }


def default_conf(lab: Lab, key: str) -> str:
    """The value that Spark gives to a conf that nobody sets."""
    conf = lab.gateway.jvm.org.apache.spark.sql.internal.SQLConf()
    return str(conf.getConfString(key))


def read_expected(recorded: Path) -> dict[str, Any]:
    """The recorded facts, by case."""
    path = recorded / "EXPECTED.json"
    facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return facts


def write_expected(recorded: Path, facts: Mapping[str, Any]) -> None:
    """Record the facts of one case among the others."""
    everything = {**read_expected(recorded), facts["case"]: facts}
    (recorded / "EXPECTED.json").write_text(json.dumps(dict(sorted(everything.items())), indent=2) + "\n")
