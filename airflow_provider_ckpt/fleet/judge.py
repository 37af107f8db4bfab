"""Judging each checkpoint of a fleet: a few at a time, lazily, in the order in which they were found.

No more than a window of checkpoints is held at once, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Literal

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding, worst_first
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.fleet.find import Found, patiently
from airflow_provider_ckpt.fleet.read_positions import FleetPosition, FleetPositions
from airflow_provider_ckpt.fleet.row import FleetRow, batch_rate
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.restart.judged import not_read
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import age_ms

#: The brokers are asked for so many checkpoints together; as many views are held at once.
TOGETHER = 200


def judge_checkpoints(
    found: Iterable[Found | FleetRow],
    *,
    deep: bool = False,
    deploy: DeploySpec | Callable[[str], DeploySpec | None] | None = None,
    threads: int = THREADS,
    positions: FleetPositions | None = None,
) -> Iterator[FleetRow]:
    """Check each checkpoint, in the order given; rows pass through.

    Args:
        found: From :func:`find_checkpoints`, or made from known locations.
        deep: Read everything, as :func:`inspect` does.
        deploy: Also forecast the restart of each with this deploy, or with what it gives for the location of each.
        threads: How many to judge together.
        positions: Also ask the sources how far each is behind, and what its restart would lose.
    """
    with ThreadPoolExecutor(threads) as pool:
        read = in_order(pool, lambda item: _read(item, deep), found, window=2 * threads)
        if positions is None:
            yield from (item if isinstance(item, FleetRow) else _judge(item, deploy, None) for item in read)
            return
        while some := list(islice(read, TOGETHER)):
            positions.read_ahead(item.view for item in some if isinstance(item, _Examined))
            for item in some:
                yield item if isinstance(item, FleetRow) else _judge(item, deploy, positions)


@dataclass(frozen=True, slots=True)
class _Examined:
    """A checkpoint that was read."""

    store: Store
    view: CheckpointView
    findings: tuple[Finding, ...]


def _read(item: Found | FleetRow, deep: bool) -> _Examined | FleetRow:
    if isinstance(item, FleetRow):
        return item
    try:
        view = _examine(item, deep)
    except CheckpointError as error:
        return FleetRow(item.store.location, error=str(error))
    return _Examined(item.store, view, check(view))


def _judge(
    examined: _Examined,
    deploy: DeploySpec | Callable[[str], DeploySpec | None] | None,
    positions: FleetPositions | None,
) -> FleetRow:
    view, findings = examined.view, examined.findings
    is_own = callable(deploy)
    deploy = deploy(view.location) if callable(deploy) else deploy
    found = FleetPosition() if positions is None else positions.of(view, examined.store)
    if deploy is None:
        lost = found.losses.findings if found.losses else ()
        row = row_of(view, worst_first((*findings, *lost)), None, (*not_read(view), *found.unknown))
    else:
        own = deploy if positions is None or is_own else _with(positions.deploy_of(view.location), deploy)
        # What nobody answered is no pass either.
        foretold = forecast(view, own, replace(found.losses or Losses(), unknown=found.unknown))
        found_all = worst_first(dict.fromkeys((*findings, *foretold.findings)))
        row = row_of(view, found_all, foretold.decision, foretold.unknown)
    return replace(row, sources=found.sources, expires_ms=found.expires_ms, lag_error=found.error)


def _with(own: DeploySpec, shared: DeploySpec) -> DeploySpec:
    """Declared deploy of one query, completed by the deploy of the whole fleet."""
    deploy = own if shared.declared_version is None else replace(own, declared_version=shared.declared_version)
    return deploy.with_confs(shared.confs) if shared.says_confs else deploy


@patiently
def _examine(found: Found, deep: bool) -> CheckpointView:
    return examine(found.store, deep=deep, listing=found.listing, each=True)


def row_of(
    view: CheckpointView,
    findings: tuple[Finding, ...],
    decision: str | None = None,
    unknown: tuple[str, ...] = (),
) -> FleetRow:
    """The row of a checkpoint that was read and judged."""
    commits_ms = _commits_ms(view)
    return FleetRow(
        location=view.location,
        query_id=view.query_id,
        latest_planned_batch=view.latest_planned,
        latest_committed_batch=view.latest_committed,
        in_flight=view.in_flight,
        watermark_ms=_of_entry(view, "watermark_ms"),
        last_commit_age_ms=_last_commit_age_ms(view, commits_ms),
        findings=findings,
        decision=decision,
        unknown=unknown,
        planned_at_ms=_of_entry(view, "planned_at_ms"),
        last_commit_ms=commits_ms.get(view.latest_committed),
        rate=batch_rate(commits_ms.values(), view.observed_at_ms),
        stalled_ms=stalled_ms(commits_ms.values(), view.observed_at_ms),
    )


def _of_entry(view: CheckpointView, name: Literal["watermark_ms", "planned_at_ms"]) -> int | None:
    try:
        return view.watermark_ms if name == "watermark_ms" else view.planned_at_ms
    except CheckpointError:  # the entry is damaged, and a finding says so
        return None


def _commits_ms(view: CheckpointView) -> dict[int | None, int]:
    """Times at which each batch was committed, as far as the storage tells."""
    stored = {batch_id: view.objects.get(layout.commit_entry(batch_id)) for batch_id in view.committed}
    return {batch: entry.modified_ms for batch, entry in stored.items() if entry and entry.modified_ms is not None}


def _last_commit_age_ms(view: CheckpointView, commits_ms: Mapping[int | None, int]) -> int | None:
    committed_ms = commits_ms.get(view.latest_committed)
    return None if committed_ms is None else age_ms(committed_ms, view.observed_at_ms)


#: A query is stalled when it has no commit for so many times its longest pause, and its usual one.
OF_LONGEST, OF_USUAL = 3, 20
#: And for so long at least, milliseconds: short pauses are nobody's concern.
LEAST_MS = 300_000
#: So many commits show a rhythm.
LEAST_COMMITS = 4


def stalled_ms(commits_ms: Iterable[int], now_ms: int) -> int | None:
    """Time without a commit of a query, where that is much longer than its rhythm.

    Args:
        commits_ms: When each batch was committed, epoch milliseconds.
        now_ms: Now, by the same clock.

    Returns:
        Milliseconds; None where it is not stalled, or its commits show no rhythm. A query without new data commits
        nothing either, and neither does one that runs once a day and keeps the commits of its last run alone.
    """
    times = sorted(commits_ms)
    if len(times) < LEAST_COMMITS or times[0] == times[-1]:
        return None
    pauses = sorted(later - earlier for earlier, later in pairwise(times))
    quiet_ms = now_ms - times[-1]
    limit_ms = max(LEAST_MS, OF_LONGEST * pauses[-1], OF_USUAL * pauses[len(pauses) // 2])
    return quiet_ms if quiet_ms > limit_ms else None
