"""Output of the command fleet: rows and their totals, also for a search that was interrupted."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, ClassVar

import click

from airflow_provider_ckpt.checks.findings import SEVERITIES
from airflow_provider_ckpt.cli.render import print_tables, say, telling
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.documents.findings import NoCheckpointsFields
from airflow_provider_ckpt.fleet.find import NoCheckpoints, Some
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.report.fleet_tables import fleet_tables
from airflow_provider_ckpt.report.openmetrics import fleet_metrics
from airflow_provider_ckpt.report.tables import not_judged_text
from airflow_provider_ckpt.restart.forecast import DECISIONS


@dataclass(slots=True)
class Summary(Documented):
    """Totals of the rows."""

    last_keys: ClassVar = ("not_searched", "no_checkpoints", "requests", "requests_per_checkpoint")

    complete: Annotated[bool, "whether all were checked; false when the search was interrupted"] = True
    last: Annotated[str | None, "the last row of a search that was interrupted; null when it is complete"] = None
    decision: Annotated[str | None, "worst decision; null without a deploy"] = None
    unknown: Annotated[tuple[str, ...], "what was not judged in at least one checkpoint"] = ()
    checkpoints: Annotated[int, "checkpoints that were read"] = 0
    errors: Annotated[int, "checkpoints with an error"] = 0
    warnings: Annotated[int, "checkpoints with warnings at worst"] = 0
    notes: Annotated[int, "checkpoints whose worst finding is a note"] = 0
    unreadable: Annotated[int, "directories that could not be read"] = 0
    replaced: Annotated[int, "checkpoints that were replaced by a full refresh"] = 0
    blocked: Annotated[int, "number of checkpoints whose gate decision is `block`"] = 0
    sources_unreadable: Annotated[int, "number of checkpoints whose sources could not be asked"] = 0
    unsearched: Some = field(default_factory=Some)
    others: NoCheckpoints = field(default_factory=NoCheckpoints)
    requests: Annotated[int, "number of requests to the storage"] = 0
    requests_per_checkpoint: Annotated[float | None, "number of requests to the storage per checkpoint"] = None

    @property
    def not_searched(self) -> Annotated[int, "number of directories deeper than `--depth`, which were not searched"]:
        """How many directories were not searched."""
        return self.unsearched.count

    @property
    def no_checkpoints(
        self,
    ) -> Annotated[NoCheckpointsFields, "what is there and is no checkpoint; it changes no exit code"]:
        """What is there and is no checkpoint, in few words."""
        return self.others.to_dict()

    @property
    def found(self) -> int:
        """How many directories were a checkpoint, or could not be read."""
        return self.checkpoints + self.unreadable + self.replaced

    @property
    def failed(self) -> bool:
        """True if the answer is no."""
        return bool(self.errors or self.blocked or self.unreadable or self.sources_unreadable)

    def add(self, row: FleetRow) -> None:
        """Count a row."""
        self.checkpoints += row.error is None and row.replaced_by is None
        self.replaced += row.replaced_by is not None
        self.unreadable += row.error is not None
        self.errors += row.error is None and any(finding.severity == "error" for finding in row.findings)
        self.warnings += row.worst == "warning"
        self.notes += row.worst == "note"
        self.blocked += row.decision == "block"
        self.sources_unreadable += row.lag_error is not None
        self.unknown = tuple(dict.fromkeys((*self.unknown, *row.unknown)))
        if row.decision is not None:
            self.decision = max(self.decision or "pass", row.decision, key=DECISIONS.index)

    def add_all(self, rows: Iterable[FleetRow], requests: int) -> None:
        """Count all rows, and the requests to the storage."""
        for row in rows:
            self.add(row)
        if self.decision is not None and self.unreadable:
            self.decision = "block"
        self.requests = requests
        if self.checkpoints:
            self.requests_per_checkpoint = round(requests / self.checkpoints, 2)

    def headline(self) -> str:
        """The first line for people: the decision, what was found, and what was not judged."""
        counted = [f"{self.errors} with errors", f"{self.warnings} with warnings"]
        if self.decision is not None:
            counted.insert(0, f"{self.blocked} blocked")
        if self.sources_unreadable:
            counted.append(f"{self.sources_unreadable} whose sources could not be asked")
        beside = [f"{self.replaced} more replaced by a full refresh"] if self.replaced else []
        if too_deep := self.not_searched:
            beside.append(f"{too_deep} directories deeper than --depth, which were not searched")
        decision = "" if self.decision is None else f"{self.decision.upper()} "
        unreadable = f"{self.unreadable} of {self.found} locations not readable; " if self.unreadable else ""
        plural = "" if self.checkpoints == 1 else "s"
        what = f"{decision}{unreadable}{self.checkpoints} checkpoint{plural}: {', '.join([*counted, *beside])}"
        if not self.complete:
            what = f"Interrupted, and not complete: {what}"
        return f"{what}{not_judged_text(self.unknown)}"

    def cost(self) -> str:
        """The last line for people."""
        each = "" if self.requests_per_checkpoint is None else f", {self.requests_per_checkpoint:.1f} per checkpoint"
        return f"{self.requests} requests{each}."


def collect(rows: Iterable[FleetRow], summary: Summary) -> list[FleetRow]:
    """All rows; when the search is interrupted (SIGINT) those that are there, and the summary says so."""
    kept: list[FleetRow] = []
    try:
        kept.extend(_watch(rows, kept))
    except KeyboardInterrupt:
        summary.complete = False
        summary.last = kept[-1].location if kept else None
    return kept


def _watch(rows: Iterable[FleetRow], kept: Sequence[FleetRow]) -> Iterator[FleetRow]:
    """The same rows; a bar on stderr counts them where that is a terminal, elsewhere a line now and then."""
    if not sys.stderr.isatty():
        with telling(lambda: _how_far(kept)):
            yield from rows
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(rows, total=None)


def _how_far(kept: Sequence[FleetRow]) -> str:
    last = f", the last one {kept[-1].location}" if kept else ""
    return f"{len(kept):,} checkpoints so far{last}"


def show(rows: Sequence[FleetRow], summary: Summary, document: str) -> None:
    """Print a fleet as ``text``, ``json`` or ``openmetrics``; whole, also when it is interrupted meanwhile."""
    with _uninterrupted():
        _SHOWN[document](rows, summary)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread, which alone is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_json(rows: Sequence[FleetRow], summary: Summary) -> None:
    """One document, on one line; for people with a line for each row."""
    end = "\n" if sys.stdout.isatty() else ""
    separator = f'{{"format_version": {FORMAT_VERSION}, "checkpoints": [{end}'
    for row in rows:
        click.echo(f"{separator}{json.dumps(row.to_dict())}", nl=False)
        separator = f", {end}"
    start = end if rows else separator
    click.echo(f'{start}], "summary": {json.dumps(summary.to_dict())}}}')


def urgency(row: FleetRow) -> tuple[int, float, str]:
    """Worst first; of equal ones the one whose unread data may be deleted first."""
    expires_ms = inf if row.expires_ms is None else row.expires_ms
    return SEVERITIES.index(row.worst) if row.worst else len(SEVERITIES), expires_ms, row.location


def _print_for_people(rows: Sequence[FleetRow], summary: Summary) -> None:
    colour = "red" if summary.failed else "yellow" if summary.warnings or summary.unknown else "green"
    say(summary.headline(), colour=colour)
    if rows:
        print_tables(fleet_tables(sorted(rows, key=urgency)))
    if told := summary.others.text():
        say(told)
    if any(row.findings for row in rows):
        say("--json has each finding whole, with what to do; ckpt explain CODE says what a code means.")
    say(summary.cost())


def _print_metrics(rows: Sequence[FleetRow], _: Summary) -> None:
    """One exposition, of which each family holds the samples of all checkpoints."""
    click.echo(fleet_metrics(list(rows)), nl=False)


_SHOWN: Mapping[str, Callable[[Sequence[FleetRow], Summary], None]] = {
    "text": _print_for_people,
    "json": _print_json,
    "openmetrics": _print_metrics,
}
