"""Output and exit codes of the commands that judge a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click

from airflow_provider_ckpt.checks.baseline import Baseline, parse_baseline
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.cli.files import WrittenFile, named_by, read_text, require_outside
from airflow_provider_ckpt.cli.options import format_of, open_store, option
from airflow_provider_ckpt.cli.render import COLLECTED, how_typed, print_error, print_json, print_tables, say, telling
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.report.ci import (
    Judged,
    json_document,
    json_text,
    junit_text,
    plain_text,
    printable,
    sarif_text,
)
from airflow_provider_ckpt.report.table import Table
from airflow_provider_ckpt.report.tables import findings_table, forecast_tables
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import BASELINE_BYTES

_DOCUMENTS: dict[str, Callable[[Sequence[Judged]], str]] = {
    "text": plain_text,
    "json": json_text,
    "junit": junit_text,
    "sarif": sarif_text,
}
_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs that the command line asks for.

    Args:
        document: ``text``, ``json``, ``junit`` or ``sarif``.
        path: The file that the document goes to; stdout when None.
        baseline: The accepted findings; None without a baseline.
        accept_to: The baseline file to write, and its present content; None when none is to be written.
    """

    document: str
    path: Path | None
    baseline: Baseline | None
    accept_to: tuple[Path, Baseline] | None

    def finish(self, judged: Sequence[Judged]) -> NoReturn:
        """Write, print, and end with the worst exit code of the checkpoints: a stdout that breaks costs no file.

        Of one of several queries in turn, what was judged is kept for the result of all.
        """
        judged = [_typed(item) for item in judged]
        worst = max(item.exit_code for item in judged)
        collected = click.get_current_context().meta.get(COLLECTED)
        if collected is not None:
            collected.outputs = self
            collected.judged += judged
            raise click.exceptions.Exit(worst)
        raise click.exceptions.Exit(self.finish_all(judged, {}))

    def finish_all(self, judged: Sequence[Judged], failed: Mapping[str, CheckpointError]) -> int:
        """Write and print what was judged, and what could not be, by name; the worst exit code."""
        judged = [*judged, *(Judged(name, error=error) for name, error in failed.items())]
        self._require_outside([item.location for item in judged])
        if self.baseline is not None:
            judged = [replace(item, known=self.baseline.known(item.location, item.findings)) for item in judged]
        for item in judged:
            if item.error is not None:
                print_error(item.error, as_json=False)
        document = _DOCUMENTS[self.document](judged)
        self._write_files(judged, document)
        if self.path is not None:
            click.echo(plain_text(judged))
        elif self.document == "text":
            _print_for_people(judged)
        elif self.document == "json":
            print_json(json_document(judged))
        else:
            click.echo(document)
        return max(item.exit_code for item in judged)

    def _write_files(self, judged: Sequence[Judged], document: str) -> None:
        if self.path is not None:
            _write("--output", self.path, document)
        if self.accept_to is not None:
            path, accepted = self.accept_to
            for item in judged:
                if item.error is None:
                    accepted = accepted.accepting(item.location, item.findings)
            _write("--write-baseline", path, accepted.to_json())

    def _require_outside(self, locations: Iterable[str]) -> None:
        """Raise a usage error for a file that would be written into what was read: reading changes nothing there."""
        places = [Store.open(location) for location in locations if location.startswith("/")]
        for name, path in (("--output", self.path), ("--write-baseline", self.accept_to and self.accept_to[0])):
            if path is not None:
                require_outside(name, path, places)


def judging(command: Callable[..., None]) -> Callable[..., None]:
    """``--format``, ``--output``, ``--baseline``, ``--write-baseline`` and ``--json``, gathered in ``outputs``."""

    @option("--format", "Format of the result. By default text.", "document", type=click.Choice(list(_DOCUMENTS)))
    @option("--output FILE", "Write the result to this file, and plain text to stdout.", "path", type=WrittenFile(Path))
    @option("--baseline FILE", "Baseline file: the findings that it holds do not change the exit code.", type=_FILE)
    @option(
        "--write-baseline FILE",
        "Write the current findings to this baseline file. Entries of other locations are kept, and the exit code is "
        "not affected.",
        "new_baseline",
        type=WrittenFile(Path),
    )
    @wraps(command)
    def with_outputs(
        document: str | None,
        path: Path | None,
        baseline: Path | None,
        new_baseline: Path | None,
        as_json: bool,
        **arguments: Any,
    ) -> None:
        outputs = Outputs(
            format_of(document, as_json=as_json),
            path,
            _read("--baseline", baseline) if baseline else None,
            (new_baseline, _read("--write-baseline", new_baseline, missing=True)) if new_baseline else None,
        )
        command(outputs=outputs, **arguments)

    return with_outputs


def judge(location: str, storage_options: Iterable[str], evaluate: Callable[[Store], Judged]) -> Judged:
    """Evaluate a checkpoint; the judgement is an error when it cannot be read."""
    place = location
    try:
        store = open_store(location, storage_options)
        place = store.location
        with telling(lambda: f"{place}: {store.calls.count:,} listings and files were read so far"):
            return evaluate(store)
    except CheckpointError as error:
        return Judged(place, error=error.at(place))


def _typed(item: Judged) -> Judged:
    """A judgement whose findings name commands as they are typed where there is a query file."""
    how = how_typed()
    if how is None:
        return item
    how = replace(how, about=how.file.find(item.location))

    def typed(finding: Finding) -> Finding:
        hint, commands = finding.hint and how.text(finding.hint), tuple(map(how.text, finding.commands))
        return replace(finding, hint=hint, commands=commands)

    findings, forecast = tuple(map(typed, item.findings)), item.forecast
    if forecast is not None:
        forecast = replace(forecast, findings=tuple(map(typed, forecast.findings)))
    return replace(item, findings=findings, forecast=forecast)


def _read(option: str, path: Path, *, missing: bool = False) -> Baseline:
    if missing and not path.exists():
        return Baseline()
    with named_by(option, path):
        return parse_baseline(read_text(path, BASELINE_BYTES))


def _write(option: str, path: Path, text: str) -> None:
    with named_by(option, path):
        path.write_text(f"{text}\n", encoding="utf-8")


def _print_for_people(judged: Iterable[Judged]) -> None:
    for item in judged:
        if item.error is not None:
            continue
        say(printable(item.headline), bold=True)
        if item.outlook is not None:
            tables = forecast_tables(item.location, item.outlook)
        else:
            tables = [findings_table(item.counting)] if item.counting else []
        accepted = [finding for finding in item.findings if item.is_accepted(finding)]
        if accepted:
            tables.append(replace(findings_table(accepted), title="Known findings, accepted in the baseline"))
        if tables:
            print_tables([_printable(table) for table in tables])


def _printable(table: Table) -> Table:
    rows = (tuple(printable(cell) if isinstance(cell, str) else cell for cell in row) for row in table.rows)
    return replace(table, title=printable(table.title), rows=tuple(rows))
