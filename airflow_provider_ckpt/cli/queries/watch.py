"""``ckpt queries --watch``: the table again and again in a terminal; elsewhere a line for each change."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

import click

from airflow_provider_ckpt.cli.queries.output import print_for_people
from airflow_provider_ckpt.cli.render import say
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.fleet.queries.events import events
from airflow_provider_ckpt.fleet.queries.read_flows import WantedQueries
from airflow_provider_ckpt.fleet.queries.read_queries import QueryReader
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.report.query_tables import headline
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import time_text

#: Lines of a terminal that are left to what stands around the table.
_AROUND = 14


#: Finds the queries, and gives them with what opens their locations; raises click.UsageError.
Find = Callable[[], tuple[WantedQueries, Callable[[str], Store]]]


def watch(reader: QueryReader, interval_s: float, find: Find) -> NoReturn:
    """Read and show the queries until somebody interrupts it.

    Args:
        reader: Reads them.
        interval_s: From the begin of one reading to that of the next, seconds.
        find: Finds the queries anew after each pause, because the file may have changed; while it is broken, what it
            said before counts.
    """
    before, problem = dict[str, QueryRow](), ""
    while True:
        began_s = time.monotonic()
        rows = list(reader.read())
        if sys.stdout.isatty():
            _draw(rows, interval_s, problem)
        else:
            _tell(rows, before)
        before = {row.name: row for row in rows}
        time.sleep(max(0.05, interval_s - (time.monotonic() - began_s)))
        told = problem
        try:
            reader.take(*find())
            problem = ""
        except click.UsageError as error:
            problem = f"Warning: {' '.join(error.message.split())}; the queries are read as the file said before."
        if problem not in ("", told) and not sys.stdout.isatty():
            say(problem, colour="yellow", err=True)


def _draw(rows: Sequence[QueryRow], interval_s: float, problem: str) -> None:
    """The table in place of the one before."""
    click.clear()
    say(f"{time_text(now_ms())}, read again each {interval_s:g} s; Ctrl-C ends it.")
    if problem:
        say(problem, colour="yellow")
    print_for_people(rows, max(5, shutil.get_terminal_size().lines - _AROUND))


def _tell(rows: Sequence[QueryRow], before: dict[str, QueryRow]) -> None:
    """A line for each change since the last time; at the first time the head line, and what is the matter."""
    if not before:
        _say(headline(rows))
    for row in rows:
        for line in events(before.get(row.name), row):
            _say(line)


def _say(text: str) -> None:
    say(f"{time_text(now_ms())} {text}")
    sys.stdout.flush()  # a pipe is buffered, and who reads it waits for this line
