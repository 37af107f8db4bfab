"""The table of a fleet for people: paths below their common root, and under each what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checks.findings import worst_first
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.report.table import Table
from airflow_provider_ckpt.report.tables import fleet_table

if TYPE_CHECKING:
    from airflow_provider_ckpt.fleet.row import FleetRow

#: So many directories with one error have a row each; of more, one row names the first ones.
MOST_ALIKE = 3
#: Characters that the column of paths has at least, unless all are shorter.
_PATH_WIDTH = 26


def fleet_tables(rows: Sequence[FleetRow]) -> list[Table]:
    """Checkpoints, a row each under the root that all have in common, with what was found below the path.

    The second table says once what each code in the first one is about, the worst first; there is none without codes.
    Directories that could not be read for one reason are one row when they are more than :data:`MOST_ALIKE`, and the
    code of a note that more checkpoints have is in the second table alone.
    """
    root = common_root([row.location for row in rows])
    alike: dict[str, list[FleetRow]] = {}
    for row in rows:
        if row.error is not None:
            alike.setdefault(_reason(row), []).append(row)
    shown: list[FleetRow] = []
    for row in rows:
        same = [] if row.error is None else alike[_reason(row)]
        if len(same) <= MOST_ALIKE:
            shown.append(row)
        elif row is same[0]:
            shown.append(replace(row, location=_named(same, root), error=_reason(row)))
    table = fleet_table(shown, _frequent_notes(rows))
    found = table.columns.index("findings")
    columns = tuple(column for index, column in enumerate(table.columns) if index != found)
    cells = [_folded(cells, found, root) for cells in table.rows]
    title = f"Checkpoints below {root}" if root else table.title
    return [Table(title, columns, tuple(cells), first_at_least=_PATH_WIDTH), *_codes_tables(rows)]


def _frequent_notes(rows: Sequence[FleetRow]) -> set[str]:
    """The codes of notes that more than a few checkpoints have, and that none has as anything worse."""
    having = Counter(code for row in rows for code in {finding.code for finding in row.findings})
    worse = {finding.code for row in rows for finding in row.findings if finding.severity != "note"}
    return {code for code, count in having.items() if count > MOST_ALIKE} - worse


def _codes_tables(rows: Sequence[FleetRow]) -> list[Table]:
    """Table of the codes: the subject of each, and the number of checkpoints where it was found."""
    having: dict[str, int] = {}
    for row in rows:
        for code in {finding.code for finding in row.findings}:
            having[code] = having.get(code, 0) + 1
    worst = worst_first(finding for row in rows for finding in row.findings)
    severities = {finding.code: finding.severity for finding in reversed(worst)}
    cells = tuple(
        (code, severities[code], having[code], RULES[code]) for code in dict.fromkeys(finding.code for finding in worst)
    )
    return [Table("What was found", ("code", "severity", "checkpoints", "what it is"), cells)] if cells else []


def common_root(locations: Sequence[str]) -> str:
    """The directory that all locations are below, with a slash at its end; empty where there is none to leave out."""
    if len(locations) < 2:
        return ""
    first, last = min(locations).split("/"), max(locations).split("/")
    same = 0
    while same < min(len(first), len(last)) - 1 and first[same] == last[same]:
        same += 1
    root = "/".join(first[:same])
    return f"{root}/" if root and not root.endswith((":", ":/")) else ""


def _folded(cells: tuple[Any, ...], found: int, root: str) -> tuple[Any, ...]:
    """The cells of a row with the findings below the path."""
    path = str(cells[0]).removeprefix(root)
    below = str(cells[found] or "").replace(f"{cells[0]}/", "")
    first = (path, f"  {below}") if below else path
    return (first, *(cell for index, cell in enumerate(cells) if index not in (0, found)))


def _reason(row: FleetRow) -> str:
    """Why a directory could not be read, without its own location."""
    return (row.error or "").removeprefix(row.location).lstrip("/: ")


def _named(same: Sequence[FleetRow], root: str) -> str:
    names = ", ".join(row.location.removeprefix(root) for row in same[:MOST_ALIKE])
    return f"{len(same)} directories: {names} and {len(same) - MOST_ALIKE} more; --json lists them all"
