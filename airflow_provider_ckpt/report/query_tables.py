"""The table of the queries of a query file for people, in the width that there is; and what it cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.fleet.queries.thresholds import NO_END, why_not_known
from airflow_provider_ckpt.report.lag_tables import unread_text
from airflow_provider_ckpt.report.table import Table
from airflow_provider_ckpt.times import duration_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.fleet.queries.row import QueryRow

#: What nobody can say.
UNKNOWN = "?"
#: Marks a value that is past its threshold, or not known where there is one.
MARK = "!"
#: Queries that one line names; it counts the others.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Column:
    """A column; ``rank`` is the order in which columns are left out, the greatest first."""

    title: str
    rank: int
    of: Callable[[QueryRow], Any]


def _marked(row: QueryRow, key: str, text: str | None) -> str | None:
    """A value with the mark of its threshold."""
    threshold = next((item for item in row.thresholds if item.key == key), None)
    return text if threshold is None or threshold.holds else f"{MARK} {text or UNKNOWN}"


def _batch(row: QueryRow) -> Any:
    seen = row.checkpoint
    if seen is None:
        return None
    committed = seen.latest_committed_batch
    if seen.in_flight is None:
        return committed
    return f"{'none' if committed is None else committed}, {seen.in_flight} in flight"


def _committed(row: QueryRow) -> str | None:
    seen = row.checkpoint
    if seen is None or seen.latest_committed_batch is None:
        return _marked(row, "age", None)
    if seen.last_commit_age_ms is None:
        return _marked(row, "age", UNKNOWN)
    stalled = f", {seen.quiet}" if seen.quiet else ""
    return _marked(row, "age", f"{duration_text(seen.last_commit_age_ms)} ago{stalled}")


def _unread(row: QueryRow) -> str | None:
    if row.checkpoint is None:
        return _marked(row, "rows", None)
    shown = [_of_source(source) for source in row.checkpoint.sources or ()]
    return _marked(row, "rows", ", ".join(filter(None, shown)) or UNKNOWN)


def _of_source(source: Any) -> str | None:
    if source.source_type is None or not source.is_known:
        return UNKNOWN
    return f"{'more than ' if source.is_partial else ''}{unread_text(source)}" if source.total is not None else None


def _behind(row: QueryRow) -> str | None:
    if row.checkpoint is None:
        return _marked(row, "behind", None)
    return _marked(row, "behind", UNKNOWN if row.behind_ms is None else duration_text(row.behind_ms))


def _delay(row: QueryRow) -> str | None:
    delay_ms = row.watermark_delay_ms
    return _marked(row, "delay", None if delay_ms is None else duration_text(max(0, delay_ms)))


def _worst(row: QueryRow) -> str | None:
    if row.failure is not None:
        return "not readable"
    findings = row.checkpoint.findings if row.checkpoint else ()
    return f"{findings[0].severity} {findings[0].code}" if findings else None


def _backup(row: QueryRow) -> str | None:
    if row.backup is None:
        return UNKNOWN if row.backup_unknown else None
    return f"{duration_text(row.backup.age_ms)} ago"


def _change(row: QueryRow) -> str | None:
    change = row.change
    if change is None:
        return UNKNOWN if row.change_unknown else None
    state = "" if change.state == "applied" else f" ({change.state})"
    by = f" by {change.by}" if change.by else ""
    return f"{change.kind}{state}{by}, {duration_text(change.age_ms)} ago"


#: In the order in which they are shown.
_COLUMNS = (
    _Column("query", 0, lambda row: row.name),
    _Column("runs", 9, lambda row: UNKNOWN if row.running is None else "yes" if row.running else "no"),
    _Column("batch", 5, _batch),
    _Column("committed", 1, _committed),
    _Column("unread", 4, _unread),
    _Column("behind", 2, _behind),
    _Column("delay", 6, _delay),
    _Column("worst", 3, _worst),
    _Column("backup", 7, _backup),
    _Column("change", 8, _change),
)
#: So much of a text of a column is on one line; longer ones are folded.
_WIDEST = {"query": 24, "change": 22, "unread": 18, "batch": 14, "committed": 12}
_WIDEST_OF_OTHERS = 16


def queries_table(rows: Sequence[QueryRow], width: int) -> tuple[Table, tuple[str, ...]]:
    """The table, and the titles of the columns that are left out because the width has no room for them.

    A column with nothing in it is not there at all.
    """
    cells = {column.title: [column.of(row) for row in rows] for column in _COLUMNS}
    shown = [column for column in _COLUMNS if any(cell is not None for cell in cells[column.title])]
    left_out: list[_Column] = []
    while len(shown) > 1 and _width(shown, cells) > width:
        left_out.append(max(shown, key=lambda column: column.rank))
        shown.remove(left_out[-1])
    titles = tuple(column.title for column in shown)
    by_row = zip(*(cells[title] for title in titles), strict=True)
    dropped = tuple(column.title for column in _COLUMNS if column in left_out)
    return Table("Queries", titles, tuple(by_row)), dropped


def _width(columns: Sequence[_Column], cells: dict[str, list[Any]]) -> int:
    """How wide a table of some columns is, with what is between them."""
    return sum(_column_width(column.title, cells[column.title]) for column in columns) + 3 * len(columns) + 1


def _column_width(title: str, cells: Sequence[Any]) -> int:
    widest = max((len(str(cell)) for cell in cells if cell is not None), default=1)
    return max(len(title), min(widest, _WIDEST.get(title, _WIDEST_OF_OTHERS)))


def headline(rows: Sequence[QueryRow]) -> str:
    """The first line: how many there are, and what is the matter."""
    passed = sum(any(threshold.passed for threshold in row.thresholds) for row in rows)
    unknown = sum(row.failure is None and any(item.measured is None for item in row.thresholds) for row in rows)
    silent = sum(bool(row.checkpoint and row.checkpoint.lag_error) for row in rows)
    counts = (
        (sum(row.failure is not None for row in rows), "not readable"),
        (passed, "past a threshold"),
        (unknown, "with a threshold of which nobody knows whether it holds"),
        (sum(row.has_errors for row in rows), "with an error"),
        (sum(row.worst == "warning" for row in rows), "with a warning"),
        (silent, "with a source that could not be asked"),
    )
    told = [f"{count:,} {what}" for count, what in counts if count]
    plural = "query" if len(rows) == 1 else "queries"
    return f"{len(rows):,} {plural}: {', '.join(told) or 'nothing is wrong in what was judged'}"


def matter_lines(rows: Sequence[QueryRow]) -> list[str]:
    """What is the matter with some queries; of many that cannot be read for one reason there is one line."""
    alike: dict[str, list[str]] = {}
    for row in rows:
        if row.failure is not None:
            alike.setdefault(row.failure.message, []).append(row.name)
    lines = [f"{_some(names)}: {why.rstrip('.')}." for why, names in alike.items() if len(names) > MOST_NAMED]
    for row in rows:
        if row.failure is None or len(alike[row.failure.message]) <= MOST_NAMED:
            lines += alarm_lines(row)
            lines += _of_severity(row, "warning")
    return lines


def alarm_lines(row: QueryRow) -> Iterator[str]:
    """A sentence for each threshold of a query that does not hold; for one that could not be read, why."""
    if row.failure is not None:
        yield f"{row.name}: {str(row.failure).rstrip('.')}."
        return
    for threshold in row.alarms:
        yield f"{row.name}: {threshold.text}."
    yield from _of_severity(row, "error")


def _of_severity(row: QueryRow, severity: str) -> Iterator[str]:
    for finding in row.checkpoint.findings if row.checkpoint else ():
        if finding.severity == severity:
            yield f"{row.name}: {finding.code} {finding.message}"


def unknown_lines(rows: Sequence[QueryRow]) -> list[str]:
    """What the table shows as ``?``, with the reasons; queries with the same reason have one line."""
    named: dict[str, list[str]] = {}
    for row in rows:
        parts = row.checkpoint.unknown if row.checkpoint else ()
        judged = [f"not judged: {', '.join(parts)}"] if parts else []
        for why in dict.fromkeys((*_unknown(row), *judged)):
            named.setdefault(why, []).append(row.name)
    return [f"{_some(names)}: {why}." for why, names in named.items()]


def _unknown(row: QueryRow) -> Iterator[str]:
    seen = row.checkpoint
    if seen is None:
        return
    if seen.sources is None:
        yield seen.lag_error or "how far it is behind is not known: its sources are not declared"
    if (
        seen.sources
        and row.behind_ms is None
        and all(source.is_known and source.total is None for source in seen.sources)
    ):
        yield f"how far it is behind is not known: {NO_END}"
    told = {threshold.source_id for threshold in row.alarms if threshold.measured is None}
    for source in seen.sources or ():
        if source.source_id in told:  # with the threshold
            continue
        if source.source_type is None or not source.is_known:
            yield f"how far it is behind source {source.source_id} is not known: {why_not_known(source)}"
        elif source.total and source.age_ms is None:
            yield f"the age of what is unread in source {source.source_id} is not known"
    if row.backup_unknown:
        yield f"its newest backup is not known: {row.backup_unknown.rstrip('.')}"
    if row.change_unknown:
        yield f"its newest change is not known: {row.change_unknown.rstrip('.')}"


def running_line(rows: Sequence[QueryRow]) -> str | None:
    """Why nobody knows which queries run; None where that is known of all."""
    reasons = dict.fromkeys(row.running_unknown for row in rows if row.running is None and row.running_unknown)
    return f"Whether they run is not known: {', or '.join(filter(None, reasons))}." if reasons else None


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def codes_line(rows: Sequence[QueryRow]) -> str | None:
    """What the codes in the table are about; None without any."""
    codes = dict.fromkeys(row.checkpoint.findings[0].code for row in rows if row.checkpoint and row.checkpoint.findings)
    return "; ".join(f"{code}: {RULES[code]}" for code in sorted(codes)) + "." if codes else None
