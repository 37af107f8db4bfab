"""The audit of a fleet as one HTML page that opens without a network, light or dark as its reader has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import groupby
from typing import Any

from airflow_provider_ckpt.report.charts import Mark, line_chart, short
from airflow_provider_ckpt.times import duration_text, time_text
from airflow_provider_ckpt.visible import visible

#: A row of a table by column.
Row = Mapping[str, Any]

#: So many are shown; the tables beside the page have all.
MOST_EVENTS, MOST_QUERIES, MOST_CHARTS = 300, 500, 40
_KINDS = {
    "stall": "bad",
    "gap": "bad",
    "rolled back": "warn",
    "moved": "warn",
    "restored": "warn",
    "new query": "warn",
    "conf": "note",
    "repartitioned": "note",
    "other version": "note",
}

_CSS = """
:root { color-scheme: light dark; --page: #fff; --text: #1d2329; --faint: #5c6670; --line: #dfe3e8; --panel: #f6f7f9;
  --s0: #1f6fd1; --s1: #c2570c; --s2: #23835a; --s3: #8b46c8; --s4: #7a6a00;
  --bad: #b3261e; --warn: #8a5a00; --note: #1f6fd1 }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --text: #e6e9ed; --faint: #9aa5b1; --line: #2f3740;
  --panel: #1c2229; --s0: #6cb0ff; --s1: #f0944d; --s2: #5cc994; --s3: #c79bff; --s4: #d8c34a;
  --bad: #ff8a80; --warn: #f5c15c; --note: #6cb0ff } }
body { margin: 0 auto; max-width: 1320px; padding: 24px; background: var(--page); color: var(--text);
  font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif }
h1 { font-size: 22px; margin: 0 } h2 { font-size: 17px; margin: 32px 0 8px } h3 { font-size: 14px; margin: 20px 0 4px }
p, .faint, figcaption, th { color: var(--faint) } p { margin: 4px 0 } code { font-size: 13px; overflow-wrap: anywhere }
.tiles { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 16px }
.tiles div { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 8px 14px }
.tiles b { display: block; font-size: 20px; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } th { vertical-align: bottom }
td.n, td.t, td.t code { white-space: nowrap } td.t { font-variant-numeric: tabular-nums }
.kind { white-space: nowrap; font-weight: 600 } .bad { color: var(--bad) } .warn { color: var(--warn) }
.note { color: var(--note) }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); gap: 12px }
figure { margin: 0; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 8px }
figcaption { font-size: 12px } svg { width: 100%; height: auto; display: block }
svg text { fill: var(--faint); font-size: 12px } .grid { stroke: var(--line) }
polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.s0 { stroke: var(--s0); color: var(--s0) } .s1 { stroke: var(--s1); color: var(--s1) }
.s2 { stroke: var(--s2); color: var(--s2) } .s3 { stroke: var(--s3); color: var(--s3) }
.s4 { stroke: var(--s4); color: var(--s4) }
.mark line { stroke: currentcolor; stroke-dasharray: 3 3 } .mark circle { fill: currentcolor }
.mark rect { fill: currentcolor; opacity: .16 }
.key { margin-left: 10px; white-space: nowrap }
.key i { display: inline-block; width: 14px; margin-right: 4px; border-top: 2px solid; vertical-align: middle }
"""

_ABOUT = (
    "Times are UTC. A delay is the time from the planning of a batch (clock of the driver) to its commit (clock of "
    "the storage). Costs are an estimate for only the storage requests of the checkpoint, with the prices that were "
    "given to the audit. A query without new batches may be idle, stopped or stuck: its checkpoint does not show "
    "which."
)


def audit_page(tables: Mapping[str, Sequence[Row]], *, now_ms: int, about: str, polled_ms: int = 0) -> str:
    """The page.

    Args:
        tables: Rows of each table of :mod:`airflow_provider_ckpt.batches.audit`; times as Spark gives them.
        now_ms: When the fleet was judged, epoch milliseconds.
        about: The audited places, for the first lines.
        polled_ms: Since when every checkpoint has been polled, epoch milliseconds; 0 when that is not known.
    """
    happened = {row["location"] for row in tables["events"]}
    queries = sorted(
        tables["queries"],
        key=lambda row: (-_silence(row, tables), row["location"] not in happened, str(row["location"])),
    )
    events = sorted(tables["events"], key=lambda row: _ms(row["at"]) or 0, reverse=True)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Checkpoint audit</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_CSS}</style></head><body>',
        f"<h1>Checkpoint audit</h1><p>{_text(about)}. As of {_time_of(now_ms)} UTC{_polled(polled_ms)}.</p>",
        _tiles(tables),
        _events(events),
        _queries(queries, _grouped(events)),
        _charts(queries[:MOST_CHARTS], tables, events, now_ms),
        f"<h2>About the numbers</h2><p>{_ABOUT}</p></body></html>",
    ]
    return "\n".join(parts)


def _polled(polled_ms: int) -> str:
    return f"; every checkpoint has been polled since {_time_of(polled_ms)}" if polled_ms else ""


def _silence(row: Row, tables: Mapping[str, Sequence[Row]]) -> int:
    silent = any(item["location"] == row["location"] and item["until"] is None for item in tables["stalls"])
    return int(row["silent_ms"] or 0) if silent else 0


def _tiles(tables: Mapping[str, Sequence[Row]]) -> str:
    kinds = [row["kind"] for row in tables["events"]]
    silent = sum(row["until"] is None for row in tables["stalls"])
    usd, saves = (sum(row[key] or 0 for row in tables["queries"]) for key in ("usd_a_day", "saves_usd_a_day"))
    tiles = (
        ("queries", len(tables["queries"])),
        ("batches", short(sum(row["batches"] for row in tables["queries"]))),
        ("silent now", silent),
        ("stalls that ended", kinds.count("stall") - silent),
        ("rollbacks, restores", sum(kind in ("rolled back", "restored", "new query") for kind in kinds)),
        ("conf changes", kinds.count("conf")),
        ("gaps", kinds.count("gap")),
        ("USD a day", f"{usd:,.2f}"),
        ("could be saved", f"{saves:,.2f}"),
    )
    return f'<div class="tiles">{"".join(f"<div><b>{value}</b>{name}</div>" for name, value in tiles)}</div>'


def _events(events: Sequence[Row]) -> str:
    rows = (
        (
            ("t", _time(row["at"])),
            ("", _kind(row["kind"])),
            ("", f"<code>{_text(_name(row['location']))}</code>"),
            ("", _text(row["what"])),
        )
        for row in events[:MOST_EVENTS]
    )
    return _table("What happened", ("when", "kind", "query", "what"), rows, len(events), MOST_EVENTS)


def _kind(kind: str) -> str:
    return f'<span class="kind {_KINDS.get(kind, "note")}">{_text(kind)}</span>'


def _queries(queries: Sequence[Row], events: Mapping[str, Sequence[Row]]) -> str:
    columns = ("query", "what happened", "last commit", *(f"{name}|n" for name in _NUMBERS), "how to make it cheaper")
    rows = (
        (
            ("t", f'<code title="{_text(row["location"])}">{_text(_name(row["location"]))}</code>'),
            ("", _kinds(events.get(row["location"], ()))),
            ("t", _time(row["last_commit"])),
            *(("n", number(row)) for number in _NUMBERS.values()),
            ("t", _advice(row)),
        )
        for row in queries[:MOST_QUERIES]
    )
    return _table("Queries", columns, rows, len(queries), MOST_QUERIES)


def _kinds(events: Iterable[Row]) -> str:
    """Kinds of events of a query, each once, with their counts."""
    counts = Counter(row["kind"] for row in events)
    return ", ".join(_kind(kind) + (f" {count}×" if count > 1 else "") for kind, count in counts.items())


_NUMBERS: Mapping[str, Callable[[Row], str]] = {
    "batches": lambda row: short(row["batches"]),
    "usual interval": lambda row: _duration(row["usual_ms"]),
    "p95 delay": lambda row: _duration(row["p95_ms"]),
    "watermark lag": lambda row: _duration(row["watermark_lag_ms"]),
    "empty": lambda row: f"{(row['empty_share'] or 0):.0%}",
    "tiny": lambda row: f"{(row['tiny_share'] or 0):.0%}",
    "requests a day": lambda row: short(row["requests_a_day"] or 0),
    "USD a day": lambda row: f"{(row['usd_a_day'] or 0):,.2f}",
}


def _advice(row: Row) -> str:
    return f"<code>{_text(row['conf'])}</code><br>saves {row['saves_usd_a_day']:,.2f} USD a day" if row["conf"] else ""


def _charts(queries: Sequence[Row], tables: Mapping[str, Sequence[Row]], events: Iterable[Row], now_ms: int) -> str:
    first = min((_ms(row["window_start"]) or now_ms for row in tables["delay"]), default=now_ms)
    by_location = {name: _grouped(tables[name]) for name in ("throughput", "delay", "watermark_lag")}
    marks, stalls = _grouped(events), _grouped(tables["stalls"])
    parts = ["<h2>Over time</h2>"]
    for row in queries:
        location = row["location"]
        found = {name: rows.get(location, []) for name, rows in by_location.items()}
        marked = _marks(marks.get(location, ()), stalls.get(location, ()), now_ms)
        span = (first, now_ms)
        charts = [
            line_chart(_read_title(found["throughput"]), _sources(found["throughput"]), span, marked),
            line_chart("delay, s", _seconds(found["delay"], {"median": "p50_ms", "p95": "p95_ms"}), span, marked),
        ]
        if found["watermark_lag"]:
            charts.append(
                line_chart("watermark lag, s", _seconds(found["watermark_lag"], {"lag": "max_ms"}), span, marked)
            )
        parts.append(f"<h3><code>{_text(location)}</code></h3><div class='charts'>{''.join(charts)}</div>")
    return "".join(parts)


def _marks(events: Iterable[Row], stalls: Iterable[Row], now_ms: int) -> list[Mark]:
    """Marks of the events of one query on its charts: a stall is an area up to its end, or up to now."""
    ends = {row["since"]: _ms(row["until"]) or now_ms for row in stalls}
    return [
        Mark(at, row["what"], _KINDS.get(row["kind"], "note"), ends.get(row["at"]) if row["kind"] == "stall" else None)
        for row in events
        if (at := _ms(row["at"])) is not None
    ]


def _read_title(rows: Sequence[Row]) -> str:
    units = {row["unit"] for row in rows if row["unit"]}
    return f"{visible(units.pop())} read a second" if len(units) == 1 else "read a second"


def _grouped(rows: Iterable[Row]) -> dict[str, list[Row]]:
    ordered = sorted(rows, key=lambda row: (str(row["location"]), _ms(row.get("window_start")) or 0))
    return {location: list(found) for location, found in groupby(ordered, key=lambda row: str(row["location"]))}


def _sources(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["per_second"] is not None:
            name = f"{row['source_id']}: {row['unit'] or row['source_type'] or 'source'}"
            series.setdefault(visible(name), []).append((_ms(row["window_start"]) or 0, float(row["per_second"])))
    return dict(sorted(series.items()))


def _seconds(rows: Sequence[Row], names: Mapping[str, str]) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(_ms(row["window_start"]) or 0, row[key] / 1000) for row in rows if row[key] is not None]
        for name, key in names.items()
    }


def _table(title: str, columns: Iterable[str], rows: Iterable[Sequence[tuple[str, str]]], count: int, most: int) -> str:
    if not count:
        return f"<h2>{title}</h2><p>None.</p>"
    head = "".join(f'<th class="{kind}">{name}</th>' for name, _, kind in (column.partition("|") for column in columns))
    body = "".join(f"<tr>{''.join(f'<td class={kind!r}>{text}</td>' for kind, text in row)}</tr>" for row in rows)
    more = f"<p>{count - most} more are in the tables.</p>" if count > most else ""
    return f'<h2>{title}</h2><div class="scroll"><table><tr>{head}</tr>{body}</table></div>{more}'


def _name(location: str) -> str:
    """The end of a location, which tells queries apart."""
    return "/".join(location.rstrip("/").split("/")[-2:])


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _time(moment: datetime | None) -> str:
    """The time in UTC; Spark gives times without a zone, in the zone of the machine."""
    at_ms = _ms(moment)
    return "" if at_ms is None else _time_of(at_ms)


def _time_of(at_ms: int) -> str:
    """To the second: ``2026-11-22 12:00:05``."""
    return time_text(at_ms).replace("T", " ").partition(".")[0]


def _duration(ms: float | None) -> str:
    return "–" if ms is None else duration_text(ms)


def _text(value: object) -> str:
    return escape(visible(str(value)))
