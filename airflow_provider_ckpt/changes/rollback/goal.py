"""Where a rollback goes to: a batch, or what a person knows instead of its number.

A target admits a batch that is not past it; a rollback goes to the newest committed batch that its target admits.

* A **timestamp** admits batches that began at or before it (``batchTimestampMs``, the processing time at which Spark
  planned the batch). Such a batch may have ended later.
* A **watermark** admits batches that ran with that watermark or a lower one (``batchWatermarkMs`` of the offset log).
  State is evicted and late rows are dropped by that watermark, so up to such a batch nothing that is later than the
  target was final. The commit log's ``nextBatchWatermarkMs`` is of a batch that had still to run.
* **Offsets** admit batches that did not read past them, in any source and partition that is named.

A **backup** is a target of another kind: it names its batch, and has its files when Spark has purged them. So is a
**bookmark**, which was taken before a deploy: it means the batch that was the newest committed one then, with the very
offsets that it had.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from airflow_provider_ckpt.checkpoint.progress import advance, source_kind
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.restart.bookmark import Bookmark, read_bookmark
from airflow_provider_ckpt.times import parse_time_ms, time_text
from airflow_provider_ckpt.untrusted.bounded_json import parse_json


class RollbackTarget:
    """Where to go back to."""

    @abstractmethod
    def admits(self, batch_id: int, entry: OffsetSeq, later: OffsetSeq | None = None) -> bool:
        """True if a batch, with its offset log entry and that of the batch right after it, is not past the target."""

    @abstractmethod
    def describe(self) -> str:
        """Property of a batch that is admitted, to go after ``a batch that``."""


@dataclass(frozen=True, slots=True)
class ToBatch(RollbackTarget):
    """The batch of that id, and no other. Raises PlanError for what is no id."""

    batch_id: int

    def __post_init__(self) -> None:
        if type(self.batch_id) is not int or self.batch_id < 0:
            raise PlanError(
                f"the target of a rollback is the id of a batch, a number from 0 on, not {self.batch_id!r:.60}.",
                hint="Nothing was done.",
            )

    def admits(self, batch_id: int, entry: OffsetSeq, later: OffsetSeq | None = None) -> bool:
        """True if the batch ran with at most the watermark."""
        return batch_id <= self.batch_id

    def describe(self) -> str:
        """Name the offsets."""
        return f"is {self.batch_id} or older"


@dataclass(frozen=True, slots=True)
class ToTimestamp(RollbackTarget):
    """The newest committed batch that began at or before a time, epoch milliseconds."""

    timestamp_ms: int

    def admits(self, batch_id: int, entry: OffsetSeq, later: OffsetSeq | None = None) -> bool:
        """True if the batch ran with at most the watermark."""
        return entry.metadata is not None and 0 < entry.metadata.batch_timestamp_ms <= self.timestamp_ms

    def describe(self) -> str:
        """Name the offsets."""
        return f"began at or before {time_text(self.timestamp_ms)}"


@dataclass(frozen=True, slots=True)
class ToWatermark(RollbackTarget):
    """The newest committed batch that ran with a watermark of at most ``watermark_ms``, epoch milliseconds."""

    watermark_ms: int

    def admits(self, batch_id: int, entry: OffsetSeq, later: OffsetSeq | None = None) -> bool:
        """True if the batch ran with at most the watermark."""
        return entry.metadata is not None and entry.metadata.batch_watermark_ms <= self.watermark_ms

    def describe(self) -> str:
        """Name the offsets."""
        return f"ran with a watermark of at most {time_text(self.watermark_ms)}"


@dataclass(frozen=True, slots=True)
class ToOffsets(RollbackTarget):
    """The newest committed batch in which no source is past its offset.

    Args:
        offsets: Offset as JSON text, by source id (``"0"`` for the first source). Sources and partitions that are not
            named may have any offset.
        source_types: Declared type by source id.
    """

    offsets: Mapping[str, str]
    source_types: Mapping[str, str] = field(default_factory=dict)

    def admits(self, batch_id: int, entry: OffsetSeq, later: OffsetSeq | None = None) -> bool:
        """True if the batch is not past the offsets. Raises CheckpointError when offsets cannot be compared."""
        return not any(self._is_past(entry, later, source_id, text) for source_id, text in self.offsets.items())

    def _is_past(self, entry: OffsetSeq, later: OffsetSeq | None, source_id: str, text: str) -> bool:
        ids = [known for known, _ in entry.offsets]
        if source_id not in ids:
            raise CheckpointError(f"the query has no source {source_id!r}; its sources are {', '.join(ids)}")
        kind = source_kind(entry, source_id, self.source_types)
        if kind is None:
            raise CheckpointError(
                f"offsets of source {source_id} cannot be ordered, because its type is not known",
                hint=f"Declare the type, for example {source_id}=kafka.",
            )
        limit = SourceOffset(text).view(kind)
        if limit.kind.marks == "begin" and later is None:
            return True  # where the batch ended is not known
        ended = later if limit.kind.marks == "begin" and later is not None else entry
        current = ended.offset(source_id)
        try:
            return current is not None and current.view(kind).has_passed(limit)
        except ValueError as error:
            raise CheckpointError(f"offsets of source {source_id} cannot be ordered: {error}") from error

    def describe(self) -> str:
        """Name the offsets."""
        wanted = ", ".join(f"source {source_id} {text}" for source_id, text in self.offsets.items())
        return f"has not read beyond {wanted}"


@dataclass(frozen=True, slots=True)
class ToBackup:
    """The batch that a backup was taken at.

    Args:
        root: Location of the backup root.
        backup_id: The backup, or ``latest``.
    """

    root: str
    backup_id: str


@dataclass(frozen=True, slots=True)
class BeforeDeploy:
    """Where the query was when its bookmark was taken: before a deploy that is to be taken back."""

    bookmark: Bookmark

    @property
    def note(self) -> str:
        """How the bookmark led to its batch; a sentence for people."""
        found = f"Batch {self.bookmark.batch_id} was the newest committed one when the bookmark was taken."
        if self.bookmark.in_flight is None:
            return found
        return f"{found} Batch {self.bookmark.in_flight} was in flight then; it is dropped, and planned anew."


#: Where a rollback can go.
RollbackGoal = RollbackTarget | ToBackup | BeforeDeploy


def choose(
    target: RollbackTarget, newest_first: Iterable[tuple[int, OffsetSeq]], planned: tuple[int, OffsetSeq] | None = None
) -> int | None:
    """The newest batch that a target admits, or None; entries are read only as far as that takes.

    ``planned`` is the batch in flight, when there is one: it says where the batch before it ended, for some sources.
    """
    after = planned
    for batch_id, entry in newest_first:
        later = after[1] if after is not None and after[0] == batch_id + 1 else None
        if target.admits(batch_id, entry, later):
            return batch_id
        after = batch_id, entry
    return None


def require_watermark(target: RollbackTarget, watermarks: Iterable[int]) -> None:
    """Raise PlanError when a watermark is asked for and the query has none; ``watermarks`` are those it shows now."""
    if isinstance(target, ToWatermark) and not any(watermarks):
        raise PlanError(
            "the query has no watermark, so no batch can be found by a watermark.",
            hint="Give a batch or a time instead: --to-batch or --to-timestamp.",
        )


def notes_of(
    target: RollbackTarget, batch_id: int, entry: OffsetSeq, newest: OffsetSeq | None, source_types: Mapping[str, str]
) -> tuple[str, ...]:
    """How a target led to a batch, and what is read again after a rollback there; sentences for people."""
    notes = [f"Batch {batch_id} {facts_of(entry)}."]
    if not isinstance(target, ToBatch):
        notes.insert(0, f"Batch {batch_id} is the newest committed one that {target.describe()}.")
    if newest is not None and newest != entry:
        notes += _read_again(entry, newest, source_types)
    return tuple(notes)


def facts_of(entry: OffsetSeq) -> str:
    """Begin of a batch, and its watermark."""
    if entry.metadata is None:
        return "began at a time that its entry does not say"
    watermark = entry.metadata.batch_watermark_ms
    began = f"began at {time_text(entry.metadata.batch_timestamp_ms)}"
    return f"{began} with the watermark {time_text(watermark)}" if watermark else f"{began} without a watermark"


def committed_later(target: RollbackTarget, batch_id: int, view: CheckpointView) -> tuple[str, ...]:
    """Note that the batch was in flight at the time asked for: it began before and was committed after, by its file."""
    stored = view.objects.get(layout.commit_entry(batch_id))
    if not isinstance(target, ToTimestamp) or stored is None or stored.modified_ms is None:
        return ()
    if stored.modified_ms <= target.timestamp_ms:
        return ()
    before = view.predecessor(batch_id)
    other = (
        f" If its rows are not to stay, go back to batch {before}: --to-batch {before}." if before is not None else ""
    )
    return (
        f"Batch {batch_id}, which is kept, began before {time_text(target.timestamp_ms)} and was committed after it, "
        f"at {time_text(stored.modified_ms)} by the time of commits/{batch_id}, which a copy may have "
        f"changed: a deploy between the two may have written its rows.{other}",
    )


def _read_again(entry: OffsetSeq, newest: OffsetSeq, source_types: Mapping[str, str]) -> Iterator[str]:
    for item in advance(entry, newest, source_types):
        source = f"Source {item.source_id}" + (f" ({item.source_type})" if item.source_type else "")
        if item.total == 0:
            yield f"Nothing of {source[0].lower()}{source[1:]} is read again."
        elif item.total is not None:
            yield f"{source} is read again: {item.total:,} {item.unit or ''}".rstrip() + "."
        else:
            begin = "its beginning" if item.start_offset is None else item.start_offset
            between = f"from {begin} to {item.end_offset}"
            yield f"{source} is read again {between}; the amount is not known: {item.problem}."


def parse_target(
    *,
    batch: int | str | None = None,
    timestamp: int | str | None = None,
    watermark: int | str | None = None,
    offsets: str | Mapping[str, Any] | None = None,
    backup: str | None = None,
    before_deploy: Bookmark | str | Mapping[str, Any] | None = None,
    source_types: Mapping[str, str] | None = None,
    called: Mapping[str, str] = MappingProxyType({}),
) -> RollbackGoal:
    """The one target that was given, from what a person or a template wrote; empty text says nothing.

    Args:
        batch: A batch id.
        timestamp: ISO 8601 (UTC when it names no zone), or epoch milliseconds.
        watermark: The same.
        offsets: An offset by source id, such as ``{"0": {"topic": {"0": 5}}}``; JSON when it is text.
        backup: ``ROOT/ID``.
        before_deploy: The bookmark that a gate has taken before the deploy; JSON when it is text.
        source_types: Declared type by source id, to compare offsets.
        called: Names of these arguments at the caller, for the error.

    Raises:
        ValueError: None or several are given, or one makes no sense.
        CheckpointError: ``before_deploy`` is no bookmark.
    """
    given: dict[str, Any] = {"batch": batch, "timestamp": timestamp, "watermark": watermark, "offsets": offsets}
    given |= {"backup": backup, "before_deploy": before_deploy}
    named = [name for name, value in given.items() if value is not None and value != ""]
    if len(named) != 1:
        known, found = ([called.get(name, name) for name in names] for names in (given, named))
        raise ValueError(
            f"give exactly one of {', '.join(known)}, which say where to roll back to; given: "
            f"{' and '.join(found) or 'none'}"
        )
    match named[0]:
        case "batch":
            return ToBatch(_batch_id(str(batch)))
        case "timestamp":
            return ToTimestamp(parse_time_ms(str(timestamp)))
        case "watermark":
            return ToWatermark(parse_time_ms(str(watermark)))
        case "backup":
            return _to_backup(str(backup))
        case "before_deploy":
            return BeforeDeploy(before_deploy if isinstance(before_deploy, Bookmark) else read_bookmark(before_deploy))
    return ToOffsets(_offsets(offsets), source_types or {})


def _to_backup(text: str) -> ToBackup:
    root, _, backup_id = text.rstrip("/").rpartition("/")
    if not root or not backup_id:
        raise ValueError(f"{text!r} is not a backup; give it as ROOT/ID")
    return ToBackup(root, backup_id)


def _batch_id(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,19}\s*", text):
        raise ValueError(f"{text!r:.60} is not a batch id")
    return int(text)


def _offsets(given: Any) -> dict[str, str]:
    wanted = parse_json(given) if isinstance(given, str) else given
    if not isinstance(wanted, Mapping) or not wanted:
        raise ValueError('offsets must be a JSON object by source id, such as {"0": {"topic": {"0": 5}}}')
    return {str(key): json.dumps(value, separators=(",", ":")) for key, value in wanted.items()}
