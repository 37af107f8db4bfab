"""Fleets: find every checkpoint under some roots, and judge each of them.

Both steps are lazy, run on a few threads, and hold no more than a window of checkpoints at a time, however many there
are. What they yield stands in the order in which directories are walked: level by level below each root, then by name.
A directory that cannot be read is a row with its error and ends nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from tenacity import retry, retry_if_exception, stop_after_attempt, stop_after_delay, wait_exponential, wait_random

from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.deploy import DeploySpec
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.findings import SEVERITIES, Finding, Severity, worst_first
from airflow_provider_ckpt.forecast import forecast
from airflow_provider_ckpt.lifecycle.checking import examine
from airflow_provider_ckpt.lifecycle.listing import Look, look_at
from airflow_provider_ckpt.lifecycle.lookup import DATA, DROPPED, INTENT, MANIFEST
from airflow_provider_ckpt.lifecycle.records import PLAN, UNDO_DIRECTORY
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView

#: How many levels below a root a checkpoint is looked for.
DEPTH = 5
THREADS = 8

#: Directories of Spark, of table formats and of this package that hold no checkpoints and may be vast.
NOT_ENTERED = frozenset(
    {layout.OFFSETS, layout.COMMITS, layout.SOURCES, layout.STATE, layout.SINK_LOG, UNDO_DIRECTORY}
    | {"_delta_log", "_change_data", "_symlink_format_manifest", "_temporary"}
)

#: What a Spark Declarative Pipeline keeps its checkpoints in: <table>/<flow>/<version>.
PIPELINE_CHECKPOINTS = "_checkpoints"

#: What this package itself keeps copies of checkpoints in: a file, and the directory beside it.
OUR_COPIES = ((MANIFEST, DATA), (INTENT, DATA), (DROPPED, DATA), (PLAN, "saved"))

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint that is to be judged.

    Args:
        store: Where it is.
        look: The look that found it, so that it need not be taken again.
    """

    store: Store
    look: Look | None = None

    @property
    def location(self) -> str:
        """Its URI."""
        return self.store.location


@dataclass(frozen=True, slots=True)
class FleetRow:
    """What is known of one checkpoint of a fleet.

    Args:
        location: Its URI.
        query_id: Id of the query; None when ``metadata`` is missing or damaged.
        latest_planned_batch: The newest batch in the offset log.
        latest_committed_batch: The newest batch in the commit log.
        in_flight: The newest batch when it is planned and not committed.
        watermark_ms: Watermark of the newest committed batch, epoch milliseconds.
        last_commit_age_ms: Milliseconds from the newest commit to the look, by the clock of the storage; None when it
            does not tell, or nothing was committed.
        findings: What the rules found, errors first.
        verdict: What the findings say of the deploy, ``pass``, ``warn`` or ``block``; None when there is no deploy.
        error: Why the checkpoint, or a directory that may hold some, could not be looked at; all else is then empty.
        replaced_by: The version of a flow of a declarative pipeline that has replaced this one since a full refresh;
            this one is not looked at, and all else is empty.
    """

    location: str
    query_id: str | None = None
    latest_planned_batch: int | None = None
    latest_committed_batch: int | None = None
    in_flight: int | None = None
    watermark_ms: int | None = None
    last_commit_age_ms: int | None = None
    findings: tuple[Finding, ...] = ()
    verdict: str | None = None
    error: str | None = None
    replaced_by: str | None = None

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding; ``error`` when there is no knowing."""
        if self.error:
            return "error"
        return min((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`row_from_dict` is the way back."""
        return {**asdict(self), "findings": [finding.to_dict() for finding in self.findings]}


def row_from_dict(fields: Mapping[str, Any]) -> FleetRow:
    """The row that :meth:`FleetRow.to_dict` wrote."""
    findings = [{key: value for key, value in item.items() if key != "doc"} for item in fields["findings"]]
    return FleetRow(**{**fields, "findings": tuple(Finding(**item) for item in findings)})


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, CheckpointError) and error.retryable


#: A few times, but not for long: drivers have tried again themselves before they say that a storage is down.
_patiently = retry(
    retry=retry_if_exception(_is_retryable),
    stop=stop_after_attempt(3) | stop_after_delay(5),
    wait=wait_exponential(multiplier=0.1, max=5) + wait_random(0, 0.1),
    reraise=True,
)


# --- finding -------------------------------------------------------------------------------------------------------


def find_checkpoints(
    roots: Sequence[Store], *, depth: int = DEPTH, threads: int = THREADS
) -> Iterator[Found | FleetRow]:
    """Find every checkpoint under some roots.

    Args:
        roots: Where to look; a root may be a checkpoint itself.
        depth: How many levels below a root to look.
        threads: How many directories to look at together.

    Returns:
        A generator of checkpoints, and of rows with an error for directories that could not be listed.

    Raises:
        CheckpointNotFoundError: A root does not exist.
        StoreError: A root cannot be listed. Both are raised at once, before the first checkpoint is asked for.
    """
    level: list[tuple[Store, Look | FleetRow]] = [(root, _look_at_root(root)) for root in roots]
    return _walk(level, depth, threads)


@_patiently
def _look_at_root(root: Store) -> Look:
    look = look_at(root)
    if not look.objects and not look.directories and not root.exists():
        raise CheckpointNotFoundError("the location does not exist.", location=root.location)
    return look


def _walk(seen: Iterable[tuple[Store, Look | FleetRow]], depth: int, threads: int) -> Iterator[Found | FleetRow]:
    with ThreadPoolExecutor(threads) as pool:
        for levels_left in range(depth, -1, -1):
            below: list[tuple[Store, list[str]]] = []
            for store, look in seen:
                if isinstance(look, FleetRow):
                    yield look
                elif look.is_checkpoint:
                    yield _found(store, look)
                elif levels_left:
                    below.append((store, _to_enter(look)))
            children = (store.child(name) for store, names in below for name in names)
            seen = in_order(pool, _look_or_row, children, window=2 * threads)


def _found(store: Store, look: Look) -> Found | FleetRow:
    """A checkpoint; a row when a later version beside it has replaced it."""
    parent, _, name = store.location.rpartition("/")
    if not _is_flow(parent) or not name.isdecimal():
        return Found(store, look)
    try:
        newest = _newest_version(store.at(parent).ls()[1])
    except CheckpointError:  # not known to be replaced
        newest = name
    return Found(store, look) if name == newest else FleetRow(store.location, replaced_by=f"{parent}/{newest}")


def _is_flow(location: str) -> bool:
    """Whether a location is the directory of a flow of a Spark Declarative Pipeline, which holds its versions."""
    parts = location.split("/")
    return len(parts) > 3 and parts[-3] == PIPELINE_CHECKPOINTS


def _newest_version(names: Iterable[str]) -> str | None:
    """Each full refresh begins a version; the highest number is the one that runs."""
    return max((name for name in names if name.isascii() and name.isdecimal()), key=int, default=None)


def _to_enter(look: Look) -> list[str]:
    if any(file in look.objects and directory in look.directories for file, directory in OUR_COPIES):
        return []
    return sorted(name for name in look.directories - NOT_ENTERED if not name.startswith("."))


def _look_or_row(store: Store) -> tuple[Store, Look | FleetRow]:
    try:
        return store, _look_patiently(store)
    except CheckpointError as error:
        return store, FleetRow(store.location, error=str(error))


_look_patiently = _patiently(look_at)


# --- judging -------------------------------------------------------------------------------------------------------


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
        return _row(view, findings, None)
    foretold = forecast(view, deploy)
    return _row(view, worst_first(dict.fromkeys((*findings, *foretold.findings))), foretold.found)


@_patiently
def _examine(found: Found, deep: bool) -> CheckpointView:
    return examine(found.store, deep=deep, look=found.look)


def _row(view: CheckpointView, findings: tuple[Finding, ...], verdict: str | None) -> FleetRow:
    return FleetRow(
        view.location,
        view.query_id,
        view.latest_planned,
        view.latest_committed,
        view.in_flight,
        _watermark_ms(view),
        _last_commit_age_ms(view),
        findings,
        verdict,
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


def in_order(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], *, window: int
) -> Iterator[Result]:
    """Results in the order of the items; never more than ``window`` items have been taken and not been answered."""
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) == window:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
