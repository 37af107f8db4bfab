"""What Spark will do at the next restart, said before it does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.confs import (
    SHUFFLE_PARTITIONS,
    STATE_PARTITIONS,
    ConfOutcome,
    forecast_confs,
)
from airflow_provider_ckpt.deploy import DeploySpec
from airflow_provider_ckpt.findings import Finding, worst_first
from airflow_provider_ckpt.view import CheckpointView


@dataclass(frozen=True, slots=True)
class Forecast:
    """The restart, foretold.

    Args:
        resumes_at_batch: The first batch that Spark will run; None when it does not start.
        reruns_batch: That batch when it is already planned, else None.
        spark_error: Spark's error condition, or the simple name of the Java exception; None when Spark starts.
        confs: What happens to each once-only conf.
        findings: Everything that speaks against the deploy, errors first.
    """

    resumes_at_batch: int | None
    reruns_batch: int | None
    spark_error: str | None
    confs: tuple[ConfOutcome, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """``block`` with an error, ``warn`` with a warning, else ``pass``."""
        severities = {finding.severity for finding in self.findings}
        if self.spark_error or "error" in severities:
            return "block"
        return "warn" if "warning" in severities else "pass"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "verdict": self.verdict,
            "resumes_at_batch": self.resumes_at_batch,
            "reruns_batch": self.reruns_batch,
            "spark_error": self.spark_error,
            "confs": [conf.to_dict() for conf in self.confs],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def forecast(view: CheckpointView, deploy: DeploySpec) -> Forecast:
    """Foretell the restart of the query behind a view."""
    findings = list(check(view))
    error = _start_error(view, deploy)
    confs = _confs(view, deploy)
    findings += [finding for conf in confs if (finding := _conf_finding(conf, view, deploy))]
    findings += _source_findings(view, deploy)
    if error is None and any(finding.code == "CKPT210" for finding in findings):
        error = "AssertionError"
    planned = view.latest_planned
    if error or planned is None:
        return Forecast(None if error else 0, None, error, confs, worst_first(findings))
    rerun = view.latest_committed is None or view.latest_committed < planned
    return Forecast(planned if rerun else planned + 1, planned if rerun else None, None, confs, worst_first(findings))


_ERRORS = {
    "CKPT101": "IllegalStateException",
    "CKPT103": "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    "CKPT110": "IllegalStateException",
    "CKPT112": "CONCURRENT_STREAM_LOG_UPDATE",
    "CKPT115": "FileNotFoundException",
    "CKPT116": "IllegalArgumentException",
    "CKPT131": "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
}


def _start_error(view: CheckpointView, deploy: DeploySpec) -> str | None:
    for finding in check(view):
        if finding.code in _ERRORS:
            return _ERRORS[finding.code]
        if finding.code == "CKPT104" and deploy.spark_version >= (4, 2):
            return "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"
        if finding.code == "CKPT102":
            return "MALFORMED_LOG_FILE"
    return None


def _confs(view: CheckpointView, deploy: DeploySpec) -> tuple[ConfOutcome, ...]:
    newest = view.latest_planned
    if newest is None or f"offsets/{newest}" not in view.entries:
        return ()
    metadata = view.offset_seq(newest).metadata
    return () if metadata is None else forecast_confs(metadata.conf, deploy.confs, deploy.spark_version)


def _conf_finding(conf: ConfOutcome, view: CheckpointView, deploy: DeploySpec) -> Finding | None:
    if not conf.ignored:
        return None
    batch_id = view.latest_planned
    if conf.session_key == STATE_PARTITIONS and not view.stateful and STATE_PARTITIONS not in deploy.confs:
        return Finding(
            "CKPT203",
            "note",
            f"{SHUFFLE_PARTITIONS} = {conf.deploy_value} is used for shuffles; the {conf.log_value} of the offset log "
            "is for state, and the query has none",
            batch_id,
        )
    reason = (
        f"the offset log says {conf.log_value}"
        if conf.log_value is not None
        else "the offset log has no value, and Spark fills in the one from before the conf existed"
    )
    return Finding(
        "CKPT201",
        "error",
        f"{conf.key} = {conf.deploy_value} will be ignored: Spark will really use {conf.effective}, because {reason}",
        batch_id,
        hint=f"Deploy with {conf.key}={conf.effective}, or start the query with a new checkpoint location.",
    )


def _source_findings(view: CheckpointView, deploy: DeploySpec) -> list[Finding]:
    newest = view.latest_planned
    if deploy.sources is None or newest is None or f"offsets/{newest}" not in view.entries:
        return []
    entry = view.offset_seq(newest)
    if entry.version > 1 or len(entry.offsets) == len(deploy.sources):
        return []
    return [
        Finding(
            "CKPT210",
            "error",
            f"There are [{len(entry.offsets)}] sources in the checkpoint offsets and now there are "
            f"[{len(deploy.sources)}] sources requested by the query.",
            newest,
            f"offsets/{newest}",
            "Keep the sources and their order, or start the query with a new checkpoint location.",
        )
    ]
