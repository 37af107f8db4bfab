"""What ``ckpt queries`` prints: a table that fits, and what is the matter in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.render import console_of_tables, print_json, print_tables, say
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.report.openmetrics import query_metrics
from airflow_provider_ckpt.report.query_tables import (
    MARK,
    codes_line,
    headline,
    matter_lines,
    queries_table,
    running_line,
    unknown_lines,
)

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.queries import QueriesDocument


def show(rows: Sequence[QueryRow], place: str, document: str) -> None:
    """Print rows, which are in the order of the file, as ``text``, ``json`` or ``openmetrics``."""
    if document == "json":
        found: QueriesDocument = {
            "format_version": FORMAT_VERSION,
            "file": place,
            "queries": [row.to_dict() for row in rows],
        }
        print_json(found)
    elif document == "openmetrics":
        click.echo(query_metrics(rows), nl=False)
    else:
        print_for_people(rows)


def print_for_people(rows: Sequence[QueryRow], most_rows: int | None = None) -> None:
    """The table, the worst first, and below it the sentences on what is the matter and on what is not known.

    Args:
        rows: The rows in the order of the file.
        most_rows: Rows of the table at most; None for all.
    """
    ordered = sorted(rows, key=lambda row: row.urgency)
    worst = ordered[0].urgency if ordered else 4
    say(headline(rows), colour="red" if worst < 2 else "yellow" if worst == 2 else "green")
    if not ordered:
        return
    table, left_out = queries_table(ordered[:most_rows], console_of_tables().width)
    print_tables([table])
    if most_rows is not None and len(ordered) > most_rows:
        say(f"{len(ordered) - most_rows:,} more queries are not shown.")
    for line in matter_lines(ordered):
        say(line, colour="red")
    if any(row.alarms for row in ordered):
        say(f"{MARK} marks what is past its threshold, or not known.")
    for text in (*unknown_lines(ordered), running_line(ordered), codes_line(ordered)):
        if text is not None:
            say(text)
    if left_out:
        say(f"There is no room for {', '.join(left_out)}: use a wider terminal, or --json.")
