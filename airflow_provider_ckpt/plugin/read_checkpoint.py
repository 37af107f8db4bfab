"""Reading a checkpoint for its page: part by part, for so long, and what cannot be read is a sentence on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic
from typing import TypeVar

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.read_by_query import QueryBackups
from airflow_provider_ckpt.change.record.journal import Record, survey
from airflow_provider_ckpt.checkpoint.contents import unknown_names
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.progress import source_kind
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.plugin.checkpoint_page import (
    MOST_BACKUPS,
    MOST_CHANGES,
    MOST_FINDINGS,
    MOST_VALUE,
    Backup,
    CheckpointPage,
    Latest,
)
from airflow_provider_ckpt.plugin.read_batches import Log, Logs, list_both, read_log
from airflow_provider_ckpt.plugin.source_positions import Source, Tally, cut, numbers_of, source_of
from airflow_provider_ckpt.plugin.timeline import Change, charts_of, lines_of
from airflow_provider_ckpt.query.source import parse_item, unit_of
from airflow_provider_ckpt.storage.store import Store

Found = TypeVar("Found")
OpenRoot = Callable[[], Store]
OpenRecords = Callable[[], Store | None]
#: Seconds after which no further part of a page is begun.
PATIENCE_S = 20.0
#: A record of a change that is larger is not read.
MOST_PLAN_BYTES = 8 << 20
_LATE = "The storage is slow, so this part was not read to its end. Load the page again, or use the command."


def read_page(
    store: Store,
    backups: Iterable[OpenRoot] = (),
    *,
    before: int | None = None,
    declared: Mapping[str, str] | None = None,
    records: OpenRecords = lambda: None,
    clock: Callable[[], float] = monotonic,
) -> CheckpointPage:
    """The page of a checkpoint. Nothing is written, and no error of a storage is raised.

    Args:
        store: The directory of the checkpoint.
        backups: Open the roots in which there may be backups of it.
        before: Show batches before this one (exclusive); None for the newest.
        declared: Types of sources by id, for logs that do not name them.
        records: Opens the declared root of the records of its changes; those beside the checkpoint are shown, too.
        clock: Seconds that go on.
    """
    return _Reader(store, before, declared or {}, records, clock).read(backups)


class _Reader:
    """Fills a page, and knows when it has taken too long."""

    def __init__(
        self,
        store: Store,
        before: int | None,
        declared: Mapping[str, str],
        records: OpenRecords,
        clock: Callable[[], float],
    ) -> None:
        self.store, self.declared, self._records, self._clock = store, declared, records, clock
        self._until = clock() + PATIENCE_S
        self.page = CheckpointPage(store.location, now_ms(), before=before)

    def is_late(self) -> bool:
        return self._clock() > self._until

    def part(self, read: Callable[[], Found], *names: str) -> Found | None:
        """A part of the page; None when it cannot be read, or when it is too late, and the page says there why."""
        if self.is_late():
            self._miss(_LATE, *names)
            return None
        try:
            return read()
        except CheckpointError as error:
            self._miss(str(error), *names)
            return None

    def _miss(self, why: str, *names: str) -> None:
        """Say why parts are not there, or not whole; of several reasons all."""
        for name in names:
            said = self.page.missing.get(name, "")
            self.page.missing[name] = why if said in ("", why) else f"{said} {why}"

    def read(self, backups: Iterable[OpenRoot]) -> CheckpointPage:
        """All of it; first what the page is for, so that a slow storage has answered that when the time is over."""
        page = self.page
        try:
            logs = list_both(self.store, page.before)
        except CheckpointError as error:
            page.problem = str(error)
            page.status = 404 if isinstance(error, CheckpointNotFoundError) else 503 if error.retryable else 200
            self.part(self._read_changes, "changes")
            return page
        page.entries = logs.entries
        log = self.part(lambda: read_log(self.store, logs, page.before, self.declared, self.is_late), "log") or Log()
        page.batches, page.older, page.conf_changes = log.batches, log.older, log.conf_changes
        page.unreadable += [log.unread] if log.unread else []
        if page.before is None:  # an older page shows its batches alone
            self._read_newest(logs, log, backups)
        self.part(self._read_changes, "changes")
        following = logs.listing.objects.get(f"offsets/{page.before}")
        until_ms = following.modified_ms if following else None
        page.lines = lines_of(log.batches, page.changes, until_ms=until_ms, are_oldest=log.older is None)
        page.charts = charts_of(log.batches, page.changes)
        return page

    def _read_newest(self, logs: Logs, log: Log, backups: Iterable[OpenRoot]) -> None:
        page, see = self.page, examine if logs.whole else observe
        view = self.part(lambda: see(self.store, listing=logs.listing), "latest", "sources", "findings", "backups")
        if view is None:
            return
        page.sources = self.part(lambda: _sources(view, log.tallies, self.declared), "sources") or []
        page.latest = _latest(view)
        if logs.whole:
            found = self.part(lambda: check(view), "findings") or ()
            page.findings = found[:MOST_FINDINGS]
            page.more_findings = len(found) - len(page.findings)
        else:
            said = f"The logs have {logs.entries:,} entries, which is too many to check for a page."
            self._miss(said, "findings")
        for open_root in backups:
            self.part(partial(self._read_backups, open_root, view), "backups")
        page.backups.sort(key=lambda item: (item.created_at_ms, item.backup_id), reverse=True)

    def _read_changes(self) -> None:
        records, unreadable = survey(self.store, most=MOST_CHANGES, most_bytes=MOST_PLAN_BYTES)
        if (declared := self._records()) is not None:
            there = survey(self.store, declared, most=MOST_CHANGES, most_bytes=MOST_PLAN_BYTES)
            records, unreadable = (*records, *there[0]), {**unreadable, **there[1]}
        records = tuple(sorted(records, key=lambda record: record.order))
        self.page.changes = [_change(record) for record in reversed(records)]
        self.page.unreadable += [str(error) for error in unreadable.values()]
        if len(records) + len(unreadable) >= MOST_CHANGES:
            self.page.unreadable.append(f"No more than {MOST_CHANGES} changes are read for this page.")

    def _read_backups(self, open_root: OpenRoot, view: CheckpointView) -> None:
        """The newest of a root; a manifest may be large."""
        root = open_root()
        backups = QueryBackups(root)
        for backup_id in backups.ids_of(view.query_id)[:MOST_BACKUPS]:
            if self.is_late():
                self._miss(_LATE, "backups")
                return
            try:
                found = backups.read(backup_id, view.query_id, view.location)
            except CheckpointError as error:
                if error.retryable:
                    raise
                self.page.unreadable.append(str(error))
                continue
            if found is not None:
                self.page.backups.append(_backup(root, found))


def _backup(root: Store, found: Manifest) -> Backup:
    return Backup(
        root=root.location,
        backup_id=found.backup_id,
        batch_id=found.batch_id,
        created_at_ms=found.created_at_ms,
        objects=len(found.objects),
        total_bytes=found.total_bytes,
        message=found.message,
        tags=found.tags,
    )


def _change(record: Record) -> Change:
    return Change(
        plan=record.plan,
        state=record.state,
        at_ms=record.done_at_ms or record.begun_at_ms or record.plan.planned_at_ms,
        by=record.by,
        approved_by=record.approved_by,
        accepted_sink=record.accepted_sink,
        from_batch=record.from_batch,
        forgotten=record.forgotten,
    )


def _latest(view: CheckpointView) -> Latest:
    newest = view.readable_offset_seq(view.latest_planned)
    committed = view.readable_offset_seq(view.latest_committed)
    done = view.latest_committed
    stored = view.objects.get(f"commits/{done}")
    try:
        commit = view.commit(done) if done is not None else None
    except CheckpointError:  # a finding of its own
        commit = None
    metadata = newest.metadata if newest else None
    return Latest(
        query_id=view.query_id,
        latest_planned=view.latest_planned,
        latest_committed=done,
        in_flight=view.in_flight,
        committed_at_ms=stored.modified_ms if stored else None,
        watermark_ms=(committed.metadata.batch_watermark_ms or None) if committed and committed.metadata else None,
        offset_log_version=newest.version if newest else None,
        commit_log_version=commit.version if commit else None,
        stateful=view.stateful,
        unknown=tuple(unknown_names(view)),
        confs={key: cut(value, MOST_VALUE) for key, value in sorted(metadata.conf.items())} if metadata else {},
    )


def _sources(view: CheckpointView, tallies: Mapping[str, Tally], declared: Mapping[str, str]) -> list[Source]:
    newest = view.latest_offset_seq
    if newest is None:
        return []
    found = []
    for source_id, committed, planned in view.source_offsets:
        kind = source_kind(newest, source_id, declared)
        unit = unit_of(kind) if kind else None
        positions = _positions(view, source_id, kind)
        tally = tallies.get(source_id) or Tally()
        found.append(source_of(source_id, kind, unit, (committed, planned), positions, tally))
    return found


def _positions(view: CheckpointView, source_id: str, kind: str | None) -> dict[str, int | None]:
    """The committed position of each partition; none where the offset does not fit its type."""
    offset = view.committed_offset(source_id)
    if kind is None or offset is None:
        return {}
    try:
        return numbers_of(offset.view(kind).positions.items())
    except (ValueError, CheckpointError):
        return {}


def declared_types(text: str) -> dict[str, str]:
    """Types of sources as somebody types them, ``0=kafka, 1=delta``. Raises CheckpointError."""
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        try:
            source = parse_item(item)
        except ValueError as error:
            raise CheckpointError(f"{item!r:.60} is no type of a source: give 0=kafka; {error}.") from None
        if source.id is None or source.type is None:
            raise CheckpointError(f"{item!r:.60} is no type of a source: give 0=kafka.")
        found[source.id] = source.type
    return found
