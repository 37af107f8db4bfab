"""Where the sources of a query are, partition by partition, and what they have read of late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.progress import SourceAdvance
from airflow_provider_ckpt.report.charts import COLOURS, line_chart
from airflow_provider_ckpt.visible import visible

#: Partitions of a source that are listed, and the characters of an offset that is shown as text.
MOST_PARTITIONS, MOST_TEXT = 200, 2_000


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: its committed position, and the units that the batches of the page have read of it."""

    name: str
    committed: int | None
    read: int | None


@dataclass(frozen=True, slots=True)
class Source:
    """One source.

    Args:
        source_id: Its position in the query, or its name.
        source_type: Its source type; None when nobody has said.
        unit: The unit, such as ``records``.
        committed_offset: JSON text, cut short; None before the first commit.
        planned_offset: The same of the batch in flight; None when there is none.
        partitions: Those that were read most, first.
        others: How many partitions are not listed.
        problem: Why nothing can be counted.
        chart: Chart of what each of the first partitions has read, as SVG; empty when there is nothing to draw.
    """

    source_id: str
    source_type: str | None
    unit: str
    committed_offset: str | None
    planned_offset: str | None
    partitions: tuple[Partition, ...]
    others: int
    problem: str
    chart: str


@dataclass(slots=True)
class Tally:
    """Counts what was read of each partition of one source, and follows the first few of them in time."""

    read: dict[str, int] = field(default_factory=dict)
    points: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    problem: str = ""

    def add(self, advance: SourceAdvance, at_ms: int | None) -> None:
        """Add what one batch has read."""
        self.problem = advance.problem or self.problem
        for item in advance.partitions:
            self.read[item.partition] = self.read.get(item.partition, 0) + item.advanced
        if not self.points and advance.partitions:
            first = sorted(advance.partitions, key=lambda item: (-item.advanced, item.partition))[:COLOURS]
            self.points = {item.partition: [] for item in first}
        if at_ms is not None and self.points and advance.partitions:
            for item in advance.partitions:
                if item.partition in self.points:
                    self.points[item.partition].append((float(at_ms), float(max(item.advanced, 0))))


def source_of(
    source_id: str,
    source_type: str | None,
    unit: str | None,
    offsets: tuple[str | None, str | None],
    positions: Mapping[str, int | None],
    tally: Tally,
) -> Source:
    """One source as it is shown.

    Args:
        source_id: The source.
        source_type: Its type; None when nobody has said.
        unit: The unit.
        offsets: The committed and the planned offset as JSON text.
        positions: The committed position of each partition, when they are known.
        tally: Units read of it.
    """
    names = sorted({*positions, *tally.read}, key=lambda name: (-tally.read.get(name, 0), _natural(name)))
    shown = names[:MOST_PARTITIONS]
    committed, planned = offsets
    problem = "" if tally.read else tally.problem
    if source_type is None:
        problem = "its type is not known, so its offset is shown as text"
    return Source(
        source_id=source_id,
        source_type=source_type,
        unit=unit or "units",
        committed_offset=cut(committed, MOST_TEXT),
        planned_offset=cut(planned, MOST_TEXT) if planned != committed else None,
        partitions=tuple(Partition(name, positions.get(name), tally.read.get(name)) for name in shown),
        others=len(names) - len(shown),
        problem=problem,
        chart=_chart(source_id, unit, tally),
    )


def _natural(name: str) -> tuple[str, int]:
    """The order of partitions: ``orders-2`` is before ``orders-10``."""
    topic, _, number = name.rpartition("-")
    return (topic, int(number)) if number.isascii() and number.isdigit() and len(number) < 12 else (name, -1)


def _chart(source_id: str, unit: str | None, tally: Tally) -> str:
    lines = {visible(name): sorted(points) for name, points in tally.points.items() if len(points) > 1}
    if len(tally.read) < 2 or not lines:
        return ""
    times = [at_ms for points in lines.values() for at_ms, _ in points]
    more = f", the {len(lines)} busiest of {len(tally.read)} partitions" if len(tally.read) > len(lines) else ""
    title = f"{unit or 'units'} read by each batch, source {visible(source_id)}{more}"
    return line_chart(title, lines, (min(times), max(times)))


def cut(text: str | None, most: int) -> str | None:
    """A value, no longer than a page wants it, with the number of characters that it has."""
    if text is None or len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text):,} characters)"


def numbers_of(positions: Iterable[tuple[str, object]]) -> dict[str, int | None]:
    """Positions whose first part is a number, by partition; others are known by name alone."""
    found: dict[str, int | None] = {}
    for name, position in positions:
        first = position[0] if isinstance(position, tuple) and position else position
        found[name] = first if isinstance(first, int) else None
    return found
