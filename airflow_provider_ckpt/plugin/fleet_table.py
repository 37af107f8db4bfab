"""The rows of the fleet page: which of them, in which order, and how each is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from airflow_provider_ckpt.checks.findings import SEVERITIES
from airflow_provider_ckpt.fleet.index import STATES, UNITS, IndexRow
from airflow_provider_ckpt.fleet.row import BatchRate
from airflow_provider_ckpt.times import duration_text

#: So many rows are on a page.
ROWS = 100
#: Of what is typed into the filter, characters.
MOST_TYPED = 200
#: What the filter by severity can be: the worst finding of a row.
WORST = (*SEVERITIES, "none")
SPARK_WIDTH, SPARK_HEIGHT = 96, 20

#: What a column is sorted by; None comes last in both directions.
SORTS: Mapping[str, Callable[[IndexRow], Any]] = {
    "query": lambda row: row.location,
    "batch": lambda row: row.latest_committed_batch,
    "in flight": lambda row: row.in_flight,
    "delay": lambda row: None if row.last_commit_ms is None else -row.last_commit_ms,
    "watermark lag": lambda row: row.watermark_lag_ms,
    "source lag": lambda row: _unread(row),
    "findings": lambda row: _weight(row),
    "last backup": lambda row: row.backup_ms,
    "batch rate": lambda row: _per_hour(row.rate),
}
#: The columns that begin with their greatest value: what needs somebody comes first.
_GREATEST_FIRST = frozenset(SORTS) - {"query", "last backup"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of the rows of a fleet to show.

    Args:
        text: Text in the location, the name or the id of the query, a threshold, or the worst finding; upper and lower
            case are the same.
        severity: One of :data:`WORST`; empty for any.
        state: One of :data:`STATES`; empty for any.
        sort: A key of :data:`SORTS`.
        reverse: True to turn the order of that column round.
        page: The first is 1.
    """

    text: str = ""
    severity: str = ""
    state: str = ""
    sort: str = "findings"
    reverse: bool = False
    page: int = 1

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Selection:
        """Parse the query of a URL; what makes no sense there is left out."""
        page = asked.get("page", "")
        return cls(
            asked.get("q", "")[:MOST_TYPED].strip(),
            _one_of(WORST, asked.get("severity")),
            _one_of(STATES, asked.get("state")),
            _one_of(SORTS, asked.get("sort")) or "findings",
            asked.get("reverse") == "1",
            int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 7 else 1,
        )

    def link(self, **changed: Any) -> str:
        """The query of the URL of another selection; never empty, so that a page knows that it was asked for."""
        other = replace(self, **{"page": 1, **changed})
        said = {"q": other.text, "severity": other.severity, "state": other.state, "sort": other.sort}
        said |= {"reverse": "1" if other.reverse else "", "page": str(other.page) if other.page > 1 else ""}
        return "?" + urlencode({name: value for name, value in said.items() if value})

    def sorted_by(self, column: str) -> Selection:
        """The selection that a click on the head of a column gives."""
        return replace(self, sort=column, reverse=column == self.sort and not self.reverse, page=1)

    def order_of(self, column: str) -> str | None:
        """``ascending`` or ``descending`` for the column that is sorted by, as ``aria-sort`` has it."""
        if column != self.sort:
            return None
        return "descending" if (column in _GREATEST_FIRST) != self.reverse else "ascending"


def _one_of(words: Any, said: str | None) -> str:
    return said if said is not None and said in words else ""


@dataclass(frozen=True, slots=True)
class Part:
    """One page of the rows that were selected.

    Args:
        rows: Those of the page.
        count: How many were selected.
        page: Number of the page; the last one where a later one was asked for.
        pages: How many there are, at least 1.
    """

    rows: Sequence[IndexRow]
    count: int
    page: int
    pages: int


def select(rows: Sequence[IndexRow], selection: Selection) -> Part:
    """The rows of one page."""
    text = selection.text.casefold()
    found = [
        row
        for row in rows
        if (not text or text in _text_of(row))
        and (not selection.severity or (row.worst or "none") == selection.severity)
        and (not selection.state or row.state == selection.state)
    ]
    key = SORTS[selection.sort]
    valued = [(value, row) for row in found if (value := key(row)) is not None]
    valued.sort(key=lambda pair: pair[1].location)
    valued.sort(key=lambda pair: pair[0], reverse=(selection.sort in _GREATEST_FIRST) != selection.reverse)
    ordered = [row for _, row in valued] + [row for row in found if key(row) is None]
    pages = max(1, -(-len(ordered) // ROWS))
    page = min(selection.page, pages)
    return Part(ordered[(page - 1) * ROWS : page * ROWS], len(ordered), page, pages)


def _text_of(row: IndexRow) -> str:
    parts = (row.location, row.query, row.query_id, row.worst_code, row.worst_message, row.alarms, row.error)
    return "\n".join(filter(None, parts)).casefold()


def _weight(row: IndexRow) -> tuple[int, int, int, int]:
    if row.alarms and row.worst != "error":  # past a threshold: behind errors, before all else
        return len(SEVERITIES), 0, 0, 0
    rank = len(SEVERITIES) - (SEVERITIES.index(row.worst) if row.worst in SEVERITIES else len(SEVERITIES))
    return rank, row.errors or 0, row.warnings or 0, row.notes or 0


def _unread(row: IndexRow) -> int | None:
    counts = [getattr(row, unit) for unit in UNITS]
    return sum(filter(None, counts)) if any(count is not None for count in counts) else None


def _per_hour(rate: BatchRate | None) -> float | None:
    return None if rate is None else sum(rate.batches) * 3_600_000 / max(1, rate.until_ms - rate.from_ms)


# --- how a cell is shown ----------------------------------------------------------------------------------------------


def name_of(row: IndexRow) -> str:
    """The end of a location, which tells queries apart."""
    return "/".join(row.location.rstrip("/").split("/")[-2:])


def lag_of(row: IndexRow) -> str | None:
    """How far a query is behind its sources: ``12 offsets, 3 files, since 5 min``; None when nobody asked."""
    counts = [f"{count:,} {unit}" for unit in UNITS if (count := getattr(row, unit)) is not None]
    if row.lost:
        counts.append(f"{row.lost:,} lost")
    if counts and row.age_ms:
        counts.append(f"oldest {duration_text(row.age_ms)}")
    return ", ".join(counts) or None


def rate_text(rate: BatchRate) -> str:
    """The chart line in words, for people who cannot see it."""
    return f"{sum(rate.batches):,} batches in {duration_text(rate.until_ms - rate.from_ms)}"


def spark_points(rate: BatchRate) -> str:
    """The points of the line of a batch rate, from zero to its greatest part."""
    top, last = max(1, *rate.batches), max(1, len(rate.batches) - 1)
    return " ".join(
        f"{number * SPARK_WIDTH / last:.1f},{SPARK_HEIGHT - 1 - count * (SPARK_HEIGHT - 2) / top:.1f}"
        for number, count in enumerate(rate.batches)
    )
