"""Judging each checkpoint of a fleet: a few at a time, lazily, in the order in which they were found.

No more than a window of checkpoints is held at once, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding, worst_first
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import THREADS, Found, patiently
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.restart.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.restart.judged import not_read
from airflow_provider_ckpt.storage.concurrency import in_order


def judge_checkpoints(
    found: Iterable[Found | FleetRow], *, deep: bool = False, deploy: DeploySpec | None = None, threads: int = THREADS
) -> Iterator[FleetRow]:
    """Check each checkpoint, in the order given; rows pass through.

    Args:
        found: From :func:`find_checkpoints`, or made from known locations.
        deep: Read everything, as :func:`inspect` does.
        deploy: Also forecast the restart of each with this deploy.
        threads: How many to judge together.
    """
    with ThreadPoolExecutor(threads) as pool:
        yield from in_order(pool, lambda item: _judge(item, deep, deploy), found, window=2 * threads)


def _judge(item: Found | FleetRow, deep: bool, deploy: DeploySpec | None) -> FleetRow:
    if isinstance(item, FleetRow):
        return item
    try:
        view = _examine(item, deep)
    except CheckpointError as error:
        return FleetRow(item.store.location, error=str(error))
    findings = check(view)
    if deploy is None:
        return _row(view, findings, None, not_read(view))
    foretold = forecast(view, deploy)
    both = worst_first(dict.fromkeys((*findings, *foretold.findings)))
    return _row(view, both, foretold.decision, foretold.unknown)


@patiently
def _examine(found: Found, deep: bool) -> CheckpointView:
    return examine(found.store, deep=deep, listing=found.listing)


def _row(
    view: CheckpointView, findings: tuple[Finding, ...], decision: str | None, unknown: tuple[str, ...]
) -> FleetRow:
    return FleetRow(
        location=view.location,
        query_id=view.query_id,
        latest_planned_batch=view.latest_planned,
        latest_committed_batch=view.latest_committed,
        in_flight=view.in_flight,
        watermark_ms=_watermark_ms(view),
        last_commit_age_ms=_last_commit_age_ms(view),
        findings=findings,
        decision=decision,
        unknown=unknown,
    )


def _watermark_ms(view: CheckpointView) -> int | None:
    try:
        return view.watermark_ms
    except CheckpointError:  # the entry is damaged, and a finding says so
        return None


def _last_commit_age_ms(view: CheckpointView) -> int | None:
    if view.latest_committed is None:
        return None
    commit = view.objects.get(layout.commit_entry(view.latest_committed))
    if commit is None or commit.modified_ms is None:
        return None
    return max(0, view.observed_at_ms - commit.modified_ms)
