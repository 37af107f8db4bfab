"""Snapshots at which an Iceberg source stops, or that it leaves out, told before the restart in Iceberg's own words.

Each case was provoked on a real query (Iceberg 1.12). A source finds its snapshot by its id, and goes on along the main
branch: without that snapshot, or with one on the way that did not append, it stops at every start. With the trigger
``availableNow`` it also goes all the way from its initial offset, which it has taken down once and never moves.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.sources.iceberg.way import Skips, Stop, StoppedError, latest_offset, plan
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot, files_of
from airflow_provider_ckpt.times import time_text

AVAILABLE_NOW, ONCE = "availableNow", "once"


@dataclass(frozen=True, slots=True)
class IcebergSource:
    """An Iceberg source at a restart.

    Args:
        at: The source.
        position: Where its newest committed batch ended, exclusive.
        planned: Where the batch in flight ends, exclusive; None without one.
        initial: Its initial offset; None when it has none yet.
        history: The table.
        skips: Options that the query sets for it.
    """

    at: TableAtRestart
    position: IcebergOffset
    planned: IcebergOffset | None
    initial: IcebergOffset | None
    history: History
    skips: Skips = field(default_factory=Skips)

    def command(self, target: str) -> str:
        """The reset that goes to a target."""
        return f"ckpt reset-offsets {shlex.quote(self.at.checkpoint)} {self.at.shown_source} {target} --sink TYPE[:URI]"


def losses(source: IcebergSource) -> Iterator[Finding]:
    """Yield what a restart stops at, or leaves out, in the order in which Spark meets it."""
    found = _of_position(source)
    stop = initial_stop(source) if source.at.trigger in (AVAILABLE_NOW, None) else None
    if stop is not None and (found is None or stop.message not in found.message):
        yield _of_initial(source, stop, found)
    if found is not None:
        yield found


def run(source: IcebergSource) -> IcebergOffset:
    """Where the source is when the query has run, as it goes itself. Raises StoppedError."""
    history, at = source.history, source.position
    if source.planned is not None:
        plan(history, at, source.planned, source.skips)
        at = source.planned
        if source.at.trigger == ONCE:  # it runs that batch and no other
            return at
    end = latest_offset(history, at, source.skips).end
    if end is None:
        return at
    plan(history, at, end, source.skips)
    return end


def initial_stop(source: IcebergSource) -> Stop | None:
    """Stop of the search for the end with the trigger ``availableNow``; None when the search finds one."""
    initial = START if source.initial is None else source.initial
    try:
        end = latest_offset(source.history, initial, source.skips).end
    except StoppedError as error:
        return error.stop
    if end is not None:
        return None
    message = (
        'Cannot invoke "org.apache.iceberg.spark.source.StreamingOffset.json()" because '
        '"this.lastOffsetForTriggerAvailableNow" is null'
    )
    return Stop("NullPointerException", message, initial.snapshot_id)


# --- findings --------------------------------------------------------------------------------------------------------


def _of_position(source: IcebergSource) -> Finding | None:
    try:
        end = run(source)
    except StoppedError as error:
        return _of_stop(source, error.stop)
    return _begins_again(source) if end == START and source.position != START else None


def _of_initial(source: IcebergSource, stop: Stop, found: Finding | None) -> Finding:
    """CKPT263: the way from the initial offset. What mends the position gives it another one, too."""
    is_sure = source.at.trigger == AVAILABLE_NOW
    name = layout.initial_offset_file(source.at.source_id)
    when = "" if is_sure else "with the trigger availableNow "
    return Finding(
        "CKPT263",
        "error" if is_sure else "warning",
        f"{when}Iceberg goes from the initial offset of source {source.at.source_id} to the end of the table, and "
        f"stops: {stop.message}",
        source.at.batch_id,
        name,
        "Give the source another initial offset; its position stays. Other triggers than availableNow do not use the "
        "initial offset.",
        spark_error=stop.error if is_sure else None,
        commands=found.commands if found is not None and found.commands else (source.command("--to-current"),),
    )


def _of_stop(source: IcebergSource, stop: Stop) -> Finding:
    if stop.snapshot is not None:
        return _of_operation(source, stop, stop.snapshot)
    if source.history.has(stop.snapshot_id):
        return _off_the_branch(source, stop)
    return _gone(source, stop)


def _gone(source: IcebergSource, stop: Stop) -> Finding:
    """CKPT260: the snapshot that the source is at, or that a planned batch ends at, is not in the table."""
    history, oldest = source.history, source.history.oldest
    if history.is_whole:
        why = (
            "no snapshot of the table has expired, so the table was created again, or the snapshot was rolled back and "
            "then removed"
        )
    elif oldest is not None and oldest.parent_id == source.position.snapshot_id:
        why = "it has expired, and the one after it is the oldest that the table has: no later one is lost"
    else:
        since = "" if oldest is None else f", which begins {time_text(oldest.at_ms)} with {oldest.snapshot_id}"
        why = (
            f"it has expired, or the table was created again. What was appended after it and before the history of the "
            f"table{since} cannot be read as a stream any more"
        )
    return _finding(
        source,
        "CKPT260",
        stop,
        f"the table of source {source.at.source_id} does not have the snapshot {stop.snapshot_id} any more; {why}",
        "Move the position to the oldest snapshot that the table has, and compare the rows of the sink with the table.",
        "--to-earliest",
    )


def _off_the_branch(source: IcebergSource, stop: Stop) -> Finding:
    """CKPT261: the table has the snapshot, but the current one does not come from it."""
    if source.planned is not None and source.history.find(source.position.snapshot_id) is not None:
        what = (
            f"the batch in flight ends at snapshot {source.planned.snapshot_id} of source {source.at.source_id}, which "
            "the table does not come to any more: it was rolled back"
        )
        hint = "Drop the batch in flight; the sink may have its rows, which the table does not have any more."
        return _finding(source, "CKPT261", stop, what, hint, "--to-current")
    fork = source.history.fork_of(stop.snapshot_id)
    what = f"the current snapshot does not come from {stop.snapshot_id}, at which source {source.at.source_id} is"
    if fork is None:
        why = "the snapshots after it have expired, or the main branch was replaced"
        hint = "Move the position to the oldest snapshot that the table has."
        return _finding(source, "CKPT261", stop, f"{what}: {why}", hint, "--to-earliest")
    why = f"the table was rolled back to snapshot {fork.snapshot_id} or an earlier one, or its main branch was replaced"
    hint = (
        f"Move the position to snapshot {fork.snapshot_id}, the newest that both have. The sink has rows that the "
        "table does not have any more."
    )
    return _finding(source, "CKPT261", stop, f"{what}: {why}", hint, f"--to-snapshot {fork.snapshot_id}")


def _of_operation(source: IcebergSource, stop: Stop, snapshot: Snapshot) -> Finding:
    """CKPT262: a snapshot on the way that did not append."""
    before = unread_before(source, snapshot)
    options = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}
    option = options.get(snapshot.operation)
    hints, target = [], f"--skip-snapshot {snapshot.snapshot_id}"
    if before and source.planned is not None and _is_planned(source, snapshot):
        hints.append("Drop the batch in flight first, which was planned with another option.")
        target = "--to-current"
    if before:
        hints.append(
            f"{len(before)} unread snapshot{'s' if len(before) > 1 else ''} before it can be read first: start the "
            "query with streaming-max-rows-per-micro-batch=1 and the trigger processingTime, until it stops."
        )
    if source.history.child_of(snapshot.snapshot_id) is None:
        hints.append("It is the newest snapshot: it can be skipped when the table has a later one.")
    else:
        hints.append("Then skip it." if before else "Skip it.")
    if option:
        hints.append(f"Or set {option}=true, which skips every one of this operation.")
    return _finding(
        source,
        "CKPT262",
        stop,
        f"source {source.at.source_id} does not read snapshot {snapshot.text}",
        " ".join(hints),
        target,
    )


def _is_planned(source: IcebergSource, snapshot: Snapshot) -> bool:
    """True if the batch in flight reads a snapshot."""
    end = None if source.planned is None else source.history.find(source.planned.snapshot_id)
    if end is None:
        return False
    at = source.history.find(source.position.snapshot_id)
    return snapshot in source.history.between(None if at is None else at.snapshot_id, end.snapshot_id)


def _begins_again(source: IcebergSource) -> Finding:
    """CKPT264: a position that Iceberg replaces by the beginning, without an error."""
    newest, from_ms = source.history.newest, source.skips.from_ms
    if newest is None or from_ms is None:
        message = (
            f"the table of source {source.at.source_id} has no snapshot: it was created again. Iceberg gives the "
            "position up without an error, and reads from the first snapshot to come; what was unread is lost"
        )
        hint = "Make sure that it is the right table."
        return a_warning("CKPT264", message, source.at.batch_id, layout.offset_entry(source.at.batch_id), hint)
    message = (
        f"stream-from-timestamp of source {source.at.source_id} is {time_text(from_ms)}, after the newest snapshot "
        f"({time_text(newest.at_ms)}): Iceberg gives the position up without an error. It reads nothing until there is "
        "a snapshot of that time, and then from the first one on, or everything again when the option is gone"
    )
    hint = "Deploy without stream-from-timestamp: at a restart the position counts."
    return an_error("CKPT264", message, source.at.batch_id, layout.offset_entry(source.at.batch_id), hint)


def unread_before(source: IcebergSource, snapshot: Snapshot) -> tuple[Snapshot, ...]:
    """The snapshots with unread files between the position and a snapshot of the main branch, oldest first."""
    at = source.history.find(source.position.snapshot_id)
    between = source.history.between(None if at is None else at.snapshot_id, snapshot.snapshot_id)[:-1]
    begun = (at,) if at is not None and at.appends and (at.added_files or 0) > source.position.position else ()
    return (*begun, *(item for item in between if item.appends and files_of([item]) != 0))


def _finding(source: IcebergSource, code: str, stop: Stop, message: str, hint: str, target: str) -> Finding:
    return an_error(
        code,
        f"{message}. Spark stops: {stop.message}",
        source.at.batch_id,
        layout.offset_entry(source.at.batch_id),
        hint,
        spark_error=stop.error,
        commands=(source.command(target),),
    )


def expires_ms(source: IcebergSource) -> int | None:
    """Until an expiry of snapshots may take one without which the source stops, milliseconds; None while none may.

    It needs the snapshot that it is at, and with the trigger ``availableNow`` the one of its initial offset.
    """
    needed = [source.position]
    if source.at.trigger == AVAILABLE_NOW and source.initial is not None:
        needed.append(source.initial)
    kept = [source.history.kept_until_ms(offset.snapshot_id) for offset in needed]
    return min((max(0, at_ms - source.at.now_ms) for at_ms in kept if at_ms is not None), default=None)
