"""A table for people, and its drawing: the same in a terminal and in a task's log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

#: Airflow's log viewer cuts longer lines.
LOG_WIDTH = 100
_NARROWEST = 8
#: Ids that people copy: of a backup, of a change, of a query.
_ID = re.compile(
    r"(?<![\w/.-])(?:\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}|[0-9a-f]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w/])"
)
_STYLES = {"error": "red", "warning": "yellow", "note": "dim", "block": "red", "warn": "yellow", "pass": "green"}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title. None is shown as a dash, a tuple as lines.

    ``first_at_least`` is how many characters the first column has, unless it needs less.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    first_at_least: int = _NARROWEST


def facts(title: str, rows: Sequence[tuple[str, Any]]) -> Table:
    """Names and values."""
    return Table(title, ("", ""), tuple(rows))


def render(tables: Sequence[Table]) -> str:
    """Tables as plain text, for a log."""
    from rich.console import Console

    console = Console(width=LOG_WIDTH, no_color=True, force_terminal=False)
    with console.capture() as captured:
        for table in tables:
            console.print(to_rich(table, LOG_WIDTH), crop=False)
    return captured.get()


def to_rich(table: Table, width: int) -> RichTable:
    """The table for a rich console; columns of numbers to the right. No id is folded.

    ``width`` is that of the console. A table whose ids need more is wider: print it with ``crop=False``.
    """
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(
        title=escape(visible(table.title)), title_justify="left", header_style="bold", show_header=any(table.columns)
    )
    least = [max(_longest_id(table, index), _least(table, index)) for index in range(len(table.columns))]
    needed = sum(least) + 3 * len(least) + 1  # with what is between columns
    drawn.width = needed if needed > width else None
    for index, column in enumerate(table.columns):
        number = bool(table.rows) and all(isinstance(row[index], int) for row in table.rows)
        drawn.add_column(
            column,
            justify="right" if number else "left",
            overflow="fold",
            min_width=least[index],
            no_wrap=_has_ids_alone(table, index),
        )
    for row in table.rows:
        drawn.add_row(*(_cell(value) for value in row))
    return drawn


def _longest_id(table: Table, index: int) -> int:
    """Characters of the longest id in a column; 0 when there is none."""
    return max((len(found) for row in table.rows for found in _ID.findall(str(row[index]))), default=0)


def _least(table: Table, index: int) -> int:
    """So wide a column is at least, so that ids beside it do not take all room."""
    most = _NARROWEST if index else table.first_at_least
    return min(most, max((len(line) for row in table.rows for line in _lines(row[index])), default=0))


def _lines(cell: Any) -> tuple[str, ...]:
    """The lines of a cell: a tuple has several."""
    return cell if isinstance(cell, tuple) else (str(cell),)


def _has_ids_alone(table: Table, index: int) -> bool:
    cells = [row[index] for row in table.rows if row[index] is not None]
    return bool(cells) and all(_ID.fullmatch(str(cell)) for cell in cells)


def _cell(value: Any) -> str:
    from rich.markup import escape

    text = "-" if value is None else "\n".join(map(visible, _lines(value)))
    style = _STYLES.get(text)
    return f"[{style}]{text}[/{style}]" if style else escape(text)


def counted(count: int, noun: str) -> str:
    """How many of something, in singular or plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size(count: int) -> str:
    """Bytes for people."""
    from rich.filesize import decimal

    return decimal(count)
