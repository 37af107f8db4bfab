"""The command that shows the sources of a query, and says what those of the next one continue: sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.read_sources import Sources, read_sources
from airflow_provider_ckpt.changes.sources.request import parse_change
from airflow_provider_ckpt.cli.changes.in_place import acting, carry_out, fencing, planned_behind, read_own
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.options import directories, examples, opening, triggered, with_sink
from airflow_provider_ckpt.cli.render import print_json, print_tables, say
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.report.tables import Table
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import SourcesDocument

#: Characters of an offset in the table.
_SHORT = 60


@click.command(
    epilog=examples(
        "ckpt sources s3://lake/checkpoints/orders",
        "ckpt sources s3://lake/checkpoints/orders --as 0=0 --as 1=1 --as 2=new",
        "ckpt sources s3://lake/checkpoints/orders --as orders=0 --as payments=2 --drop 1 --execute "
        "--i-know-it-is-stopped",
        also="A DURATION is 36h, 1h30m, ISO 8601 such as PT5M, or a number of seconds.",
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--as",
    "continued",
    multiple=True,
    metavar="NEW=OLD|new",
    help="Source NEW of the next query continues source OLD of the checkpoint, or begins at its start (new). A source "
    "is its position, such as 0, or its name. Give every source of the next query.",
)
@click.option(
    "--drop",
    "dropped",
    multiple=True,
    metavar="OLD",
    help="No source of the next query continues source OLD. Can be given more than once.",
)
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="NAME",
    help="Stateful operator of the next query, such as stateStoreSave. Give all of them, in Spark's order. A query "
    "with several of them, or with a join, needs it.",
)
@with_sink
@triggered
@fencing
@acting
def sources(
    location: str,
    continued: tuple[str, ...],
    dropped: tuple[str, ...],
    operators: tuple[str, ...],
    sink: str | None,
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    fence: bool,
    wait_s: float,
    **how: Any,
) -> None:
    """Show the sources of a query; with --as, set what each source of the next query continues. ckpt undo takes it
    back.

    Sources are added, dropped, reordered and copied, get names or lose them, in place and without a new checkpoint.
    Every source of the checkpoint must be named, by --as or by --drop. A query with state is refused where a stateful
    operator could get the state of another one.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    if plan_file:
        said = {"--as": continued, "--drop": dropped, "--operator": operators}
        require_alone("--plan", {**said, "--sink": sink, "--trigger": trigger, "--fence": fence or None})
        carry_out(*read_own(plan_file, "sources", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    if not continued:
        others: dict[str, Any] = {"--drop": dropped, "--operator": operators, "--sink": sink, "--trigger": trigger}
        others |= {"--execute": how["execute"], "--plan-out": how["plan_out"], "--fence": fence or None}
        if given := [name for name, value in others.items() if value]:
            raise click.UsageError(f"{given[0]} needs --as NEW=OLD for every source of the next query, or --plan FILE")
        _show(read_sources(opener(location)), as_json=how["as_json"])
        return
    try:
        change = parse_change(continued, dropped, operators or None)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root)

    def make(fenced: bool) -> Plan:
        return make_source_change(stores, change, sink=declared, trigger=trigger, fenced=fenced)

    plan, _ = planned_behind(make, stores, fence=fence, wait_s=wait_s, trigger=trigger, how=how)
    carry_out(plan, stores, opener, **how)


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
