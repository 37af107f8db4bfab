"""Line charts as SVG text inside a page: no script, no network, colours by the page's CSS variables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from airflow_provider_ckpt.times import calendar_time

#: ``(epoch milliseconds, value)``, in the order of time.
Points = Sequence[tuple[float, float]]


class Mark(NamedTuple):
    """A moment with something to say, or a span of time.

    Args:
        at_ms: When, epoch milliseconds.
        text: Text that a pointer over it shows.
        tone: CSS class that colours it.
        until_ms: End of the span; None for a moment.
    """

    at_ms: float
    text: str
    tone: str = "warn"
    until_ms: float | None = None


WIDTH, HEIGHT = 420, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 8, 20
#: Series of a chart that have a colour of their own; more are drawn in the last one.
COLOURS = 5
_DAY_MS = 86_400_000
#: Points that come so many times later than usual do not continue a line.
_MISSING = 4
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def line_chart(
    title: str,
    series: Mapping[str, Points],
    span_ms: tuple[float, float],
    marks: Sequence[Mark] = (),
) -> str:
    """A chart with a line for each series, from zero up.

    Args:
        title: The drawn quantity, with its unit; a screen reader reads it out, too.
        series: Points by name.
        span_ms: Beginning and end of the time axis, epoch milliseconds; charts of one page have the same.
        marks: Marks that are drawn as a vertical line, or as an area where it has an end.
    """
    top = nice_ceiling(max((value for points in series.values() for _, value in points), default=0))
    place = _Place(span_ms, top)
    lines = [_line(points, place, min(number, COLOURS - 1)) for number, points in enumerate(series.values())]
    drawn = "".join([*_grid(place), *(_mark(mark, place) for mark in marks), *lines])
    return (
        f'<figure><figcaption>{escape(title)}{_legend(series)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">{drawn}</svg></figure>'
    )


def nice_ceiling(value: float) -> float:
    """The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below a value; 1 for nothing."""
    if not value > 0 or math.isinf(value):
        return 1.0
    power = float(10 ** math.floor(math.log10(value)))
    return next(step * power for step in (1, 2, 2.5, 5, 10, 20) if step * power >= value)


def short(value: float) -> str:
    """A number for an axis: ``1.2k``, ``350``, ``0.05``."""
    for size, unit in _UNITS:
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


class _Place:
    """Where values are on the picture."""

    def __init__(self, span_ms: tuple[float, float], top: float) -> None:
        self.first, self.last = span_ms[0], max(span_ms[1], span_ms[0] + 1)
        self.top = top

    def x(self, at_ms: float) -> float:
        """Distance from the left."""
        share = (at_ms - self.first) / (self.last - self.first)
        return round(_LEFT + min(max(share, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        """Distance from the top."""
        return round(HEIGHT - _BOTTOM - min(max(value / self.top, 0.0), 1.0) * (HEIGHT - _TOP - _BOTTOM), 1)

    def time(self, share: float) -> tuple[float, str]:
        """A moment of the span, and the text below it."""
        at_ms = self.first + share * (self.last - self.first)
        moment = calendar_time(round(at_ms))
        return at_ms, moment.strftime("%m-%d %H:%M" if self.last - self.first > _DAY_MS else "%H:%M:%S")


def _grid(place: _Place) -> list[str]:
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = place.y(share * place.top)
        drawn.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{y + 3}" text-anchor="end">{short(share * place.top)}</text>')
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at_ms, text = place.time(share)
        drawn.append(f'<text x="{place.x(at_ms)}" y="{HEIGHT - 5}" text-anchor="{anchor}">{text}</text>')
    return drawn


def _line(points: Points, place: _Place, colour: int) -> str:
    return "".join(_run(run, place, colour) for run in runs(points))


def _run(points: Points, place: _Place, colour: int) -> str:
    if len(points) == 1:
        ((at_ms, value),) = points
        return f'<circle class="s{colour}" cx="{place.x(at_ms)}" cy="{place.y(value)}" r="2.5"/>'
    drawn = " ".join(f"{place.x(at_ms)},{place.y(value)}" for at_ms, value in points)
    return f'<polyline class="s{colour}" points="{drawn}"/>'


def runs(points: Points) -> list[Points]:
    """Points in pieces: a line is not drawn over a time in which points of a series that had them have not come."""
    gaps = [after[0] - before[0] for before, after in pairwise(points)]
    longest = _MISSING * median(gaps) if gaps else 0
    cuts = [0, *(number for number, gap in enumerate(gaps, 1) if gap > longest), len(points)]
    return [points[first:end] for first, end in pairwise(cuts) if end > first]


def _mark(mark: Mark, place: _Place) -> str:
    x, bottom = place.x(mark.at_ms), HEIGHT - _BOTTOM
    area = ""
    if mark.until_ms is not None:
        width = round(place.x(mark.until_ms) - x, 1)
        area = f'<rect x="{x}" y="{_TOP}" width="{width}" height="{bottom - _TOP}"/>'
    return (
        f'<g class="mark {mark.tone}"><title>{escape(mark.text)}</title>{area}'
        f'<line x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/><circle cx="{x}" cy="{_TOP}" r="3"/></g>'
    )


def _legend(series: Mapping[str, Points]) -> str:
    if len(series) < 2:
        return ""
    entries = [
        f'<span class="key"><i class="s{min(number, COLOURS - 1)}"></i>{escape(name)}</span>'
        for number, name in enumerate(series)
    ]
    return f" {' '.join(entries)}"
