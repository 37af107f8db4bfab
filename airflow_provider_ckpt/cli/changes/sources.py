"""The command that shows the sources of a query, and says what those of the next one continue: sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.changes.sources.make import SourcesRequest
from airflow_provider_ckpt.changes.sources.read_sources import Sources, read_sources
from airflow_provider_ckpt.cli.changes.asking import changing, options_said
from airflow_provider_ckpt.cli.changes.in_place import Change, acting
from airflow_provider_ckpt.cli.options import DURATIONS, command, directories
from airflow_provider_ckpt.cli.render import print_json, print_tables, say
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.report.table import Table
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import SourcesDocument

#: Characters of an offset in the table.
_SHORT = 60


@command(
    "ckpt sources s3://lake/checkpoints/orders",
    "ckpt sources s3://lake/checkpoints/orders --as 0=0 --as 1=1 --as 2=new",
    "ckpt sources s3://lake/checkpoints/orders --as orders=0 --as payments=2 --drop 1 --execute --i-know-it-is-stopped",
    also=DURATIONS,
)
@click.argument("location", shell_complete=directories)
@changing(SourcesRequest)
@acting
def sources(change: Change, asked: SourcesRequest) -> None:
    """Show the sources of a query, or set what they continue. ckpt undo takes that back.

    With --as it sets what each source of the next query continues.

    Sources are added, dropped, reordered and copied, get names or lose them, in place and without a new checkpoint.
    Every source of the checkpoint must be named, by --as or by --drop. A query with state is refused where a stateful
    operator could get the state of another one.
    """
    if not asked.continued:
        acts = {"--execute": change.how.execute, "--plan-out": change.how.plan_out}
        if given := [*options_said(asked), *(option for option, value in acts.items() if value)]:
            raise click.UsageError(f"{given[0]} needs --as NEW=OLD for every source of the next query, or --plan FILE")
        _show(read_sources(change.opener(change.location)), as_json=change.how.as_json)
        return
    change.make(asked)


def _show(found: Sources, *, as_json: bool) -> None:
    newest = found.view.latest_offset_seq
    document: SourcesDocument = {
        "format_version": FORMAT_VERSION,
        "location": found.view.location,
        "offset_log_version": newest.version if newest is not None else None,
        "latest_planned_batch": found.view.latest_planned,
        "latest_committed_batch": found.view.latest_committed,
        "in_flight": found.view.in_flight,
        "sources": list(found.sources),
        "leftovers": found.leftovers,
    }
    if as_json:
        print_json(document)
        return
    columns = ("source", "type", "committed offset", "planned offset", "files")
    rows = tuple(
        (
            item["source_id"],
            item["source_type"] or "not known",
            _short(item["committed_offset"]),
            _short(item["planned_offset"]),
            item["files"],
        )
        for item in found.sources
    )
    print_tables([Table(f"Sources of {found.view.location}", columns, rows)])
    for left in document["leftovers"]:
        say(
            f"{visible(left['name'])} belongs to no source, and has {left['files']} files: a start that failed has "
            "left it, or a source that was dropped.",
            colour="yellow",
        )


def _short(offset: str | None) -> str:
    if offset is None:
        return "-"
    return offset if len(offset) <= _SHORT else f"{offset[: _SHORT - 1]}…"
