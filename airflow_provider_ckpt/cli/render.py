"""Output for people: tables on stdout, errors and progress bars on stderr. Machines get JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.visible import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console

    from airflow_provider_ckpt.documents import ErrorDocument
    from airflow_provider_ckpt.query.typed_commands import Typed
    from airflow_provider_ckpt.report.table import Table
    from airflow_provider_ckpt.storage.concurrency import OnStep


#: Where it is kept, in the ``meta`` of the context of a command, how commands are typed that have a query file.
TYPED = "airflow_provider_ckpt.typed_commands"


def how_typed() -> Typed | None:
    """How commands are typed where the one that runs has a query file; None where it has none."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(TYPED)


def typed(text: str) -> str:
    """A text whose commands name a query instead of its location, where the query file declares it."""
    how = how_typed()
    return text if how is None else how.text(text)


#: Where the results of several queries in turn are collected, in the ``meta`` of the context.
COLLECTED = "airflow_provider_ckpt.collected"


def print_json(document: Mapping[str, Any]) -> None:
    """The one document of ``--json``; one line without a terminal, because a BashOperator keeps the last line alone.

    Of one of several queries in turn it is kept for the document of all.
    """
    indent, how = 2 if sys.stdout.isatty() else None, how_typed()
    shown = document if how is None else how.document(document)
    context = click.get_current_context(silent=True)
    if context is not None and COLLECTED in context.meta:
        context.meta[COLLECTED].documents.append(shown)
        return
    click.echo(visible_json(json.dumps(shown, indent=indent, ensure_ascii=False)))


def say(text: str, *, colour: str | None = None, err: bool = False, bold: bool | None = None) -> None:
    """A sentence for people, which may hold text of others."""
    click.secho(visible(typed(text)), fg=colour, err=err, bold=bold)


def print_error(error: CheckpointError, *, as_json: bool) -> None:
    """An error, on stderr for people, on stdout for machines."""
    place = "/".join(part.rstrip("/") for part in (error.location, error.name) if part)
    say(f"Error: {place + ': ' if place else ''}{error.message}", colour="red", err=True)
    if error.hint:
        say(error.hint, err=True)
    if as_json:
        document: ErrorDocument = {"format_version": FORMAT_VERSION, "error": error.to_dict()}
        print_json(document)


def print_usage_error(error: click.ClickException) -> None:
    """The document of a command line that makes no sense; click has said it on stderr."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    help_of = context.command_path if context else "ckpt"
    _print_failure("USAGE", error.format_message(), f"{help_of} --help lists the options.")


#: What a command ends with that was interrupted (Ctrl-C).
INTERRUPTED = 130


def print_interrupted() -> None:
    """The document of a command that was interrupted before it had anything to print."""
    _print_failure("INTERRUPTED", "interrupted before there was a result", "Run the same command again.")


def _print_failure(code: str, message: str, hint: str) -> None:
    """The document of a failure that is about no place."""
    nowhere: dict[str, Any] = {"location": None, "name": None, "batch_id": None}
    print_json({"format_version": FORMAT_VERSION, "error": {"code": code, "message": message, **nowhere, "hint": hint}})


def console_of_tables(*, err: bool = False) -> Console:
    """What prints tables on stdout, or on stderr; wide where that is no terminal and nobody says its width."""
    from rich.console import Console

    console = Console(stderr=err)
    is_said = console.is_terminal or os.environ.get("COLUMNS", "").isdecimal()
    return console if is_said else Console(stderr=err, width=160)


def print_tables(tables: Sequence[Table], *, err: bool = False) -> None:
    """Tables on stdout, or on stderr."""
    from airflow_provider_ckpt.report.table import to_rich

    console, how = console_of_tables(err=err), how_typed()
    for table in tables if how is None else [table.with_texts(how.text) for table in tables]:
        console.print(to_rich(table, console.width), crop=False)


def when(at_ms: int | None) -> str | None:
    """Epoch milliseconds for people and JSON: ISO 8601 in UTC, or as they are where no calendar reaches."""
    return None if at_ms is None else time_text(at_ms)


@contextmanager
def progress_bar(what: str) -> Iterator[OnStep]:
    """A bar on stderr that a long copy moves; silent where stderr is no terminal."""
    if not sys.stderr.isatty():  # rich would end the bar with an empty line
        yield lambda done, total, name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total, name: progress.update(task, completed=done, total=total)


#: Told how a wait is: a text, and how much is left in a unit of its own, when that can be said.
Bar = Callable[[str, float | None], None]


@contextmanager
def waiting_bar() -> Iterator[Bar]:
    """A live bar on stderr for a wait; where stderr is no terminal, a line whenever there is something new."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TimeElapsedColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("polling", total=None)
        most = 0.0

        def show(text: str, left: float | None) -> None:
            nonlocal most
            most = max(most, left or 0.0)
            total = most if left is not None and most else None
            progress.update(
                task, description=text, total=total, completed=most - left if total and left is not None else 0
            )

        yield show


def _lines() -> Bar:
    said = ""

    def show(text: str, left: float | None) -> None:
        nonlocal said
        if text != said:
            say(text, err=True)
        said = text

    return show


#: How often it is said, seconds.
EVERY_S = 10.0


@contextmanager
def telling(how_far: Callable[[], str]) -> Iterator[None]:
    """Say on stderr how far it is, each ten seconds until the end; in a job of cron or of Airflow as well."""
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(EVERY_S):
            say(how_far(), err=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
