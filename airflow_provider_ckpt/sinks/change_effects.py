"""The effect of a rollback on the sink, judged by the sink's memory of the query.

The sink is outside the checkpoint. Spark numbers the batches after a rollback as it did before, and cuts them anew. A
sink that remembers batch ids drops those that it has seen, whatever is in them by now: the recomputed rows are lost.
A sink that remembers nothing gets them a second time.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.sink_marker import LEAVING_NO_STATE, SinkMarker
from airflow_provider_ckpt.history_table.manifest import rewinding
from airflow_provider_ckpt.query.sink import MARKING
from airflow_provider_ckpt.sinks.effects import EFFECTS, SinkEffect
from airflow_provider_ckpt.untrusted.spans import batches_text

_KEEPING_NOTHING = ("console", "noop", "memory")
#: Nobody can delete single rows from a topic.
_DROP_BY_KEY = (
    "Let consumers drop duplicates by a key of the record; isolation.level=read_committed does not help, because Spark "
    "writes without transactions."
)
#: Batches that a query in real-time mode may run again, in the reason of its effect.
_NOT_IN_THE_LOGS = "the batch that was stopped before its end, of which real-time mode writes no entry,"


def rollback_effect(marker: SinkMarker, batch_id: int, newest: int | None, *, trimmed: bool = False) -> SinkEffect:
    """Effect on the sink when the checkpoint has gone back to a batch and the query has run on.

    Args:
        marker: The sink's memory; for a file sink, its log.
        batch_id: The batch that the checkpoint goes back to.
        newest: The newest batch that was planned; None when there is none.
        trimmed: True if the rollback removes the later batches from the log of the file sink.
    """
    if marker.kind in MARKING:
        return _marked(marker, batch_id, trimmed=trimmed)
    if newest is None or newest <= batch_id:
        return SinkEffect(marker.name, "exact", "no batch runs again")
    return _unmarked(marker, batches_text(batch_id + 1, newest))


def undo_effect(marker: SinkMarker, newest: int | None, *, trimmed: bool = False) -> SinkEffect:
    """Effect on the sink when a rollback is taken back, and no batch has run since.

    Args:
        marker: The sink's memory; for a file sink, its log.
        newest: The newest batch that was committed before the rollback; None when the record does not say.
        trimmed: True if the undo puts the later batches back into the log of the file sink.
    """
    lost = marker.lost_up_to(newest) if newest is not None else ()
    gone = newest is not None and (marker.last_batch is None or marker.last_batch < newest)
    if marker.kind in MARKING and not trimmed and (gone or lost):
        why = (
            "the table was restored to an earlier version after the rollback, and the undo makes the batches up to "
            f"{newest} committed again"
        )
        remedy = "First restore the table to its version before the rollback, or do not undo."
        return SinkEffect(marker.name, "skipped", why, remedy)
    return SinkEffect(marker.name, "exact", "no batch runs again after the undo")


def flight_effect(marker: SinkMarker, batch_id: int) -> SinkEffect:
    """Effect on the sink of a batch that comes back in flight, and so runs again with the rows that it had.

    Args:
        marker: The sink's memory; for a file sink, its log as it will be.
        batch_id: The batch; those before it do not run again.
    """
    if marker.kind not in MARKING:
        return _unmarked(marker, f"batch {batch_id}, which comes back in flight,")
    if marker.skipped_after(batch_id - 1) is None:
        return _marked(marker, batch_id - 1, trimmed=False)
    why = f"it has batch {batch_id}, which comes back in flight, and skips it when it runs again with the same rows"
    return SinkEffect(marker.name, "exact", why)


def reset_effects(
    marker: SinkMarker,
    batch_id: int,
    newest: int | None,
    *,
    again: str = "",
    left_out: str = "",
    perhaps: str = "",
    late_before: str = "",
    real_time: bool = False,
    stateful: bool = False,
) -> tuple[SinkEffect, ...]:
    """Effects on the sink when positions of sources were moved after a batch, and the query has run on; best first.

    The next batch keeps the id that it would have had. Data that is read again comes in batches that no sink has seen,
    so no sink recognises it.

    Args:
        marker: The sink's memory; for a file sink, its log.
        batch_id: The newest committed batch.
        newest: The newest planned batch; one that is not committed is dropped, and runs anew.
        again: Data that is read again, in words; empty when there is none.
        left_out: Data that is never read, in words; empty when nothing is left out.
        perhaps: Data that comes a second time only if its topic was not created again, in words; empty when there is
            none.
        late_before: The watermark, in words, where operators of the query drop older data; empty without one.
        real_time: True if the query runs in real-time mode (:func:`in_real_time`).
        stateful: True if the query has state (:func:`with_state`).
    """
    if marker.kind in _KEEPING_NOTHING:
        return (SinkEffect(marker.name, "exact", "it keeps no rows after the query ends"),)
    dropped = with_state(_of_dropped(marker, batch_id, newest), marker, batch_id, stateful=stateful)
    effects = [in_real_time(dropped, marker) if real_time else dropped]
    if again:
        effects.append(_partly_late(marker, again, late_before) if late_before else _read_again(marker, again))
    if perhaps:
        effects.append(_of_a_new_topic(marker, perhaps))
    if left_out:
        effects.append(SinkEffect(marker.name, "skipped", f"it never gets the rows of {left_out}"))
    found = sorted((item for item in effects if item.effect != "exact"), key=lambda item: EFFECTS.index(item.effect))
    return tuple(found) or tuple(effects[:1])


def _of_dropped(marker: SinkMarker, batch_id: int, newest: int | None) -> SinkEffect:
    """Effect of the dropped batch in flight, which may have reached the sink; the next batch has its id."""
    effect = rollback_effect(marker, batch_id, newest)
    if effect.effect == "exact":
        return replace(effect, reason=f"batch {batch_id + 1} is new to it")
    if newest is not None and newest > batch_id:
        remedy = (
            f"If the query can commit batch {newest}, start it, stop it after that batch, and plan the reset again: "
            "then there is no batch to drop."
        )
        return replace(effect, remedy=f"{remedy} {effect.remedy}" if marker.kind != "file" else remedy)
    return effect


def _read_again(marker: SinkMarker, again: str) -> SinkEffect:
    if marker.kind in ("foreachBatch", "foreach", ""):
        why = (
            f"the rows of {again} come again in batches with new ids: the effect is exact only if it replaces rows by "
            "a key of their own, duplicated if it appends"
        )
        remedy = "" if marker.kind else "Declare the sink, for example --sink file:URI."
        return SinkEffect(marker.name, "unknown", why, remedy)
    why = f"it gets the rows of {again} a second time, in batches with new ids, which it has not seen"
    remedy = "Delete those rows from it before the query starts again."
    return SinkEffect(marker.name, "duplicated", why, _DROP_BY_KEY if marker.kind == "kafka" else remedy)


def _partly_late(marker: SinkMarker, again: str, late_before: str) -> SinkEffect:
    """Spark keeps the watermark over a reset: what is read again and is older is dropped as late."""
    why = (
        f"the rows of {again} are read again, and the query goes on with its watermark, {late_before}: operators that "
        "use it drop rows whose event time is before that as late, so these reach neither the state nor the sink; "
        "results of the other rows may come a second time"
    )
    remedy = (
        "Delete nothing from the sink: what is dropped as late does not come again. A rollback (ckpt rollback) takes "
        "the watermark and the state back as well."
    )
    return SinkEffect(marker.name, "unknown", why, remedy)


def _of_a_new_topic(marker: SinkMarker, perhaps: str) -> SinkEffect:
    """A position past the end of its partition does not say which of two things has happened."""
    why = (
        f"it gets the rows of {perhaps}: for the first time if the topic was created again, because nothing of the "
        "present topic was read; a second time if the topic is the same and has lost its newest records (unclean "
        "leader election)"
    )
    remedy = (
        "Find out whether the topic was created again. If it was, delete nothing from the sink: no row comes a second "
        "time."
    )
    return SinkEffect(marker.name, "unknown", why, remedy)


def repartition_effect(marker: SinkMarker, batch_id: int) -> SinkEffect:
    """Effect of a batch that Spark applies to the state alone; the log of a file sink gets an entry of it."""
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
        why = f"it is not known how real-time mode writes rows to a sink of the type {marker.kind}"
        return SinkEffect(marker.name, "unknown", why, "Compare the rows of the newest batches in the sink.")
    return _unmarked(marker, _NOT_IN_THE_LOGS)


def with_state(effect: SinkEffect, marker: SinkMarker, batch_id: int, *, stateful: bool) -> SinkEffect:
    """The effect of going back to a batch on the sink of a query that may have state.

    A sink that skips a batch does not compute it, so Spark writes no state of it, and commits it all the same. The
    first batch that the sink takes again, or the next start, stops for good: the state of the batch before is missing.
    """
    skipped = marker.skipped_after(batch_id)
    if not stateful or effect.effect != "skipped" or skipped is None or marker.kind not in LEAVING_NO_STATE:
        return effect
    first, last = skipped
    why = (
        f"{_memory(marker)} goes up to batch {last}, and the query has state: when {batches_text(first, last)} "
        f"{'run' if last > first else 'runs'} again, the sink skips what has been written, so Spark computes nothing, "
        f"writes no state, and commits. The query then stops for good at batch {last + 1}, because the state of batch "
        f"{last} is missing"
    )
    return replace(effect, effect="stops", reason=why)


# --- sinks that remember ---------------------------------------------------------------------------------------------


def _marked(marker: SinkMarker, batch_id: int, *, trimmed: bool) -> SinkEffect:
    skipped, held, lost = marker.skipped_after(batch_id), marker.held_after(batch_id), marker.lost_up_to(batch_id)
    if skipped and trimmed:
        return SinkEffect(
            marker.name,
            "exact",
            f"the log entries of {batches_text(held[0], held[-1])} are removed too; their data files stay in the "
            "directory, but only readers that ignore _spark_metadata read them",
        )
    if skipped:
        return SinkEffect(marker.name, "skipped", _why_skipped(marker, skipped, held), _remedy(marker, batch_id))
    if held:
        why = (
            f"it has the rows of {batches_text(held[0], held[-1])}, but its record of these batches has expired, so "
            "it accepts them a second time"
        )
        return SinkEffect(marker.name, "duplicated", why, _remedy(marker, batch_id))
    if lost:
        why = (
            f"the table was restored to a version before batch {lost[0]}, which is committed and so does not run again"
        )
        remedy = f"Roll back to batch {lost[0] - 1}, or restore the table to a later version."
        return SinkEffect(marker.name, "skipped", why, remedy)
    if marker.last_batch is None:
        known_as = f" of {marker.writer}" if marker.writer else ""
        why = f"it has no record of a batch{known_as}: it is not the sink of this query, or its record has expired"
        return SinkEffect(marker.name, "unknown", why, "Before the query starts again, check which rows the sink has.")
    return SinkEffect(marker.name, "exact", f"{_memory(marker)} ends at or before batch {batch_id}")


def _why_skipped(marker: SinkMarker, skipped: tuple[int, int], held: tuple[int, ...]) -> str:
    first, last = skipped
    if marker.kind == "history":
        return (
            f"{_memory(marker)} goes up to batch {last}, so it refuses {batches_text(first, last)} when they run again "
            "with other rows, and the query stops"
        )
    why = (
        f"{_memory(marker)} goes up to batch {last}, so the sink drops the rows of {batches_text(first, last)} when "
        "they run again"
    )
    if marker.commits and not held:
        return f"{why}; the table was restored but its marker was not, so it has neither the old nor the new rows"
    return f"{why}, and keeps the old rows" if held else why


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
            f"The version of the table before batch {batch_id + 1} has expired. Roll back to a later batch, or "
            "rewrite the table and start the query with a new checkpoint."
        )
    remedy = {"delta": _restore_delta, "iceberg": _restore_iceberg, "hudi": _restore_hudi, "history": _rewind_history}[
        marker.kind
    ]
    others = ", ".join(f"{commit.operation} {commit.version}" for commit in marker.others_after(batch_id))
    also = f" That also reverts the commits of others: {others}." if others else ""
    return f"Before the query starts again, {remedy(marker, batch_id, version)}{also}"


def _restore_delta(marker: SinkMarker, batch_id: int, version: str) -> str:
    if marker.skipped_after(batch_id) is None:
        return f"restore the table: RESTORE TABLE delta.`{marker.location}` TO VERSION AS OF {version}."
    return (
        "restore the table and its marker in one commit: python -c "
        f"{shlex.quote(delta_restore(marker.location, version, marker.writer, batch_id))}. RESTORE TABLE in SQL does "
        "not restore the marker: after it the query also needs a new id (roll back, then ckpt backup and ckpt "
        "restore --new-query-id), or a new txnAppId if it sets one."
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
        "roll the table back, which also resets the marker, so the query can keep its id: CALL "
        f"<catalog>.system.rollback_to_snapshot(table => '<table>', snapshot_id => {version})."
    )


def _restore_hudi(marker: SinkMarker, batch_id: int, version: str) -> str:
    later = [commit.version for commit in marker.commits if commit.version > version]
    calls = "; ".join(
        f"CALL rollback_to_instant(table => '<table>', instant_time => '{instant}')" for instant in reversed(later)
    )
    return f"roll back the later instants of the table, newest first: {calls}."


def _rewind_history(marker: SinkMarker, batch_id: int, version: str) -> str:
    return f"take the table back, too: {rewinding(marker.location, marker.writer, batch_id)}."


# --- sinks that do not ----------------------------------------------------------------------------------------------


def _unmarked(marker: SinkMarker, again: str) -> SinkEffect:
    match marker.kind:
        case "kafka":
            return SinkEffect(
                marker.name,
                "duplicated",
                f"it gets the rows of {again} a second time: Spark writes to Kafka at least once, without "
                "transactions or a marker",
                _DROP_BY_KEY,
            )
        case "foreachBatch" | "foreach":
            return SinkEffect(
                marker.name,
                "unknown",
                f"the function is called again with the ids of {again}, perhaps with other rows: the effect is "
                "exact only if it replaces what it wrote for an id, duplicated if it appends, skipped if it "
                "ignores ids that it has seen",
                "If it writes to Delta with txnAppId, declare that: delta:URI#txnAppId=ID.",
            )
        case kind if kind in _KEEPING_NOTHING:
            return SinkEffect(marker.name, "exact", "it keeps no rows after the query ends")
    return SinkEffect(
        marker.name,
        "unknown",
        "a sink that remembers batch ids drops the batches that run again; any other sink gets them twice",
        "Declare the sink, for example --sink file:URI.",
    )
