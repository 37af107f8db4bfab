"""Unread data that the sources delete before a time that the deploy names (CKPT266)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import QueryOptions
from airflow_provider_ckpt.sources.judge_sources import is_asked
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.sources.lag import SourceLag
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, read_lag
from airflow_provider_ckpt.times import duration_text, time_text

_HINT = "Start the query before, or let the source keep its data longer."


def foresee_expiry(
    view: CheckpointView,
    sources: Mapping[str, Source],
    options: QueryOptions,
    access: Access,
    brokers: Brokers,
    now_ms: int,
    *,
    lost: Losses,
    within_ms: int,
) -> Losses:
    """Losses of a restart, including data that the sources will have deleted after a time.

    Args:
        view: The checkpoint, as it was observed.
        sources: As for :func:`~airflow_provider_ckpt.sources.judge_sources.judge_sources`.
        options: Options of the query's sources.
        access: Access to the sources.
        brokers: Those that were asked for ``lost``; nine more requests are made for each partition.
        now_ms: Now, epoch milliseconds.
        lost: Losses of a restart now.
        within_ms: A finding is made of data that may be deleted before this time has passed.

    Raises:
        StoreUnavailableError: A source does not answer; another try can help.
    """
    newest = view.readable_offset_seq(view.latest_planned)
    read = [name for name, _ in newest.offsets] if newest else list(sources)
    lags, refused = list[SourceLag](), list[str]()
    for name, source in sources.items():
        if name not in read or not is_asked(source, access):
            continue
        try:
            found = read_lag(view, LagQuestion({name: source}, options, ages=True), access, now_ms, brokers)
        except StoreUnavailableError:
            raise
        except StoreError:  # who may read the ends of a topic may not read its configuration
            refused.append(_expiry_of(name))
        else:
            lags += (lag for lag in found if lag.source_id == name)
    foreseen = expiring(view.latest_committed, lost, lags, now_ms, within_ms)
    return replace(foreseen, unknown=(*foreseen.unknown, *refused))


def expiring(batch_id: int | None, lost: Losses, lags: Iterable[SourceLag], now_ms: int, within_ms: int) -> Losses:
    """Losses of a restart, with a finding for each source that deletes unread data within a time.

    Args:
        batch_id: The newest committed batch; None before the first.
        lost: Losses of a restart now; they already say when tables and directories delete unread data.
        lags: Lags of the Kafka sources, with ages.
        now_ms: Now, epoch milliseconds.
        within_ms: The time, milliseconds.
    """
    entry = None if batch_id is None else layout.offset_entry(batch_id)

    def finding(what: str, left_ms: int) -> Finding:
        when = f"in {duration_text(left_ms)}, at {time_text(now_ms + left_ms)}" if left_ms else "at any time now"
        return an_error("CKPT266", f"{what} may be deleted {when}", batch_id, entry, _HINT)

    findings, unknown = list(lost.findings), list(lost.unknown)
    for lag in lags:
        known = {part: part.expires_ms for part in lag.partitions if part.unread and part.expires_ms is not None}
        soon = sorted((left, f"{part.topic}-{part.partition}") for part, left in known.items() if left <= within_ms)
        if soon:
            names = listed_shortly([name for _, name in soon], 3)
            findings.append(finding(f"unread records of source {lag.source_id} ({names})", soon[0][0]))
        if any(part.unread and part.age_ms is None for part in lag.partitions):
            unknown.append(_expiry_of(lag.source_id))
    if lost.expires_ms is not None and lost.expires_ms <= within_ms:
        findings.append(finding("what the query has not read of a table or directory", lost.expires_ms))
    return replace(lost, findings=tuple(findings), unknown=tuple(unknown))


def _expiry_of(source_id: str) -> str:
    """Name of the unjudged expiry of a source without timestamps in its records, or with an unreadable retention."""
    return f"expiry of source {source_id}"
