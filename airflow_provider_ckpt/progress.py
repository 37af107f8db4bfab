"""How far a query has come, and whether that is far enough. Only committed batches count."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import KINDS, SourceOffset, kind_of_provider
from airflow_provider_ckpt.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest committed batch and, when it was read, its offset log entry.

    ``batch_id`` is None before the first commit.
    """

    batch_id: int | None
    offsets: OffsetSeq | None = None

    @property
    def watermark_ms(self) -> int | None:
        """Watermark that the batch ran with, epoch milliseconds; None when it is not known."""
        metadata = self.offsets.metadata if self.offsets else None
        return metadata.batch_watermark_ms if metadata else None


def source_kind(offsets: OffsetSeq, source_id: str, declared: Mapping[str, str]) -> str | None:
    """What kind of source wrote an offset: as the offset log says (version 2), else as declared, else None.

    Raises CheckpointError for a declared kind that is unknown.
    """
    info = offsets.metadata.sources.get(source_id) if offsets.metadata else None
    kind = kind_of_provider(info.provider_name) if info else None
    kind = kind or declared.get(source_id)
    if kind is not None and kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise CheckpointError(f"unknown source type {kind!r} for source {source_id}; known are {known}")
    return kind


class Target:
    """Something to wait for. Targets are values: they compare, print, and go through JSON."""

    name: ClassVar[str]
    #: Whether deciding takes the offset log entry, or the batch id is enough.
    needs_offsets: ClassVar[bool] = True

    @abstractmethod
    def reached(self, progress: Progress) -> bool:
        """Whether the committed progress is there."""

    @abstractmethod
    def explain(self, progress: Progress) -> str:
        """Where the query stands against the target, for people."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`target_from_dict` is the way back."""
        return {"target": self.name, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class BatchCommitted(Target):
    """Batch ``batch_id``, or a later one, is committed."""

    name: ClassVar[str] = "batch"
    needs_offsets: ClassVar[bool] = False

    batch_id: int

    def reached(self, progress: Progress) -> bool:
        """See :class:`Target`."""
        return progress.batch_id is not None and progress.batch_id >= self.batch_id

    def explain(self, progress: Progress) -> str:
        """See :class:`Target`."""
        return f"committed batch {_or_none(progress.batch_id)}, waiting for batch {self.batch_id}"


@dataclass(frozen=True, slots=True)
class WatermarkPassed(Target):
    """The newest committed batch ran with a watermark of at least ``watermark_ms`` (epoch milliseconds)."""

    name: ClassVar[str] = "watermark"

    watermark_ms: int

    def reached(self, progress: Progress) -> bool:
        """See :class:`Target`."""
        return progress.watermark_ms is not None and progress.watermark_ms >= self.watermark_ms

    def explain(self, progress: Progress) -> str:
        """See :class:`Target`."""
        return (
            f"committed batch {_or_none(progress.batch_id)} with watermark {_or_none(progress.watermark_ms)}, "
            f"waiting for {self.watermark_ms}"
        )


@dataclass(frozen=True, slots=True)
class OffsetsReached(Target):
    """Every source named in ``offsets`` stands at its offset or past it.

    Args:
        offsets: Offset as JSON text, by source id (``"0"`` for the first source).
        kinds: Declared kind by source id; without one an offset can only be equal, and that is refused.
    """

    name: ClassVar[str] = "offsets"

    offsets: Mapping[str, str]
    kinds: Mapping[str, str] = field(default_factory=dict)

    def reached(self, progress: Progress) -> bool:
        """See :class:`Target`. Raises CheckpointError when an offset cannot be compared."""
        return progress.offsets is not None and all(
            self._source_reached(progress.offsets, source_id, text) for source_id, text in self.offsets.items()
        )

    def _source_reached(self, offsets: OffsetSeq, source_id: str, text: str) -> bool:
        ids = [known for known, _ in offsets.offsets]
        if source_id not in ids:
            raise CheckpointError(f"the query has no source {source_id!r}; its sources are {', '.join(ids)}")
        current = offsets.offset(source_id)
        if current is None:
            return False
        kind = source_kind(offsets, source_id, self.kinds)
        if kind is None:
            raise CheckpointError(
                f"offsets of source {source_id} cannot be ordered, because its type is not known",
                hint=f"Declare it, for example {source_id}=kafka.",
            )
        try:
            return current.view(kind).has_reached(SourceOffset(text).view(kind))
        except ValueError as error:
            raise CheckpointError(f"offsets of source {source_id} cannot be ordered: {error}") from error

    def explain(self, progress: Progress) -> str:
        """See :class:`Target`."""
        current = progress.offsets.offsets if progress.offsets else ()
        stands = {source_id: offset.json if offset else "-" for source_id, offset in current}
        waits = ", ".join(
            f"source {source_id} at {stands.get(source_id, 'none')} for {text}"
            for source_id, text in self.offsets.items()
        )
        return f"committed batch {_or_none(progress.batch_id)}, waiting with {waits}"


@dataclass(frozen=True, slots=True)
class AllOf(Target):
    """Every one of several targets is reached."""

    name: ClassVar[str] = "all_of"

    targets: tuple[Target, ...]

    def reached(self, progress: Progress) -> bool:
        """See :class:`Target`."""
        return all(target.reached(progress) for target in self.targets)

    def explain(self, progress: Progress) -> str:
        """See :class:`Target`."""
        open_targets = [target for target in self.targets if not target.reached(progress)]
        return "; ".join(target.explain(progress) for target in open_targets or self.targets)

    def to_dict(self) -> dict[str, Any]:
        """See :class:`Target`."""
        return {"target": self.name, "targets": [target.to_dict() for target in self.targets]}


def target_from_dict(fields: Mapping[str, Any]) -> Target:
    """The target that :meth:`Target.to_dict` wrote. Raises CheckpointError for anything else."""
    values = dict(fields)
    name = values.pop("target", None)
    try:
        if name == AllOf.name:
            return AllOf(tuple(target_from_dict(target) for target in values["targets"]))
        return _TARGETS[str(name)](**values)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"no target: {json.dumps(dict(fields), default=str)}") from error


_TARGETS: Mapping[str, type[Target]] = {
    target.name: target for target in (BatchCommitted, WatermarkPassed, OffsetsReached)
}


def _or_none(value: int | None) -> str:
    return "none" if value is None else str(value)


def parse_time_ms(text: str) -> int:
    """A time as epoch milliseconds: ISO 8601 (UTC when it names no zone) or epoch milliseconds as a number.

    Raises ValueError.
    """
    if text.strip().lstrip("-").isdecimal():
        return int(text)
    import pendulum

    try:
        parsed = pendulum.parse(text, exact=True)
    except ValueError as error:
        raise ValueError(f"no time: {text!r}") from error
    if isinstance(parsed, pendulum.Date) and not isinstance(parsed, pendulum.DateTime):
        parsed = pendulum.datetime(parsed.year, parsed.month, parsed.day)
    if not isinstance(parsed, pendulum.DateTime):
        raise ValueError(f"{text!r} is no point in time; give a date, or a date and a time")
    return int(parsed.timestamp() * 1000)


def advance(start: OffsetSeq | None, end: OffsetSeq, declared: Mapping[str, str]) -> list[dict[str, Any]]:
    """What each source read after one entry (exclusive) up to another (inclusive); JSON-ready, one item a source.

    ``total`` and ``lanes`` count ``unit``; where nothing can be counted ``total`` is None and ``problem`` says why.
    """
    return [_source_advance(start, end, source_id, declared) for source_id, _ in end.offsets]


def _source_advance(
    start: OffsetSeq | None, end: OffsetSeq, source_id: str, declared: Mapping[str, str]
) -> dict[str, Any]:
    before, after = start.offset(source_id) if start else None, end.offset(source_id)
    kind = source_kind(end, source_id, declared)
    item: dict[str, Any] = {
        "source": source_id,
        "type": kind,
        "start": before.json if before else None,
        "end": after.json if after else None,
        "unit": KINDS[kind].unit if kind else None,
        "lanes": {},
        "total": None,
        "problem": None,
    }
    if before == after:
        return {**item, "total": 0}
    if kind is None or after is None:
        return {**item, "problem": "the type of the source is not declared" if after else "the source has no offset"}
    try:
        lanes = after.view(kind).minus(before.view(kind) if before else None)
    except ValueError as error:
        return {**item, "problem": str(error)}
    return {**item, "lanes": lanes, "total": sum(lanes.values())}
