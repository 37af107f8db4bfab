"""Giving a fork its first batch: that of the live query, or as long as several of its batches.

The fork is a restored backup with a query id of its own, which nobody has started. It gets the offset entry of one
batch, and what sources have written down of it: nothing of the live query is changed. That only adds to a copy, so it
is no plan; it holds the lock of the fork, as every change does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Annotated, Any

from airflow_provider_ckpt.change.lock import Held, locked
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checkpoint.observe import observe, read_entries
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.documents.as_document import Versioned
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: A sink, and the store of its directory or table; None for one without.
Opened = tuple[Sink, Store | None]


@dataclass(frozen=True, slots=True)
class StagedRange(Versioned):
    """Batches of the live query that the first batch of a fork reads together; `CheckpointStageOperator` returns it."""

    first_batch: Annotated[int, "first batch of the live query in the range, and the batch of the fork"]
    last_batch: Annotated[int, "last batch of the live query in the range, inclusive"]
    stateful: Annotated[bool, "whether the query keeps state"]
    offsets: Annotated[Mapping[str, str | None], "where the range ends: offset text by source id"]
    watermark_ms: Annotated[int, "watermark of the live query after the range; 0 when there is none"]
    shadow_sink: Annotated[
        str, "output of the fork, which had no batch when the range was staged; empty when not given"
    ] = ""


def staged_of(fields: Any) -> StagedRange:
    """The range that :meth:`StagedRange.to_dict` wrote. Raises ValueError for anything else."""
    names = [field.name for field in dataclass_fields(StagedRange)]
    if not isinstance(fields, Mapping) or not set(names) <= fields.keys():
        raise ValueError(
            f"it must have {', '.join(names)}, as CheckpointStageOperator returns them, not {fields!r:.60}"
        )
    numbers = (fields["first_batch"], fields["last_batch"], fields["watermark_ms"])
    if any(type(number) is not int for number in numbers) or not isinstance(fields["offsets"], Mapping):
        raise ValueError("first_batch, last_batch and watermark_ms must be whole numbers, and offsets a mapping")
    if not isinstance(fields["shadow_sink"], str):
        raise ValueError("shadow_sink must be a text")
    return StagedRange(**{name: fields[name] for name in names})


def stage_range(
    live: Store, fork: Store, last_batch: int | None = None, *, shadow: Opened | None = None, by: str = ""
) -> StagedRange:
    """Plan the first batch of a fork; a second run finds it planned.

    Args:
        live: The checkpoint of the live query, which may go on running.
        fork: The fork, which nobody has started.
        last_batch: The batch of the live query that the batch of the fork shall end with; the newest committed by
            default, or that which an earlier run has staged the fork for.
        shadow: The sink that the new version will write to on the fork, and its store; a file sink must be new.
        by: Name of the person or the task that makes the change, for whoever finds the lock of the fork.

    Raises:
        PlanError: The fork is none of the live query, or was started; or the live query has no such batch.
        CheckpointBusyError: Somebody else changes the fork.
        CheckpointMovedError: Spark purged what had just been listed of the live query, at every try.
    """
    _require_place_of_lock(fork)
    with locked(fork, f"stage-{'newest' if last_batch is None else last_batch}", by) as held:
        return read_unmoved(lambda: _stage_range(live, fork, last_batch, shadow, held), live)


def _require_place_of_lock(fork: Store) -> None:
    try:
        records_of(fork)
    except PlanError as error:
        error.hint = "Nothing was done. Restore the backup to a directory of its own: the lock lies beside it."
        raise


def _stage_range(live: Store, fork: Store, last_batch: int | None, shadow: Opened | None, held: Held) -> StagedRange:
    theirs, ours = observe(live), observe(fork)
    since = _require_fork(theirs, ours)
    first = since + 1
    last = _last_staged(live, theirs, fork, first) if last_batch is None else last_batch
    if last is None or last < first or last not in theirs.committed:
        raise PlanError(
            f"the live query has committed batch {theirs.latest_committed} and the fork begins after batch {since}, so "
            f"there is no batch {first if last is None else max(first, last)} of both to compare.",
            location=live.location,
            hint="Wait until the live query has committed a batch after the backup, and run this task again.",
        )
    before, begin, end = (_entry(live, batch) for batch in (since, first, last))
    if not same_end(before, _entry(fork, since)):
        raise PlanError(
            f"batch {since} of the fork has ended at other offsets than that of the live query.",
            location=fork.location,
            batch_id=since,
            hint="Nothing was done. Fork a new backup: the live query was rolled back or reset since this one.",
        )
    try:
        data = planned_batch(begin, end).encode()
    except ValueError as error:
        raise PlanError(
            f"batches {first} to {last} of the live query cannot be one batch: {error}.",
            location=live.location,
            hint="Nothing was done. Fork a backup that was taken after that change.",
        ) from None
    watermark_ms = _commit(live, last).next_batch_watermark_ms
    is_staged = _is_staged(fork, first, data)
    _require_new(shadow, ours, first)
    if not is_staged:
        held.require_mine()
        _write(live, fork, before, end, first, data)
    offsets = {source_id: offset.json if offset else None for source_id, offset in end.offsets}
    name = shadow[0].at(shadow[1]).name if shadow else ""
    return StagedRange(first, last, theirs.stateful, offsets, watermark_ms, name)


def _last_staged(live: Store, theirs: CheckpointView, fork: Store, first: int) -> int | None:
    """The newest committed batch of the live query; where an earlier run has staged the fork, that was newest then."""
    if fork.stat(layout.offset_entry(first)) is None:
        return theirs.latest_committed
    staged = _entry(fork, first)
    later = sorted(batch for batch in theirs.committed if batch >= first and batch in theirs.planned)
    return next((batch for batch in later if same_end(_entry(live, batch), staged)), theirs.latest_committed)


def _require_fork(theirs: CheckpointView, ours: CheckpointView) -> int:
    """The batch that a fork begins after. Raises PlanError when it is no fork, or has run."""
    if ours.query_id is None or ours.query_id == theirs.query_id:
        raise PlanError(
            f"it has the query id {ours.query_id} of the live query, so it is no fork.",
            location=ours.location,
            hint="Nothing was done. Restore the backup with a new query id (--new-query-id, new_query_id=True).",
        )
    before = None if ours.in_flight is None else ours.predecessor(ours.in_flight)
    if ours.in_flight is not None and before is not None:
        if before + 1 != ours.in_flight:
            raise PlanError(
                f"the fork has planned batch {ours.in_flight} after batch {before}, and not batch {before + 1}: it was "
                "started, or staged for other batches.",
                location=ours.location,
                name=layout.offset_entry(ours.in_flight),
                batch_id=ours.in_flight,
                hint="Nothing was done. Restore the backup to a new location, and begin again.",
            )
        return before
    if ours.latest_committed is None:
        raise PlanError(
            "the fork has no committed batch to begin after.",
            location=ours.location,
            hint="Nothing was done. Fork a backup that was taken when the live query had committed a batch.",
        )
    return ours.latest_committed


def _entry(store: Store, batch_id: int) -> OffsetSeq:
    entry = _read(store, batch_id, layout.offset_entry(batch_id))
    assert isinstance(entry, OffsetSeq)
    return entry


def _commit(store: Store, batch_id: int) -> CommitMetadata:
    entry = _read(store, batch_id, layout.commit_entry(batch_id))
    assert isinstance(entry, CommitMetadata)
    return entry


def _read(store: Store, batch_id: int, name: str) -> Encodable:
    found, damaged = read_entries(store, (batch_id,))
    if name in damaged:
        raise damaged[name]
    if name not in found:
        raise PlanError(
            f"the log has no entry {name}.",
            location=store.location,
            name=name,
            batch_id=batch_id,
            hint="Nothing was done. Spark has purged it: fork a newer backup, and compare fewer batches.",
        )
    return found[name]


def _is_staged(fork: Store, batch_id: int, data: bytes) -> bool:
    """True if an earlier run has planned this very batch. Raises PlanError when it has planned another one."""
    name = layout.offset_entry(batch_id)
    if fork.stat(name) is None:
        return False
    if fork.read(name) != data:
        raise PlanError(
            f"the fork has planned another batch {batch_id}: it was started, or staged for other batches.",
            location=fork.location,
            name=name,
            hint="Nothing was done. Restore the backup to a new location, and begin again.",
        )
    return True


def _require_new(shadow: Opened | None, ours: CheckpointView, batch_id: int) -> None:
    """Raise PlanError for a sink that knows batches of the fork: it would drop them, and old rows would be compared.

    A fork of the same backup at the same place has the same query id, so a table may know it from an earlier rehearsal.
    """
    sink, store = shadow or (None, None)
    if sink is None or store is None:
        return
    has = ""
    if sink.kind == "file":
        there = sorted(read_file_sink(store).objects)
        has = f"a log of batches already ({there[0]})" if there else ""
    elif any(store.ls()):  # a table that is not there yet has none
        known = read_marker(sink, store, ours.query_id, batch_id).last_batch
        has = (
            f"batch {known} of the query {sink.writer or ours.query_id} of the fork already"
            if known is not None
            else ""
        )
    if has:
        raise PlanError(
            f"the shadow sink {sink.at(store).name} has {has}, and would drop those of the fork that it has.",
            location=store.location,
            hint="Nothing was done. Let the new version write to a new place, or delete this one if it is the output "
            "of an earlier rehearsal.",
        )


def _write(live: Store, fork: Store, before: OffsetSeq, end: OffsetSeq, batch_id: int, data: bytes) -> None:
    """First write the log entries that the sources need; Spark stops at an offset without them."""
    for source_id, offset in end.offsets:
        for needed in _source_entries(live, source_id, before.offset(source_id), offset):
            if fork.stat(needed) is None:
                fork.create(needed, live.read(needed))
    fork.create(layout.offset_entry(batch_id), data)
    fork.flush()


def _source_entries(live: Store, source_id: str, before: SourceOffset | None, end: SourceOffset | None) -> list[str]:
    """The entries of a file source's log between two offsets. Raises PlanError when some were compacted away."""
    first, last = _log_offset(before), _log_offset(end)
    if last is None:
        return []
    since = -1 if first is None else first
    names = {}
    for name in live.ls(f"{layout.SOURCES}/{source_id}")[0]:
        place = layout.parse(name)
        if isinstance(place, layout.SourceLogEntry) and since < place.entry_id <= last:
            names[place.entry_id, place.compact] = name
    if len({entry_id for entry_id, _ in names}) < last - since:
        raise PlanError(
            f"the log of source {source_id} does not have all entries from {since + 1} to {last} any more.",
            location=live.location,
            name=f"{layout.SOURCES}/{source_id}",
            hint="Nothing was done. Spark has compacted them: fork a newer backup, and compare fewer batches.",
        )
    return [names[key] for key in sorted(names)]


def _log_offset(offset: SourceOffset | None) -> int | None:
    """The entry of its log that the offset of a file source names; None for other sources."""
    try:
        fields = parse_json(offset.json) if offset else None
    except ValueError:
        return None
    value = fields.get("logOffset") if isinstance(fields, dict) else None
    return value if type(value) is int else None


# --- the entry --------------------------------------------------------------------------------------------------------
# Spark runs a batch that is planned and not committed again with the very offsets of its entry, whatever the source has
# by then. So an entry that ends where a batch of the live query ended makes the two have read the same.


def planned_batch(first: OffsetSeq, last: OffsetSeq) -> OffsetSeq:
    """The entry of a batch that begins where the batch of ``first`` began, and ends where that of ``last`` ended.

    For a range of one batch it is the entry of the live query itself, with its watermark, its time and its confs.

    Raises ValueError when the two are not of one plan: other sources, another log version or other confs.
    """
    if first == last:
        return first
    if first.version != last.version:
        raise ValueError(f"the offset log changed from version {first.version} to {last.version}")
    if {source_id for source_id, _ in first.offsets} != {source_id for source_id, _ in last.offsets}:
        raise ValueError("the sources of the query changed")
    if _conf(first.metadata) != _conf(last.metadata):
        raise ValueError("the confs in the offset log changed, for example by a repartition of the state")
    return OffsetSeq(first.version, first.metadata, last.offsets)


def same_end(one: OffsetSeq, other: OffsetSeq) -> bool:
    """True if two batches ended at the same offsets of the same sources."""
    return dict(one.offsets) == dict(other.offsets)


def _conf(metadata: OffsetSeqMetadata | None) -> OffsetSeqMetadata | None:
    return None if metadata is None else replace(metadata, batch_watermark_ms=0, batch_timestamp_ms=0)
