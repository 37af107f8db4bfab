"""Steps of a restart that concern the compaction of file logs: it goes on at the interval that it began with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL, Misnamed, misnamed
from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, source_entries
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.checks.logs import newest_entry
from airflow_provider_ckpt.checks.sources import FILE
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import INT_MAX
from airflow_provider_ckpt.query.deploy import DeploySpec

SOURCE_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"
SINK_INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"
_NUMBER = re.compile(r"\s*\+?0*([0-9]{1,10})\s*", re.ASCII)


def source_logs(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT241: a file source reads its log from the last compaction on before anything else."""
    newest = newest_entry(view)
    interval = _interval(deploy, SOURCE_INTERVAL)
    if interval is None:
        yield _no_interval(deploy, SOURCE_INTERVAL)
        return
    kinds = deploy.source_kinds
    for source_id, offset in newest.offsets if newest is not None and view.complete else ():
        if newest is not None and newest.version >= 2 and kinds is not None and source_id not in kinds:
            continue
        kind = (kinds or {}).get(source_id)
        if kind not in (None, FILE) or file_log_offset(view, source_id, offset, declared=kind == FILE) is None:
            continue
        entries = source_entries(view, source_id)
        plain = {entry.entry_id for entry in entries if not entry.compact}
        wrong = misnamed(interval, plain, {entry.entry_id for entry in entries if entry.compact})
        if wrong is not None:
            name = f"{layout.SOURCES}/{source_id}/{wrong.wanted}"
            what = f"Spark reads the log of source {source_id} at the start"
            yield _finding(what, name, wrong, SOURCE_INTERVAL, None, "FileNotFoundException")


def sink_log(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT241: the batch that compacts a file sink's log reads every entry since the last compaction."""
    interval = _interval(deploy, SINK_INTERVAL)
    if interval is None:
        yield _no_interval(deploy, SINK_INTERVAL)
        return
    entries = view.sink.entries if view.sink is not None else {}
    plain = {entry.batch_id for entry in entries if not entry.compact}
    wrong = misnamed(interval, plain, {entry.batch_id for entry in entries if entry.compact})
    if wrong is not None:
        error = "BATCH_METADATA_NOT_FOUND" if wrong.read_at == view.next_batch else None
        what = f"batch {wrong.read_at} compacts the log of the sink and stops, and so does every reader of the table"
        yield _finding(what, f"{layout.SINK_LOG}/{wrong.wanted}", wrong, SINK_INTERVAL, wrong.read_at, error)


def _finding(what: str, name: str, wrong: Misnamed, conf: str, batch_id: int | None, error: str | None) -> Finding:
    has = str(wrong.entry_id) if wrong.wanted.endswith(layout.COMPACT) else f"{wrong.entry_id}{layout.COMPACT}"
    return an_error(
        "CKPT241",
        f"{what}: with the compaction interval {wrong.interval} it reads {name}, and the log has {has}",
        batch_id,
        name,
        f"Deploy with the {conf} that the log was written with.",
        error,
    )


def _interval(deploy: DeploySpec, conf: str) -> int | None:
    """Interval of the deploy, else the default; None where it sets one that Spark refuses."""
    text = deploy.confs.get(conf)
    if text is None:
        return COMPACT_INTERVAL
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match and 0 < int(match[1]) <= INT_MAX else None


def _no_interval(deploy: DeploySpec, conf: str) -> Finding:
    return an_error(
        "CKPT241",
        f"{conf} = {deploy.confs[conf]} is no interval: Spark takes whole numbers from 1 to {INT_MAX}",
        hint=f"Deploy with the {conf} that the log was written with.",
    )
