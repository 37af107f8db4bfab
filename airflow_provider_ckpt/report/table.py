"""A table for people, and its drawing: the same in a terminal and in a task's log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table as RichTable
    from rich.text import Text

#: Airflow's log viewer cuts longer lines.
LOG_WIDTH = 100
_NARROWEST = 8
#: Words that are longer are folded where a table has no room.
_LONGEST_WORD = 12
#: Ids that people copy: of a backup, of a change, of a query.
_ID = re.compile(
    r"(?<![\w/.-])(?:\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}|[0-9a-f]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w/])"
)
#: A time, of which the date and the time of day are whole.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
_STYLES = {"error": "red", "warning": "yellow", "note": "dim", "block": "red", "warn": "yellow", "pass": "green"}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title. None is shown as a dash, a tuple as lines. Long words are folded behind a slash or a comma.

    ``first_at_least`` is how many characters the first column has, unless it needs less.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    first_at_least: int = _NARROWEST

    def with_texts(self, change: Callable[[str], str]) -> Table:
        """The same table with each text of its rows as a function makes it."""

        def changed(cell: Any) -> Any:
            if isinstance(cell, tuple):
                return tuple(map(changed, cell))
            return change(cell) if isinstance(cell, str) else cell

        return replace(self, rows=tuple(tuple(map(changed, row)) for row in self.rows))


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
    widths = _widths(table, width)
    drawn.width = sum(widths) + 3 * len(widths) + 1
    for index, (column, wide) in enumerate(zip(table.columns, widths, strict=True)):
        number = bool(table.rows) and all(isinstance(row[index], int) for row in table.rows)
        drawn.add_column(
            column,
            justify="right" if number else "left",
            overflow="fold",
            width=wide,
            no_wrap=_has_ids_alone(table, index),
        )
    for row in table.rows:
        drawn.add_row(*map(_Cell, row))
    return drawn


def _widths(table: Table, width: int) -> list[int]:
    """How wide each column is: the widest ones give room until all fit, or until no column can give any more."""
    from rich.cells import cell_len

    least, wide = [], []
    for index, column in enumerate(table.columns):
        lines = [column, *(line for row in table.rows for line in _Cell(row[index]).lines)]
        wide.append(max(map(cell_len, lines)))
        words = (len(word) for line in lines for word in line.split())
        whole = max((size for size in words if size <= _LONGEST_WORD), default=0)
        least.append(min(wide[-1], max(_longest_id(table, index), whole, 0 if index else table.first_at_least)))
    over = sum(wide) + 3 * len(wide) + 1 - width  # with what is between columns
    while over > 0 and (giving := [index for index, size in enumerate(wide) if size > least[index]]):
        wide[max(giving, key=wide.__getitem__)] -= 1
        over -= 1
    return wide


def _longest_id(table: Table, index: int) -> int:
    """Characters of the longest id in a column; 0 when there is none."""
    return max((len(found) for row in table.rows for found in _ID.findall(str(row[index]))), default=0)


def _lines(cell: Any) -> tuple[str, ...]:
    """The lines of a cell: a tuple has several."""
    return cell if isinstance(cell, tuple) else (str(cell),)


def _has_ids_alone(table: Table, index: int) -> bool:
    cells = [row[index] for row in table.rows if row[index] is not None]
    return bool(cells) and all(_ID.fullmatch(str(cell)) for cell in cells)


def folded(line: str, width: int) -> str:
    """A line whose words each fit into a width; a longer one is folded behind a slash or a comma where it has one."""
    return " ".join(word if len(word) <= width else "\n".join(_pieces(word, width)) for word in line.split(" "))


def _pieces(word: str, width: int) -> Iterator[str]:
    while len(word) > width:
        end = (11 if width > 10 and _TIME.match(word) else _fold_behind(word, width)) or width
        yield word[:end]
        word = word[end:]
    yield word


def _fold_behind(word: str, width: int) -> int:
    return max(word.rfind("/", 0, width), word.rfind(",", 0, width)) + 1


class _Cell:
    """A cell, which is folded once the width of its column is known."""

    def __init__(self, value: Any) -> None:
        self.lines = ["-"] if value is None else [*map(visible, _lines(value))]

    def _drawn(self, lines: Sequence[str]) -> Text:
        from rich.text import Text

        return Text("\n".join(lines), style=_STYLES.get(self.lines[0], "") if len(self.lines) == 1 else "")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement.get(console, options, self._drawn(self.lines))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield self._drawn(self.lines if options.no_wrap else [folded(line, options.max_width) for line in self.lines])


def counted(count: int, noun: str) -> str:
    """How many of something, in singular or plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"


def size(count: int) -> str:
    """Bytes for people."""
    from rich.filesize import decimal

    return decimal(count)
