"""The command that judges a checkpoint: check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check as check_rules
from airflow_provider_ckpt.checks.findings import worst_first
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.cli.findings_output import Outputs, judge, judging
from airflow_provider_ckpt.cli.options import command, deeply, directories, opening, shared, with_sources
from airflow_provider_ckpt.cli.query_names import query_at
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.report.ci import Judged
from airflow_provider_ckpt.restart.judged import not_checked
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.sources.table_loss import TableLosses


@command(
    "ckpt check s3://lake/checkpoints/orders --deep",
    "ckpt check /data/checkpoints/totals --source 0=file:/lake/orders",
    "ckpt check /data/checkpoints/a /data/checkpoints/b --format junit --output checks.xml",
    names=Names(several="at once", pipeline="flows"),
)
@click.argument("locations", shell_complete=directories, nargs=-1)
@deeply
@with_sources(
    "Also compare a source that is a directory or a table with what is there now, such as 0=file:/lake/orders: what "
    "the query has read and is gone, and what it cannot read. For one location. Can be given more than once.",
    metavar="NAME=TYPE:PLACE",
)
@judging
@shared
def check(
    locations: tuple[str, ...],
    deep: bool,
    sources: dict[str, Source],
    storage_options: tuple[str, ...],
    outputs: Outputs,
) -> None:
    """Check checkpoints for damage and hazards. Each finding has a stable rule code.

    Without a location it checks every query of the query file. Each of several is compared with its own sources.

    Exit code 1 when a finding is an error. ckpt explain CODE says what a rule code means.
    """
    if not locations:
        raise click.UsageError("give the location of a checkpoint, or declare queries in a ckpt.yaml")
    if sources:
        _require_judged(locations, sources)

    def evaluate(store: Store, sources: Mapping[str, Source]) -> Judged:
        view = examine(store, deep=deep, each=True)
        found, unknown = check_rules(view), not_checked(view)
        if sources:
            lost = _compared(view, store, sources, opening(storage_options))
            found, unknown = worst_first((*found, *lost.findings)), (*unknown, *lost.unknown)
        if any(finding.name and finding.name not in view.objects for finding in found):
            from airflow_provider_ckpt.change.record.find_removed import with_removed  # loads the room of all changes

            found = with_removed(found, store, view.objects.keys())
        return Judged(store.location, found, unknown=unknown)

    of_each = {location: sources or _stored_sources(location) for location in locations}
    outputs.finish(
        [judge(at, storage_options, partial(evaluate, sources=declared)) for at, declared in of_each.items()]
    )


def _stored_sources(location: str) -> Mapping[str, Source]:
    """The sources that the query file declares, which are compared: of several queries each has its own."""
    query = query_at(location)
    return {} if query is None else {key: source for key, source in query.deploy.by_id.items() if source.is_stored}


def _require_judged(locations: Sequence[str], sources: Mapping[str, Source]) -> None:
    """Raise click.UsageError for sources that check does not compare."""
    from airflow_provider_ckpt.sources.judge_tables import require_judged  # loads the sources, as below

    if len(locations) > 1:
        raise click.UsageError("--source is of one query: give one location with it")
    try:
        require_judged(sources)
    except ValueError as error:
        raise click.UsageError(f"--source {error}") from error


def _compared(
    view: CheckpointView, store: Store, sources: Mapping[str, Source], open_store: Callable[[str], Store]
) -> TableLosses:
    """Findings of the sources, compared with what the query has read of them."""
    from airflow_provider_ckpt.clock import now_ms
    from airflow_provider_ckpt.sources.judge_tables import judge_tables
    from airflow_provider_ckpt.sources.open_end import Access

    return judge_tables(view, sources, {}, Access(open_store, store), now_ms())
