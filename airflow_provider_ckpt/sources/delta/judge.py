"""Asking a Delta table what stops a source of it, and when the table deletes what the source needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import MOST_TRIED, find_newest_restorable
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset, of_value
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, MalformedEntryError, StoreError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.delta.findings import findings_of, lost_files, lost_later
from airflow_provider_ckpt.sources.delta.loss import DeltaTable, Reading, not_judged, place_of, readings, stops
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import DeltaLog, open_table
from airflow_provider_ckpt.tables.delta_commit import ACTIONS, DeltaCommit, commit_of
from airflow_provider_ckpt.tables.delta_restores import Reverted
from airflow_provider_ckpt.tables.delta_schema import DeltaSchema
from airflow_provider_ckpt.tables.read_restores import read_reverted
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: So many data files are looked for at most.
MOST_FILES = 1_000
#: So many files of the commits are held at most, and of the first commit all.
MOST_NAMED = 500_000
#: What is not judged: versions of the table beyond that, or beyond DELTA_LOG_BYTES of its log.
VERSIONS = "later versions"
#: What is not judged: whether the data files that the query has not read are there.
DATA_FILES = "data files"
#: What is not judged: when the log and the data files expire, where the table says it in a way that is not known.
RETENTION = "retention of the table"
_LOG_KEPT, _FILES_KEPT = ("delta.logRetentionDuration", "30 days"), ("delta.deletedFileRetentionDuration", "7 days")
_UNITS_MS = {"week": 604_800_000, "day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000}
_UNITS_MS |= {"millisecond": 1}
_SPAN = re.compile(r"(\d{1,12})\s+([a-z]+?)s?(?:\s+|$)")


def judge(at: TableAtRestart, declared: Source, access: Access) -> TableLosses:
    """Judge one Delta source; see :meth:`~airflow_provider_ckpt.sources.judge_tables.Judge.judge`."""
    try:
        ranges = readings(at)
    except MalformedEntryError as error:
        raise StoreError(f"source {at.source_id} is not a Delta source: {error.message}") from error
    store = access.open_store(declared.directory)
    log = DeltaLog(store)
    log.require_no_staged()
    table, unread = _read(store, log, ranges)
    table = replace(table, reverted=_reverted(log, place_of(at), table.commits))
    if table.reverted is not None and table.reverted.read and access.checkpoint is not None:
        at = replace(at, back_to=find_batch_before(access.checkpoint, at.source_id, table.reverted.read[0]))
    found = tuple(findings_of(at, table, stops(at, table)))
    if any(finding.code == "CKPT259" for finding in found):
        return TableLosses(found, (*not_judged(at, table), *unread))
    late = lost_later(at, table)
    if late is not None and access.checkpoint is not None:
        late = lost_later(
            replace(at, back_to=find_batch_before(access.checkpoint, at.source_id, log.newest + 1)), table
        )
    files, unseen = _files(at, store, table)
    expiries, unsaid = _expiries(at, log, table)
    unknown = (*not_judged(at, table), *unread, *unseen, *unsaid)
    expires_ms = min((max(0, expiry - at.now_ms) for expiry in expiries), default=None)
    return TableLosses((*found, *files, *((late,) if late else ())), unknown, expires_ms)


def _read(store: Store, log: DeltaLog, ranges: Iterable[Reading]) -> tuple[DeltaTable, list[str]]:
    """Read what the source needs of the table, from the first version of a range on; also returns what was not read."""
    first = min(reading.first for reading in ranges)
    commits, unread = _commits(log, first)
    schemas = {reading.first: _schema_then(store, log, reading.first) for reading in ranges}
    newest = _schema_of(open_table(store, without_files=True))
    return DeltaTable(newest, log.newest, frozenset(log.commits), commits, schemas), unread


def _reverted(log: DeltaLog, position: DeltaOffset, commits: Mapping[int, DeltaCommit]) -> Reverted | None:
    """Meaning of RESTOREs for the query, as far as the log is read; a log that is read in part is said to be."""
    try:
        return read_reverted(log, position, commits)
    except StoreError:
        if not log.is_read_out:
            raise
        return None


def _commits(log: DeltaLog, first: int) -> tuple[dict[int, DeltaCommit], list[str]]:
    """Read the versions from ``first`` on; also returns what was not read."""
    commits: dict[int, DeltaCommit] = {}
    named = 0
    for version in sorted(version for version in log.commits if version >= first):
        try:
            commit = log.read(version, ACTIONS, commit_of)
        except StoreError:
            if not log.is_read_out:
                raise
            return commits, [VERSIONS]
        named += len(commit.added) + len(commit.removed or ()) + len(commit.rewritten or ())
        if named > MOST_NAMED and commits:
            return commits, [VERSIONS]
        commits[version] = commit
    return commits, []


def _schema_then(store: Store, log: DeltaLog, version: int) -> DeltaSchema | None:
    """Schema of the table at a version; None when its log no longer tells."""
    then = min(version, log.newest)
    return _schema_of(open_table(store, without_files=True, version=then)) if log.can_rebuild(then) else None


def _schema_of(table: Any) -> DeltaSchema:
    told = table.metadata()
    fields = parse_json(table.schema().to_json())
    return DeltaSchema(str(told.id), fields, tuple(told.partition_columns), dict(told.configuration))


# --- data files -----------------------------------------------------------------------------------------------------


def _files(at: TableAtRestart, store: Store, table: DeltaTable) -> tuple[list[Finding], list[str]]:
    """Unread files that are gone. VACUUM deletes those alone that a later version has taken out of the table."""
    wanted = [(version, path) for version, path, _ in _unread_and_removed(at, table)]
    unseen = len(wanted) > MOST_FILES or any(urlsplit(path).scheme or path.startswith("/") for _, path in wanted)
    gone: dict[int, list[str]] = {}
    for version, path in wanted[:MOST_FILES]:
        if not urlsplit(path).scheme and not path.startswith("/") and store.stat(unquote(path)) is None:
            gone.setdefault(version, []).append(unquote(path))
    return [lost_files(at, version, names) for version, names in gone.items()], [DATA_FILES] if unseen else []


def _unread_and_removed(at: TableAtRestart, table: DeltaTable) -> Iterator[tuple[int, str, int | None]]:
    """The unread files that are not in the table any more: version, path, and when they went, epoch milliseconds."""
    begins = place_of(at)
    removed: dict[str, int | None] = {}
    found = []
    for version, commit in sorted(table.commits.items(), reverse=True):
        if version < begins.version:
            break
        own = commit.added if version > begins.version else commit.added[max(0, begins.index + 1) :]
        is_left_out = bool(commit.removed) and at.sets("skipchangecommits")
        found += [(version, file.path) for file in own if file.path in removed and not is_left_out]
        removed |= {**(commit.removed or {}), **(commit.rewritten or {})}
    for version, path in sorted(found):
        yield version, path, removed[path]


# --- when it expires ------------------------------------------------------------------------------------------------


def _expiries(at: TableAtRestart, log: DeltaLog, table: DeltaTable) -> tuple[list[int], list[str]]:
    """Time from which the table may delete what the source needs, epoch milliseconds; and what is unknown of it."""
    found: list[int | None] = []
    if table.schema.properties.get("delta.enableExpiredLogCleanup", "true").lower() == "true":
        kept_ms = _kept_ms(table.schema.properties, *_LOG_KEPT)
        needed = min((version for version in _needed(at, table)), default=None)
        if needed is not None:
            written_ms = _written_ms(log, table.commits[needed], needed)
            found.append(None if kept_ms is None or written_ms is None else written_ms + kept_ms)
    kept_ms = _kept_ms(table.schema.properties, *_FILES_KEPT)
    gone = [removed_ms for _, _, removed_ms in _unread_and_removed(at, table)]
    found += [None if kept_ms is None or removed_ms is None else removed_ms + kept_ms for removed_ms in gone]
    return [expiry for expiry in found if expiry is not None], [RETENTION] if None in found else []


def _needed(at: TableAtRestart, table: DeltaTable) -> Iterator[int]:
    """The versions without which the source stops, of those that are there and that may be deleted one day."""
    for reading in readings(at):
        yield from (version for version in table.commits if reading.has(version))


def _written_ms(log: DeltaLog, commit: DeltaCommit, version: int) -> int | None:
    """Time at which a commit was written: the cleanup of the log goes by the time of its file."""
    stored = log.commits[version].modified_ms
    return commit.at_ms if stored is None else stored


def _kept_ms(properties: Mapping[str, str], key: str, default: str) -> int | None:
    """An interval of a property, such as ``interval 30 days``, milliseconds; None for what is none."""
    text = properties.get(key, default).lower().removeprefix("interval").strip()
    spans = _SPAN.findall(text)
    if not spans or _SPAN.sub("", text) or any(unit not in _UNITS_MS for _, unit in spans):
        return None
    return sum(int(number) * _UNITS_MS[unit] for number, unit in spans)


def find_batch_before(store: Store, source_id: str, version: int) -> int | None:
    """The newest batch that a rollback can go to in which a source has read nothing of a version, nor after it.

    None when there is none. Raises StoreError for a checkpoint that cannot be read.
    """
    view = observe(store, deep=True)
    for batch_id in islice(reversed(view.committed), MOST_TRIED):
        end = _end(store, source_id, batch_id)
        if end is not None and not end.has_read_from(version):
            return find_newest_restorable(store, view, batch_id)
    return None


def _end(store: Store, source_id: str, batch_id: int) -> DeltaOffset | None:
    """Where a source was after a batch; None when its entry does not tell."""
    name = layout.offset_entry(batch_id)
    try:
        entry = codec.decode(name, store.read(name))
        offset = dict(entry.offsets).get(source_id) if isinstance(entry, OffsetSeq) else None
        return None if offset is None else of_value(offset.view("delta").value)
    except (CheckpointFormatError, CheckpointNotFoundError, ValueError):
        return None
