"""Forecast of what Spark will do at the next restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_ckpt.checkpoint.spark_confs import (
    SHUFFLE_PARTITIONS,
    STATE_PARTITIONS,
    STATE_PROVIDER,
    ConfOutcome,
    forecast_confs,
    state_partitions,
)
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_note, an_error, worst_first
from airflow_provider_ckpt.checks.logs import entry_before, newest_commit, newest_entry
from airflow_provider_ckpt.checks.no_data import why_waiting
from airflow_provider_ckpt.checks.remedies import Remedy, repartition
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.spark_version import SparkVersion
from airflow_provider_ckpt.restart.file_manager import classes_to_find
from airflow_provider_ckpt.restart.judged import CLASS, could_be_judged, is_closed, not_judged
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.restart.source_commands import continue_sources
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from airflow_provider_ckpt.restart.state import logged_confs
from airflow_provider_ckpt.restart.steps import named, start

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import ForecastWithFindingsFields
    from airflow_provider_ckpt.sources.kafka.coming import NextBatches
    from airflow_provider_ckpt.sources.kafka.loss import Losses

#: What a gate decides, from the best to the worst.
DECISIONS = ("pass", "warn", "block")
#: Spark's manager of repartitions is in no earlier version.
REPARTITIONS_SINCE: SparkVersion = (4, 2)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The restart, foretold.

    Args:
        resumes_at_batch: The first batch that Spark will run; None when it does not start, or nobody can say whether
            it does, because a file that it reads cannot be opened.
        reruns_batch: That batch when it is already planned, else None; real-time mode plans it anew.
        spark_error: Spark's error condition, or the simple name of the Java exception; None when Spark starts.
        confs: What happens to each once-only conf.
        findings: All findings against the deploy, errors first.
        start_offsets: Where each source begins to read (exclusive), JSON text by source id; None is its beginning.
        end_offsets: Where the first batch ends (inclusive) when it is already planned; else the source decides.
        watermark_ms: Watermark of the first batch, epoch milliseconds; None when the log does not tell.
        unknown: What could stop Spark or lose data, and was not judged, because it was neither declared nor read.
        topic_ids: The ids of the topics that the declared Kafka brokers have, by source id and name: ``0/orders``.
        next_batches: What the first batch reads of each source; None when no Kafka source is declared.
        waits_for_data: Whether no batch runs without new data: all sources are read to their ends, or results of
            closed windows wait for it.
        data_unknown: Whether nobody has read if there is new data for the first batch, which it may wait for.
    """

    resumes_at_batch: int | None
    reruns_batch: int | None
    spark_error: str | None
    confs: tuple[ConfOutcome, ...]
    findings: tuple[Finding, ...]
    start_offsets: Mapping[str, str | None] = field(default_factory=dict)
    end_offsets: Mapping[str, str | None] | None = None
    watermark_ms: int | None = None
    unknown: tuple[str, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    next_batches: NextBatches | None = None
    waits_for_data: bool = False
    data_unknown: bool = False

    @property
    def found(self) -> str:
        """Decision by the findings alone: ``block`` with an error, ``warn`` with a warning, else ``pass``."""
        severities = {finding.severity for finding in self.findings}
        if self.spark_error or "error" in severities:
            return "block"
        return "warn" if "warning" in severities else "pass"

    @property
    def decision(self) -> str:
        """``block``, ``warn`` or ``pass``: what was not judged and could have been is never a ``pass``."""
        return "warn" if could_be_judged(self.unknown) and self.found == "pass" else self.found

    def closes(self, fail_on: str) -> bool:
        """True if a gate closes: on ``block`` in any case, on ``warn`` when it is to fail on that."""
        return self.decision in ("block", fail_on)

    @property
    def sentence(self) -> str:
        """Sentence for people: what Spark will do, or why it must not be started."""
        errors = [finding for finding in self.findings if finding.severity == "error"]
        if self.resumes_at_batch is None and not self.spark_error:
            why = f": {errors[0].message.rstrip('.')}" if errors else ""
            return f"What Spark does is not known{why}"
        if self.spark_error:
            cause = next((finding.message for finding in self.findings if finding.spark_error), "")
            return f"Spark stops with {self.spark_error}" + (f", because {cause.rstrip('.')}" if cause else "")
        again = " again" if self.reruns_batch is not None else ""
        starts = f"Spark starts and runs batch {self.resumes_at_batch}{again}"
        if self.waits_for_data:
            starts = f"Spark starts, and runs batch {self.resumes_at_batch} when there is new data: until then nothing"
        classes = [item.removeprefix(f"{CLASS} ") for item in self.unknown if item.startswith(f"{CLASS} ")]
        if classes:
            starts = f"{starts} if the deploy has the class {', '.join(classes)}"
        if errors:
            return f"{starts}, but {errors[0].message.rstrip('.')}"
        warnings = sum(finding.severity == "warning" for finding in self.findings)
        starts = f"{starts}, with {warnings} warning{'s' if warnings > 1 else ''}" if warnings else starts
        return f"{starts}; whether there is new data for it was not read" if self.data_unknown else starts

    def to_dict(self) -> ForecastWithFindingsFields:
        """JSON-ready."""
        batches = self.next_batches
        return {
            "decision": self.decision,
            "resumes_at_batch": self.resumes_at_batch,
            "reruns_batch": self.reruns_batch,
            "spark_error": self.spark_error,
            "start_offsets": dict(self.start_offsets),
            "end_offsets": None if self.end_offsets is None else dict(self.end_offsets),
            "next_batches": {} if batches is None else {name: item.to_dict() for name, item in batches.coming.items()},
            "not_foretold": {} if batches is None else dict(batches.missing),
            "watermark_ms": self.watermark_ms,
            "waits_for_data": self.waits_for_data,
            "confs": [conf.to_dict() for conf in self.confs],
            "findings": [finding.to_dict() for finding in self.findings],
            "unknown": list(self.unknown),
        }


def forecast(
    view: CheckpointView,
    deploy: DeploySpec,
    lost: Losses | None = None,
    batches: NextBatches | None = None,
    *,
    all_read: bool | None = None,
) -> Forecast:
    """Forecast the restart of the query of a checkpoint that was read.

    Args:
        view: The checkpoint.
        deploy: The deploy on it.
        lost: Answers of its sources, when they were asked; Spark asks them after everything else.
        batches: Ranges that it reads next, when its sources were asked.
        all_read: True if all of its sources were asked, and none has anything that the query has not read; False if one
            has, and None if that is not known.
    """
    met = list(dict.fromkeys([*start(view, deploy), *named(lost.findings if lost else (), deploy.spark_version)]))
    error = next((finding.spark_error for finding in met if finding.spark_error), None)
    confs = _confs(view, deploy)
    findings = worst_first([*met, *(finding for conf in confs if (finding := _conf_finding(conf, view, deploy)))])
    unknown = (*not_judged(view, deploy), *(lost.unknown if lost else ()))
    topic_ids = lost.topic_ids if lost else {}
    if error is not None or is_closed(view):
        return Forecast(None, None, error, confs, findings, unknown=unknown, topic_ids=topic_ids)
    trigger = trigger_of(deploy.trigger, view.operator_names)
    drops_planned = trigger == REAL_TIME
    waits = trigger not in (REAL_TIME, "continuous") and view.in_flight is None
    is_waiting = (waits and bool(all_read)) or why_waiting(view) is not None
    return Forecast(
        resumes_at_batch=view.next_batch,
        reruns_batch=None if drops_planned else view.in_flight,
        spark_error=None,
        confs=confs,
        findings=findings,
        start_offsets=_start_offsets(view, deploy),
        end_offsets=None if drops_planned else _end_offsets(view),
        watermark_ms=_watermark_ms(view),
        unknown=unknown,
        topic_ids=topic_ids,
        next_batches=batches,
        waits_for_data=is_waiting,
        data_unknown=waits and all_read is None and not is_waiting,
    )


def _start_offsets(view: CheckpointView, deploy: DeploySpec) -> dict[str, str | None]:
    """A batch reads from the entry before it; a source without an offset there goes on from the one before that."""
    newest, before = newest_entry(view), entry_before(view)
    declared = list(deploy.source_kinds or ())
    if newest is None:
        return dict.fromkeys(declared)
    earlier = {} if before is None else dict(before.offsets)
    last = {} if view.in_flight is not None else dict(newest.offsets)
    ids = declared if newest.version >= 2 and declared else [source_id for source_id, _ in newest.offsets]
    known = {source_id: last.get(source_id) or earlier.get(source_id) for source_id in ids}
    return {source_id: None if offset is None else offset.json for source_id, offset in known.items()}


def _end_offsets(view: CheckpointView) -> dict[str, str | None] | None:
    newest = newest_entry(view)
    if newest is None or view.in_flight is None:
        return None
    return {source_id: None if offset is None else offset.json for source_id, offset in newest.offsets}


def _watermark_ms(view: CheckpointView) -> int | None:
    newest, commit = newest_entry(view), newest_commit(view)
    if newest is None or newest.metadata is None:
        return None
    if view.in_flight is not None or commit is None:
        return newest.metadata.batch_watermark_ms
    return max(newest.metadata.batch_watermark_ms, commit.next_batch_watermark_ms)


def _confs(view: CheckpointView, deploy: DeploySpec) -> tuple[ConfOutcome, ...]:
    logged = logged_confs(view)
    return () if logged is None else forecast_confs(logged, deploy.confs, deploy.spark_version)


def _conf_finding(conf: ConfOutcome, view: CheckpointView, deploy: DeploySpec) -> Finding | None:
    if not conf.ignored:
        return None
    batch_id = view.latest_planned
    if conf.session_key == STATE_PARTITIONS and not view.stateful and STATE_PARTITIONS not in deploy.confs:
        return a_note(
            "CKPT203",
            f"{SHUFFLE_PARTITIONS} = {conf.deploy_value} will be used for shuffles; the value {conf.log_value} of "
            "the offset log applies only to state, and the query has none",
            batch_id,
        )
    reason = (
        f"the offset log says {conf.log_value}"
        if conf.log_value is not None
        else "the offset log has no value, and Spark then uses the behaviour from before the conf existed"
    )
    verb = "search for" if conf.effective in classes_to_find(view, deploy) else "really use"
    return an_error(
        "CKPT201",
        f"{conf.key} = {conf.deploy_value} will be ignored: Spark will {verb} {conf.effective}, because {reason}",
        batch_id,
        **_remedy(conf, view, deploy),
    )


def _remedy(conf: ConfOutcome, view: CheckpointView, deploy: DeploySpec) -> Remedy:
    """Remedy for a conf that will be ignored; only later versions of Spark can repartition state of RocksDB."""
    otherwise = f"deploy with {conf.key}={conf.effective}, or start the query with a new checkpoint location."
    entry = newest_entry(view)
    if conf.key == SOURCE_EVOLUTION and deploy.switches_on(SOURCE_EVOLUTION) and entry is not None:
        first = f"Deploy with {conf.key}={conf.effective}."  # as CKPT213, which is said beside it
        return continue_sources(view, entry, deploy.sources, first, named=True)
    wanted = state_partitions({SHUFFLE_PARTITIONS: conf.deploy_value})
    is_rocksdb = "RocksDB" in ((logged_confs(view) or {}).get(STATE_PROVIDER) or "")
    can_be = view.stateful and is_rocksdb and deploy.spark_version >= REPARTITIONS_SINCE
    if conf.key == SHUFFLE_PARTITIONS and wanted is not None and can_be:
        return repartition(view, wanted, otherwise=otherwise)
    return Remedy(hint=f"{otherwise[0].upper()}{otherwise[1:]}", commands=())
