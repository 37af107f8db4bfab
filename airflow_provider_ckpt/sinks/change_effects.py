"""What a rollback does at the sink, judged by what the sink remembers of the query.

The sink is outside the checkpoint. Spark numbers the batches after a rollback as it did before, and cuts them anew. A
sink that remembers batch ids drops those that it has seen, whatever is in them by now: the recomputed rows are lost.
A sink that remembers nothing gets them a second time.
"""

from __future__ import annotations

import json
import shlex

from airflow_provider_ckpt.checkpoint.sink_marker import MARKING, SinkMarker
from airflow_provider_ckpt.epochs.manifest import rewinding
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.untrusted.spans import batches_text

_KEEPING_NOTHING = ("console", "noop", "memory")
#: Batches that a query in real-time mode may run again, in the reason of its effect.
_NOT_IN_THE_LOGS = "a batch that was stopped before its end, which real-time mode leaves no entry of,"


def rollback_effect(marker: SinkMarker, batch_id: int, newest: int | None, *, trimmed: bool = False) -> SinkEffect:
    """What the sink holds when the checkpoint has gone back to a batch and the query has run on.

    Args:
        marker: What the sink remembers; of a file sink, its log.
        batch_id: The batch that the checkpoint goes back to.
        newest: The newest batch that was planned; None when there is none.
        trimmed: The rollback removes the later batches from the log of the file sink.
    """
    if marker.kind in MARKING:
        return _marked(marker, batch_id, trimmed=trimmed)
    if newest is None or newest <= batch_id:
        return SinkEffect(marker.name, "exact", "no batch runs again")
    return _unmarked(marker, batches_text(batch_id + 1, newest))


def undo_effect(marker: SinkMarker, newest: int | None, *, trimmed: bool = False) -> SinkEffect:
    """What the sink holds when a rollback is taken back, and no batch has run since.

    Args:
        marker: What the sink remembers; of a file sink, its log.
        newest: The newest batch that was committed before the rollback; None when the record does not say.
        trimmed: The undo puts the later batches back into the log of the file sink.
    """
    lost = marker.lost_up_to(newest) if newest is not None else ()
    gone = newest is not None and (marker.last_batch is None or marker.last_batch < newest)
    if marker.kind in MARKING and not trimmed and (gone or lost):
        why = f"it was taken back since the rollback, and the undo makes batches up to {newest} committed again"
        remedy = "Put the table back to what it was before the rollback first, or leave the rollback as it is."
        return SinkEffect(marker.name, "skipped", why, remedy)
    return SinkEffect(marker.name, "exact", "the undo makes no batch run again")


def repartition_effect(marker: SinkMarker, batch_id: int) -> SinkEffect:
    """What a sink makes of a batch that Spark gives to the state alone; the log of a file sink gets an entry of it."""
    if not marker.kind:
        why = f"a file sink gets a hole in its log at batch {batch_id}, at which it stops later; no other sink does"
        return SinkEffect(marker.name, "unknown", why, "Declare the sink, for example --sink file:URI or --sink kafka.")
    if marker.kind == "file":
        return SinkEffect(marker.name, "exact", f"batch {batch_id} gives it no rows, and an empty entry in its log")
    return SinkEffect(marker.name, "exact", f"batch {batch_id} is none of its batches, and no batch runs again")


def in_real_time(effect: SinkEffect, marker: SinkMarker) -> SinkEffect:
    """The same effect of a query in real-time mode, whose logs do not show every batch that the sink has rows of.

    The offset entry of a batch is written when the batch ends, so one that was stopped has left rows and no entry. A
    restart cuts that batch anew and writes them again. An effect that the logs show as exact is therefore not known.
    Spark has no sink of real-time mode that remembers batches: with one that does, nothing is sure.
    """
    if effect.effect != "exact" or marker.kind in _KEEPING_NOTHING:
        return effect
    if marker.kind in MARKING:
        why = f"real-time mode is not known to write to a sink such as {marker.kind}, nor how rows reach it there"
        return SinkEffect(marker.name, "unknown", why, "Compare the rows of the newest batches in the sink.")
    return _unmarked(marker, _NOT_IN_THE_LOGS)


# --- sinks that remember ---------------------------------------------------------------------------------------------


def _marked(marker: SinkMarker, batch_id: int, *, trimmed: bool) -> SinkEffect:
    skipped, held, lost = marker.skipped_after(batch_id), marker.held_after(batch_id), marker.lost_up_to(batch_id)
    if skipped and trimmed:
        return SinkEffect(
            marker.name,
            "exact",
            f"the log entries of {batches_text(held[0], held[-1])} are removed as well; the data files that they name "
            "stay in the directory, where only readers that ignore _spark_metadata see them",
        )
    if skipped:
        return SinkEffect(marker.name, "skipped", _why_skipped(marker, skipped, held), _remedy(marker, batch_id))
    if held:
        why = f"it holds {batches_text(held[0], held[-1])} and no longer knows that it does, so it takes them again"
        return SinkEffect(marker.name, "duplicated", why, _remedy(marker, batch_id))
    if lost:
        why = f"the table was restored to before batch {lost[0]}, which is committed and does not run again"
        remedy = f"Roll back to batch {lost[0] - 1}, or restore the table to a later version."
        return SinkEffect(marker.name, "skipped", why, remedy)
    if marker.last_batch is None:
        known_as = f" of {marker.writer}" if marker.writer else ""
        why = f"it knows no batch{known_as}: it is not the sink of this query, or its memory has expired"
        return SinkEffect(marker.name, "unknown", why, "Check what the sink holds before the query starts again.")
    return SinkEffect(marker.name, "exact", f"{_memory(marker)} ends at or before batch {batch_id}")


def _why_skipped(marker: SinkMarker, skipped: tuple[int, int], held: tuple[int, ...]) -> str:
    first, last = skipped
    if marker.kind == "history":
        return (
            f"{_memory(marker)} goes up to batch {last}, so it refuses {batches_text(first, last)} when they run again "
            "with other rows, and the query stops"
        )
    why = f"{_memory(marker)} goes up to batch {last}, so the next run of {batches_text(first, last)} is dropped"
    if marker.commits and not held:
        return f"{why}; the table was restored without its marker, so their rows are in it neither old nor new"
    return f"{why}, and what they wrote before stays" if held else why


def _memory(marker: SinkMarker) -> str:
    match marker.kind:
        case "file":
            return "its log"
        case "delta":
            return f"its txn marker of {marker.writer}"
        case "iceberg":
            return f"the epoch that its snapshots name for query {marker.writer}"
        case "history":
            return f"the epoch that its manifests name for query {marker.writer}"
    return f"its streaming checkpoint of {marker.writer}"


def _remedy(marker: SinkMarker, batch_id: int) -> str:
    if marker.kind == "file":
        return "Trim the sink log with the rollback: --trim-sink-log."
    version = marker.version_of(batch_id)
    if version is None:
        return (
            f"The table no longer remembers its state before batch {batch_id + 1}: roll back to a later batch, or "
            "rewrite the table and let the query start on it with a new checkpoint."
        )
    remedy = {"delta": _restore_delta, "iceberg": _restore_iceberg, "hudi": _restore_hudi, "history": _rewind_history}[
        marker.kind
    ]
    others = ", ".join(f"{commit.operation} {commit.version}" for commit in marker.others_after(batch_id))
    also = f" That also takes back what others did: {others}." if others else ""
    return f"Before the query goes on, {remedy(marker, batch_id, version)}{also}"


def _restore_delta(marker: SinkMarker, batch_id: int, version: str) -> str:
    if marker.skipped_after(batch_id) is None:
        return f"restore the table: RESTORE TABLE delta.`{marker.location}` TO VERSION AS OF {version}."
    return (
        "restore the table and its marker in one commit: "
        f"python -c {shlex.quote(delta_restore(marker.location, version, marker.writer, batch_id))}. "
        "RESTORE TABLE in SQL leaves the marker as it is: after it the query also needs a new id (ckpt backup of the "
        "checkpoint rolled back, then ckpt restore --new-query-id), or a new txnAppId where it sets one."
    )


def delta_restore(location: str, version: str, writer: str, batch_id: int) -> str:
    """Python that restores a Delta table and rewinds what it remembers of a query, in one commit."""
    return (
        "from deltalake import CommitProperties, DeltaTable, Transaction; "
        f"DeltaTable({json.dumps(location)}).restore({version}, commit_properties="
        f"CommitProperties(app_transactions=[Transaction({json.dumps(writer)}, {batch_id})]))"
    )


def _restore_iceberg(marker: SinkMarker, batch_id: int, version: str) -> str:
    return (
        "roll the table back, which takes the marker back as well; the query keeps its id: "
        f"CALL <catalog>.system.rollback_to_snapshot(table => '<table>', snapshot_id => {version})."
    )


def _restore_hudi(marker: SinkMarker, batch_id: int, version: str) -> str:
    later = [commit.version for commit in marker.commits if commit.version > version]
    calls = "; ".join(
        f"CALL rollback_to_instant(table => '<table>', instant_time => '{instant}')" for instant in reversed(later)
    )
    return f"roll back the later instants, newest first: {calls}."


def _rewind_history(marker: SinkMarker, batch_id: int, version: str) -> str:
    return f"take the table back, too: {rewinding(marker.location, marker.writer, batch_id)}."


# --- sinks that do not ----------------------------------------------------------------------------------------------


def _unmarked(marker: SinkMarker, again: str) -> SinkEffect:
    match marker.kind:
        case "kafka":
            return SinkEffect(
                marker.name,
                "duplicated",
                f"it gets {again} a second time: Spark writes to Kafka at least once, without transactions or a marker",
                "Let consumers drop what they have seen by a key of the record; isolation.level=read_committed does "
                "not help, because nothing is in a transaction.",
            )
        case "foreachBatch" | "foreach":
            return SinkEffect(
                marker.name,
                "unknown",
                f"the function gets the ids of {again} again, with rows that may be cut otherwise: exact only if it "
                "replaces what it wrote for an id, duplicated if it appends, lost if it skips ids that it knows",
                "If it writes to Delta with txnAppId, declare that: delta:URI#txnAppId=ID.",
            )
        case kind if kind in _KEEPING_NOTHING:
            return SinkEffect(marker.name, "exact", "it keeps nothing beyond a run")
    return SinkEffect(
        marker.name,
        "unknown",
        "a sink that remembers batch ids drops the batches that run again; any other gets them twice",
        "Declare the sink, for example --sink file:URI.",
    )
