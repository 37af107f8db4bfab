"""The forecast of a case, and where it is not what Spark did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.spark_version import SparkVersion
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.storage.store import Store

from .case import Case
from .prepared import deploy_confs


def deploy_of(case: Case, spark: SparkVersion, home: Path) -> DeploySpec:
    """The deploy as its owner would declare it."""
    query = case.deployed
    return DeploySpec(
        declared_version=spark,
        confs=deploy_confs(case),
        sources=tuple(Source(name, kind) for name, kind in query.sources.items()),
        sink=parse_sink(f"parquet:{home / 'output'}" if query.sink == "parquet" else query.sink),
        operators=query.operators,
        async_progress=query.asynchronous,
        sink_name=query.sink_name or "",
    )


def read_case(case: Case, home: Path) -> CheckpointView:
    """What the gate sees of a prepared case, whatever Spark it is judged for."""
    sink = Store.open(str(home / "output")) if case.deployed.sink == "parquet" else None
    return examine(Store.open(str(home / "checkpoint")), deep=True, sink=sink)


def foretell(case: Case, spark: SparkVersion, home: Path) -> Forecast:
    """What the gate says of a prepared case."""
    return forecast(read_case(case, home), deploy_of(case, spark, home))


def differences(foretold: Forecast, outcome: Mapping[str, Any]) -> list[str]:
    """Where a forecast is not what Spark did, a line each."""
    ran = outcome["batches"]
    if ran and outcome["error"]:  # it started, and a later batch failed: something must have been said of it
        said = any(finding.severity == "error" for finding in foretold.findings)
        return [] if said else [f"nothing was said of {outcome['error']} after batch {ran[-1]}"]
    found = []
    if foretold.spark_error != outcome["error"]:
        return [f"error {foretold.spark_error}, Spark: {outcome['error']} ({outcome['message']})"]
    if not ran:
        return []
    if foretold.resumes_at_batch != ran[0]:
        found.append(f"resumes at {foretold.resumes_at_batch}, Spark: {ran[0]}")
    start = [None if text is None else compact(text) for text in foretold.start_offsets.values()]
    if sorted(map(str, start)) != sorted(map(str, (text and compact(text) for text in outcome["start"]))):
        found.append(f"starts at {start}, Spark: {outcome['start']}")
    if outcome["watermark_ms"] is not None and (foretold.watermark_ms or 0) != outcome["watermark_ms"]:
        found.append(f"watermark {foretold.watermark_ms}, Spark: {outcome['watermark_ms']}")
    warned = sorted(conf.message for conf in foretold.confs if conf.message)
    if warned != outcome["warnings"]:
        found.append(f"warnings {warned}, Spark: {outcome['warnings']}")
    found += _conf_differences(foretold, outcome["confs"])
    skipped = any(finding.code == "CKPT140" for finding in foretold.findings)
    if outcome["sink_wrote_first"] is not None and outcome["sink_wrote_first"] == skipped:
        found.append(f"sink skips the batch: {skipped}, Spark wrote it: {outcome['sink_wrote_first']}")
    return found


def _conf_differences(foretold: Forecast, written: Mapping[str, str] | None) -> list[str]:
    """Confs that Spark wrote otherwise than it had read them, against those that the forecast says will change."""
    if written is None or not foretold.confs:
        return []
    effective = {conf.key: conf.effective for conf in foretold.confs}
    changed = {conf.key for conf in foretold.confs if conf.effective != conf.log_value}
    if changed <= written.keys() and all(effective.get(key) == value for key, value in written.items()):
        return []
    return [f"confs will be {effective}, Spark changed: {written}"]


def compact(text: str) -> str:
    """JSON without spaces and with sorted keys, as outcomes are recorded; what follows the first value is passed over."""
    return json.dumps(json.JSONDecoder().raw_decode(text.lstrip())[0], separators=(",", ":"), sort_keys=True)
