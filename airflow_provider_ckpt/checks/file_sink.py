"""Rules about the log of a file sink, when the sink was declared: it skips every batch that its log holds."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.sink_marker import LEAVING_NO_STATE
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.logs import newest_commit
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import Remedy, complete_sink_log, restore_table, trim_sink_log
from airflow_provider_ckpt.checks.state import has_state_ids
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.untrusted.spans import Span, batches_text

_NOTHING_TO_DO = Remedy(
    hint="Spark stopped after the write to the sink and before the commit. You need not do anything.", commands=()
)


@rule("CKPT140")
def ahead(view: CheckpointView) -> Iterator[Finding]:
    """CKPT140: the sink holds batches that Spark will run; what they hold by then does not matter to it."""
    sink = view.sink
    if sink is None or sink.latest is None or sink.latest < view.next_batch:
        return
    crash = view.in_flight is not None and sink.latest == view.in_flight
    commit = newest_commit(view)
    state_is_lost = bool(commit.state_unique_ids) if commit is not None else has_state_ids(view)
    yield Finding(
        "CKPT140",
        "error" if state_is_lost or not crash else "note",
        f"the sink has batches up to {sink.latest}, and Spark continues with batch {view.next_batch}: "
        + (
            "the sink skips this batch, which it already has"
            if crash
            else f"the sink drops every batch up to {sink.latest}, {_lost_with(view, sink.latest)}"
        )
        + (", and state checkpoint format 2 then finds no state" if state_is_lost else ""),
        view.next_batch,
        f"{layout.SINK_LOG}/{sink.latest}",
        spark_error="AssertionError" if state_is_lost else None,
        **(trim_sink_log(view, sink.location) if state_is_lost or not crash else _NOTHING_TO_DO),
    )


@rule("CKPT140")
def state_not_written_again(view: CheckpointView) -> Iterator[Finding]:
    """CKPT140: a batch that the sink skips is not computed, so its state has to be there already."""
    held, remedy = _skipped_uncomputed(view)
    if view.in_flight is None or held < view.in_flight or not view.complete:
        return
    stores: dict[layout.StateStoreId, bool] = {}
    for name in view.names_below(layout.STATE):
        place = layout.parse(name)
        if isinstance(place, layout.StateFile) and place.unique_id is None:
            stores[place.store_id] = stores.get(place.store_id, False) or place.version == view.in_flight + 1
    for store_id in (store_id for store_id, written in stores.items() if not written):
        yield an_error(
            "CKPT140",
            f"the sink skips batch {view.in_flight}, so Spark does not write its state, which "
            f"{store_id.directory} does not have: the query stops after that batch, for good",
            view.in_flight,
            store_id.directory,
            **remedy,
        )


def skips_in_flight(view: CheckpointView) -> bool:
    """True if the sink takes the batch in flight for done, so that it reads nothing when it runs again."""
    return view.in_flight is not None and _skipped_uncomputed(view)[0] >= view.in_flight


def _skipped_uncomputed(view: CheckpointView) -> tuple[int, Remedy]:
    """The newest batch that the sink skips without computing it, -1 where none is known; and what helps."""
    if view.sink is not None:
        return -1 if view.sink.latest is None else view.sink.latest, trim_sink_log(view, view.sink.location)
    marker = view.marker
    if marker is None or marker.last_batch is None or marker.kind not in LEAVING_NO_STATE:
        return -1, Remedy(hint="", commands=())
    return marker.last_batch, restore_table(view)


def _lost_with(view: CheckpointView, latest: int) -> str:
    """Loss of a query whose sink skips batches that the query, as it is now, has not written."""
    rows = "so new rows in them are lost"
    if not view.stateful or _skipped_uncomputed(view)[0] < latest:
        return rows
    return (
        f"{rows}; Spark computes nothing for them, writes no state of them, and commits them, so the query stops for "
        f"good at batch {latest + 1}, because the state of batch {latest} is missing"
    )


@rule("CKPT141")
def behind(view: CheckpointView) -> Iterator[Finding]:
    """CKPT141: batches are committed that the sink does not hold."""
    sink, committed = view.sink, view.latest_committed
    if sink is None or committed is None:
        return
    if sink.latest is None or sink.latest < committed:
        held = "none" if sink.latest is None else f"batches up to {sink.latest}"
        yield a_warning(
            "CKPT141",
            f"batch {committed} is committed, but the sink has {held}{_then(view, sink)}",
            committed,
            layout.SINK_LOG,
            **complete_sink_log(
                view,
                sink.location,
                why="If it is not the sink of the query, declare the right one. Else its log was deleted or restored.",
            ),
        )


def _then(view: CheckpointView, sink: SinkLog) -> str:
    """Later effect of entries that the newest batches do not have, when the query goes on."""
    if sink.latest is None:
        return ""
    first = sink.latest + 1
    name = f"{layout.SINK_LOG}/{first}{'.compact' if sink.next_compaction(first) == first else ''}"
    return (
        f"; once the query has written a later batch, readers of the table stop, because {name} doesn't exist, and "
        f"batch {sink.next_compaction(view.next_batch)}, which compacts the log, stops the query with "
        "BATCH_METADATA_NOT_FOUND"
    )


@rule("CKPT142")
def holes(view: CheckpointView) -> Iterator[Finding]:
    """CKPT142: the next compaction of the sink log reads every batch since the last one."""
    sink = view.sink
    if sink is None or not sink.holes:
        return
    batch_id = sink.next_compaction(view.next_batch)
    now = batch_id == view.next_batch
    yield an_error(
        "CKPT142",
        f"the sink log does not have {_batches(sink.holes[0])}; batch {batch_id} compacts the log, and Spark "
        "stops at the missing entry",
        batch_id,
        f"{layout.SINK_LOG}/{sink.holes[0].first}",
        spark_error="BATCH_METADATA_NOT_FOUND" if now else None,
        **complete_sink_log(
            view,
            sink.location,
            why="A repartition by Spark 4.2 or 4.3 leaves out the entry, or somebody deleted it.",
        ),
    )


def _batches(hole: Span) -> str:
    return batches_text(hole.first, hole.last)


@rule("CKPT143")
def another(view: CheckpointView) -> Iterator[Finding]:
    """CKPT143: the sink is not the one that was declared first."""
    if view.first_sink is not None:
        declared, memory = view.first_sink
        yield a_warning(
            "CKPT143",
            f"the declared sink is not the sink that was declared before for this checkpoint, {declared}",
            None,
            None,
            f"Declare that sink. If the query now writes to another sink on purpose, delete the file {memory}.",
        )


@rule("CKPT140")
def table_ahead(view: CheckpointView) -> Iterator[Finding]:
    """CKPT140: a table skips every batch up to the newest that it remembers of the query."""
    marker = view.marker
    if marker is None or marker.last_batch is None or marker.last_batch < view.next_batch:
        return
    crash = view.in_flight is not None and marker.last_batch == view.in_flight
    yield Finding(
        "CKPT140",
        "note" if crash else "error",
        (
            f"{marker.name} has batches of the query up to {marker.last_batch}, and Spark continues with batch "
            f"{view.next_batch}: "
        )
        + (
            "the sink skips this batch, which it already has"
            if crash
            else f"the table drops every batch up to {marker.last_batch}, {_lost_with(view, marker.last_batch)}"
        ),
        view.next_batch,
        None,
        **(_NOTHING_TO_DO if crash else restore_table(view)),
    )
