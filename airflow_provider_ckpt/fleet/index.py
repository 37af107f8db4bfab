"""The index of a fleet: a line for each checkpoint, small enough to be read at once for a page.

The file begins with a line about itself and has a JSON object a line. What a line does not have is none, or is not
known; a reader passes over what it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from airflow_provider_ckpt.checks.findings import SEVERITIES
from airflow_provider_ckpt.documents import FORMAT_VERSION, is_current
from airflow_provider_ckpt.fleet.row import BatchRate, FleetRow, rate_from_dict
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import MOST_BYTES
from airflow_provider_ckpt.visible import visible

#: A fleet with more has to be divided: each index has a page of its own.
MOST_ROWS = 100_000
#: So is one whose index is larger: that is all that a reader reads of a file. An ordinary row has 300 to 700 bytes.
MOST_INDEX_BYTES = MOST_BYTES
#: Of a line, characters: all texts in it are cut to fit.
MOST_LINE = 16_384
#: Of a location, characters; a checkpoint with a longer one cannot be opened by its page either.
MOST_LOCATION = 2_048
_MOST_TEXT = 300
#: Roots that the first line names.
_MOST_ROOTS = 100


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One checkpoint in the index. Times are epoch milliseconds by the clock of the storage.

    Args:
        location: Its URI.
        query_id: Id of the query.
        latest_planned_batch: The newest batch in the offset log.
        latest_committed_batch: The newest batch in the commit log.
        in_flight: The newest batch when it is planned and not committed.
        last_commit_ms: Commit time of the newest batch.
        watermark_ms: Watermark of the newest committed batch.
        watermark_lag_ms: From the watermark to the begin of the batch that has it.
        offsets: Unread offsets of Kafka; the other sources likewise in their units. None when nobody asked.
        age_ms: Age of the oldest unread data.
        lost: Unread offsets that the brokers do not have any more.
        errors: Number of findings that are errors; the others likewise.
        worst: The severity of the worst; ``error`` when the checkpoint or its sources could not be read.
        worst_code: Rule of the worst finding.
        worst_message: Its message, cut.
        decision: Decision of a gate on the deploy; None without one.
        error: Why the checkpoint, or its sources, could not be read, cut.
        replaced_by: The checkpoint that has replaced it at a full refresh of a declarative pipeline.
        backup_id: The newest backup of the query below the roots of backups.
        backup_batch: The batch of that backup.
        backup_ms: The time of that backup.
        rate: Batches over the time of the commit log.
        stalled_ms: Time without a commit, where that is much longer than the query's own rhythm and not all is read.
        not_judged: Names of what was not judged, such as the state, cut.
        query: Name of the query in the query file.
        alarms: Thresholds of the file that are passed, or not known, in few words, cut.
    """

    location: str
    query_id: str | None = None
    latest_planned_batch: int | None = None
    latest_committed_batch: int | None = None
    in_flight: int | None = None
    last_commit_ms: int | None = None
    watermark_ms: int | None = None
    watermark_lag_ms: int | None = None
    offsets: int | None = None
    files: int | None = None
    versions: int | None = None
    snapshots: int | None = None
    age_ms: int | None = None
    lost: int | None = None
    errors: int | None = None
    warnings: int | None = None
    notes: int | None = None
    worst: str | None = None
    worst_code: str | None = None
    worst_message: str | None = None
    decision: str | None = None
    error: str | None = None
    replaced_by: str | None = None
    backup_id: str | None = None
    backup_batch: int | None = None
    backup_ms: int | None = None
    rate: BatchRate | None = None
    stalled_ms: int | None = None
    not_judged: str | None = None
    query: str | None = None
    alarms: str | None = None

    def with_query(self, query: str, alarms: str) -> IndexRow:
        """The row with the name of its query, and with the thresholds that do not hold."""
        return replace(self, query=_bounded(query), alarms=_bounded(alarms or None))

    def with_backup(self, backup: LastBackup | None) -> IndexRow:
        """The row with the newest backup of its query."""
        if backup is None:
            return self
        return replace(self, backup_id=backup.backup_id, backup_batch=backup.batch_id, backup_ms=backup.created_at_ms)

    @property
    def state(self) -> str:
        """One of :data:`STATES`."""
        if self.replaced_by is not None:
            return "replaced"
        if self.error is not None and self.latest_planned_batch is None:
            return "not readable"
        if self.stalled_ms is not None:
            is_unread = any((self.offsets, self.files, self.versions, self.snapshots, self.lost))
            return "stalled" if is_unread or self.in_flight is not None else "stalled or idle"
        if self.in_flight is not None:
            return "in flight"
        return "no commit" if self.latest_committed_batch is None else "committed"


#: What :attr:`IndexRow.state` can be.
STATES = ("stalled", "stalled or idle", "in flight", "committed", "no commit", "not readable", "replaced")


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The newest backup of a query.

    Args:
        backup_id: Its id.
        batch_id: The batch that it has.
        created_at_ms: When it was made, epoch milliseconds.
    """

    backup_id: str
    batch_id: int
    created_at_ms: int


#: An index is old after so many pauses between two of them; but not within a quarter of an hour, three runs of the DAG
#: that is shipped, and at the latest after a day and a half. Milliseconds.
_PAUSES = 3
OLD_LEAST_MS, OLD_MOST_MS = 900_000, 129_600_000


@dataclass(frozen=True, slots=True)
class FleetIndex:
    """A fleet at one time.

    Args:
        began_at_ms: When the fleet began to be read, epoch milliseconds; the later one of two indexes counts.
        written_at_ms: When that was done.
        roots: Where it was searched for.
        rows: A row for each checkpoint, and for each directory that could not be read.
        left_out: How many have no row, because their location has more than :data:`MOST_LOCATION` characters.
        before_ms: When the index before it began, where that one is still there; not in the file.
    """

    began_at_ms: int
    written_at_ms: int
    roots: tuple[str, ...]
    rows: tuple[IndexRow, ...]
    left_out: int = 0
    before_ms: int | None = field(default=None, compare=False)

    def is_old(self, at_ms: int) -> bool:
        """True if a newer one should be there by the pace at which indexes are written."""
        pace_ms = 0 if self.before_ms is None else _PAUSES * (self.began_at_ms - self.before_ms)
        return at_ms - self.written_at_ms > min(max(pace_ms, OLD_LEAST_MS), OLD_MOST_MS)

    def encode(self) -> bytes:
        """The file; :func:`decode` is the way back."""
        head = {
            "format_version": FORMAT_VERSION,
            "began_at_ms": self.began_at_ms,
            "written_at_ms": self.written_at_ms,
            "roots": [_bounded(root, MOST_LOCATION) for root in self.roots[:_MOST_ROOTS]],
            "rows": len(self.rows),
            "left_out": self.left_out,
        }
        return "".join(f"{line}\n" for line in (json.dumps(head), *map(line_of, self.rows))).encode()


def left_out_text(count: int) -> str:
    """A sentence on those that have no row."""
    are = "1 checkpoint is" if count == 1 else f"{count:,} checkpoints are"
    return (
        f"{are} not in the index, because a location of more than {MOST_LOCATION:,} characters cannot be opened by a "
        "page. `ckpt fleet` shows all."
    )


def index_row(row: FleetRow) -> IndexRow:
    """Row of the index for a row of a fleet."""
    worst = next(iter(sorted(row.findings, key=lambda finding: SEVERITIES.index(finding.severity))), None)
    counts = {severity: sum(finding.severity == severity for finding in row.findings) for severity in SEVERITIES}
    lag = None
    if row.planned_at_ms is not None and row.watermark_ms is not None:
        lag = row.planned_at_ms - row.watermark_ms
    sources = row.sources or ()
    ages = [source.age_ms for source in sources if source.age_ms is not None]
    return IndexRow(
        location=row.location,
        query_id=row.query_id,
        latest_planned_batch=row.latest_planned_batch,
        latest_committed_batch=row.latest_committed_batch,
        in_flight=row.in_flight,
        last_commit_ms=row.last_commit_ms,
        watermark_ms=row.watermark_ms,
        watermark_lag_ms=lag,
        offsets=_unread(row, "offsets"),
        files=_unread(row, "files"),
        versions=_unread(row, "versions"),
        snapshots=_unread(row, "snapshots"),
        age_ms=max(ages, default=None),
        lost=sum(source.lost for source in sources) or None,
        errors=counts["error"] or None,
        warnings=counts["warning"] or None,
        notes=counts["note"] or None,
        worst=row.worst,
        worst_code=None if worst is None else worst.code,
        worst_message=None if worst is None else _bounded(worst.message),
        decision=row.decision,
        error=_bounded(row.error or row.lag_error),
        replaced_by=_bounded(row.replaced_by, MOST_LOCATION),
        rate=row.rate,
        stalled_ms=row.stalled_ms if row.quiet else None,
        not_judged=_bounded(", ".join(row.unknown) or None),
    )


#: What a lag is counted in.
UNITS = ("offsets", "files", "versions", "snapshots")


def _unread(row: FleetRow, unit: str) -> int | None:
    totals = [source.total for source in row.sources or () if source.unit == unit and source.total is not None]
    return sum(totals) if totals else None


def _bounded(text: str | None, most: int = _MOST_TEXT) -> str | None:
    """A text of others, in so many characters at most."""
    if text is None:
        return None
    text = visible(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def line_of(row: IndexRow) -> str:
    """The line of a row."""
    given = {field.name: getattr(row, field.name) for field in fields(row)}
    if row.rate is not None:
        given["rate"] = row.rate.to_dict()
    return json.dumps({name: value for name, value in given.items() if value is not None})


_TEXTS = frozenset(field.name for field in fields(IndexRow) if str(field.type).startswith("str"))
_NUMBERS = frozenset(field.name for field in fields(IndexRow) if str(field.type).startswith("int"))


def decode(data: bytes) -> FleetIndex:
    """The index that a file holds. Raises ValueError for anything else, also for one that ends early."""
    first, *lines = data.decode().splitlines()[: MOST_ROWS + 2] or [""]
    head = _object(first, "the first line")
    if not is_current(head.get("format_version")):
        raise ValueError(
            f"the index has version {head.get('format_version')!r:.60}; this release reads version {FORMAT_VERSION}"
        )
    roots = head.get("roots")
    if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots):
        raise ValueError("the first line names no roots")
    if head.get("rows") != len(lines) or len(lines) > MOST_ROWS:
        raise ValueError(f"the index has {len(lines)} rows, and says {head.get('rows')!r:.60}")
    rows = tuple(_row(_object(line, f"line {number}"), number) for number, line in enumerate(lines, 2))
    left_out = _number({"left_out": 0, **head}, "left_out")  # the first indexes did not say it
    return FleetIndex(_number(head, "began_at_ms"), _number(head, "written_at_ms"), tuple(roots), rows, left_out)


def _object(line: str, where: str) -> Mapping[str, Any]:
    if len(line) > MOST_LINE:
        raise ValueError(f"{where} of the index is longer than {MOST_LINE} characters")
    try:
        found = parse_json(line)
    except ValueError as error:
        raise ValueError(f"{where} of the index is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} of the index is not a JSON object")
    return found


def _row(given: Mapping[str, Any], number: int) -> IndexRow:
    texts = {name: given[name] for name in _TEXTS & given.keys()}
    numbers = {name: given[name] for name in _NUMBERS & given.keys()}
    if not all(isinstance(text, str) for text in texts.values()) or not texts.get("location"):
        raise ValueError(f"line {number} of the index has a text that is none, or no location")
    for name in numbers:
        _number(given, name)
    rate = given.get("rate")
    if not isinstance(rate, dict | None):
        raise ValueError(f"line {number} of the index has a batch rate that is none")
    try:
        return IndexRow(**texts, **numbers, rate=rate_from_dict(rate))
    except ValueError as error:
        raise ValueError(f"line {number} of the index: {error}") from None


def _number(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    if type(value) is not int or abs(value) >= 1 << 63:
        raise ValueError(f"{name} of the index is not a whole number: {value!r:.60}")
    return value
