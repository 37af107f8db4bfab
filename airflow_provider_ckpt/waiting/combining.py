"""Several targets as one, and the way back from JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from dataclasses import fields as dataclass_fields
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Self

from airflow_provider_ckpt.bounded_json import parse_json
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fields import MOST, shown
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms
from airflow_provider_ckpt.waiting.positions import (
    CaughtUp,
    FilesRead,
    FilesWritten,
    FrozenEnd,
    OffsetsReached,
    SnapshotReached,
)
from airflow_provider_ckpt.waiting.targets import (
    BatchCommitted,
    Idle,
    Needs,
    NextBatch,
    SourceEnds,
    Stalled,
    Target,
    WatermarkPassed,
)


@dataclass(frozen=True, slots=True)
class _Several(Target):
    """What :class:`AllOf` and :class:`AnyOf` have in common."""

    targets: tuple[Target, ...]

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """See :class:`Target`."""
        return reduce(or_, (target.needs for target in self.targets), Needs())

    @property
    def asks_ends(self) -> bool:  # type: ignore[override]
        """See :class:`Target`."""
        return any(target.asks_ends for target in self.targets)

    @property
    def asks_ends_again(self) -> bool:  # type: ignore[override]
        """See :class:`Target`."""
        return any(target.asks_ends_again for target in self.targets)

    def met(self, progress: Progress) -> tuple[Target, ...]:
        """See :class:`Target`."""
        return tuple(met for target in self.targets for met in target.met(progress))

    def _doubts(self, progress: Progress) -> Iterable[str]:
        return (doubt for target in self.targets for doubt in target.doubts(progress))

    def begun(self, now_ms: int) -> Target:
        """See :class:`Target`."""
        return self._each(lambda target: target.begun(now_ms))

    def frozen(self, ends: SourceEnds, progress: Progress) -> Target:
        """See :class:`Target`."""
        return self._each(lambda target: target.frozen(ends, progress))

    def at_look(self, ends: SourceEnds, progress: Progress) -> Target:
        """See :class:`Target`."""
        return self._each(lambda target: target.at_look(ends, progress))

    def _each(self, change: Callable[[Target], Target]) -> Self:
        return type(self)(tuple(map(change, self.targets)))

    def to_dict(self) -> dict[str, Any]:
        """See :class:`Target`."""
        return {"target": self.name, "targets": [target.to_dict() for target in self.targets]}


@dataclass(frozen=True, slots=True)
class AllOf(_Several):
    """Every one of several targets is reached."""

    name: ClassVar[str] = "all_of"

    def reached(self, progress: Progress) -> bool:
        """See :class:`Target`."""
        return all(target.reached(progress) for target in self.targets)

    def is_hopeless(self, progress: Progress) -> bool:
        """As soon as one of them is."""
        return any(target.is_hopeless(progress) for target in self.targets)

    def explain(self, progress: Progress) -> str:
        """See :class:`Target`."""
        open_targets = [target for target in self.targets if not target.reached(progress)]
        return "; ".join(target.explain(progress) for target in open_targets or self.targets)

    def remaining(self, progress: Progress) -> float | None:
        """Known when it is nothing; units of several targets do not add up."""
        return 0.0 if self.reached(progress) else None

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """That of the last one."""
        etas = [target.eta_ms(earlier, latest) for target in self.targets]
        known = [eta for eta in etas if eta is not None]
        return max(known, default=None) if len(known) == len(etas) else None


@dataclass(frozen=True, slots=True)
class AnyOf(_Several):
    """One of several targets is reached; the event says which."""

    name: ClassVar[str] = "any_of"

    def reached(self, progress: Progress) -> bool:
        """See :class:`Target`."""
        return any(target.reached(progress) for target in self.targets)

    def is_hopeless(self, progress: Progress) -> bool:
        """When all of them are."""
        return not self.reached(progress) and all(target.is_hopeless(progress) for target in self.targets)

    def explain(self, progress: Progress) -> str:
        """See :class:`Target`."""
        reached = self.met(progress)
        return "; or ".join(target.explain(progress) for target in reached or self.targets)

    def remaining(self, progress: Progress) -> float | None:
        """See :class:`AllOf`."""
        return 0.0 if self.reached(progress) else None

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """That of the first one."""
        etas = (target.eta_ms(earlier, latest) for target in self.targets)
        return min((eta for eta in etas if eta is not None), default=None)


def all_of(*targets: Target) -> Target:
    """Every one of these; of one target, that one. Raises CheckpointError for none."""
    return _one_or(AllOf, targets)


def any_of(*targets: Target) -> Target:
    """One of these; of one target, that one. Raises CheckpointError for none."""
    return _one_or(AnyOf, targets)


def _one_or(several: type[AllOf] | type[AnyOf], targets: tuple[Target, ...]) -> Target:
    if not targets:
        raise CheckpointError("nothing to wait for", hint="Give at least one target, such as a batch or a watermark.")
    return targets[0] if len(targets) == 1 else several(targets)


_SEVERAL: Mapping[str, type[AllOf] | type[AnyOf]] = {AllOf.name: AllOf, AnyOf.name: AnyOf}
_TARGETS: Mapping[str, type[Target]] = {
    target.name: target
    for target in (
        BatchCommitted,
        NextBatch,
        WatermarkPassed,
        OffsetsReached,
        SnapshotReached,
        FilesWritten,
        FilesRead,
        FrozenEnd,
        CaughtUp,
        Idle,
        Stalled,
    )
}
#: What a target lacks as long as it means *now*.
_NOW = {NextBatch.name: "after_ms", FrozenEnd.name: "at_ms"}
_DURATIONS = frozenset({"for_ms", "lag_ms"})


def target_from_dict(fields: Mapping[str, Any]) -> Target:
    """The target that :meth:`Target.to_dict` wrote, or that a person or a template spelled the same way.

    Times (``…_ms``) may also be datetimes or ISO 8601, durations (``for_ms``, ``lag_ms``) ISO 8601 such as ``PT5M``;
    numbers may be text. Raises CheckpointError for anything else.
    """
    values = dict(fields)
    name = values.pop("target", None)
    try:
        if isinstance(name, str) and name in _SEVERAL:
            return _SEVERAL[name](_parts(values))
        return _TARGETS[_known(name)](**_arguments(name, values))
    except (ValueError, OverflowError) as error:
        said = json.dumps(dict(fields), default=str)
        known = ", ".join(sorted({*_TARGETS, *_SEVERAL}))
        raise CheckpointError(f"no target: {said} ({error})", hint=f"Targets: {known}.") from error


def _known(name: Any) -> str:
    if not isinstance(name, str) or name not in _TARGETS:
        raise ValueError(f"{shown(name)} is the name of none")
    return name


def _parts(values: Mapping[str, Any]) -> tuple[Target, ...]:
    """The targets that a target is made of. Raises ValueError for none: nothing would have to be reached."""
    parts = values.get("targets")
    if values.keys() != {"targets"} or not isinstance(parts, list | tuple) or not parts:
        raise ValueError("targets has to be a list of at least one, and the only key beside target")
    if not all(isinstance(part, Mapping) for part in parts):
        raise ValueError("each of the targets has to be an object")
    return tuple(map(target_from_dict, parts))


def _arguments(name: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a target, each of its type. Raises ValueError for one that is missing, unknown or wrong."""
    known = {argument.name: argument for argument in dataclass_fields(_TARGETS[_known(name)])}  # type: ignore[arg-type]
    needed = {key for key, item in known.items() if item.default is MISSING and item.default_factory is MISSING}
    problems = [f"{key} is missing" for key in sorted(needed - values.keys())]
    problems += [f"{key} is no key of {name}" for key in sorted(map(str, values.keys() - known.keys()))]
    problems += [f"{key} has no value" for key in sorted(needed & values.keys()) if values[key] is None]
    if problems:
        raise ValueError(problems[0])
    return {key: _value(key, value) for key, value in values.items()}


def _value(key: str, value: Any) -> Any:
    if value is None or key in ("source_id", "newest"):
        return value
    if key in _DURATIONS:
        return _whole(key, parse_duration_ms(value) if isinstance(value, str) else value)
    if key.endswith("_ms"):
        return _whole(key, parse_time_ms(value) if isinstance(value, str | datetime) else value)
    if key == "before" and isinstance(value, list | tuple):
        return tuple(_whole(key, item) for item in value)
    if key in ("offsets", "kinds"):
        parsed = parse_json(value) if isinstance(value, str) else value
        if not isinstance(parsed, Mapping):
            raise ValueError(f"{key} is {shown(parsed)}, not an object by source id")
        return dict(parsed) if key == "kinds" else {str(at): _offset_text(offset) for at, offset in parsed.items()}
    return _whole(key, int(value) if isinstance(value, str) and value.strip().isdecimal() else value)


def _whole(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -MOST <= value <= MOST:
        raise ValueError(f"{key} is {shown(value)}, not a whole number that Spark can hold")
    if key == "batch_id" and value < 0:
        raise ValueError(f"{key} is {value}, and the first batch is 0")
    return value


def _offset_text(offset: Any) -> str:
    return offset if isinstance(offset, str) else json.dumps(offset, separators=(",", ":"))


def means_now(target: Target) -> bool:
    """Whether a target, or a part of it, means the time at which its wait begins."""
    return says_now(target.to_dict())


def says_now(fields: Mapping[str, Any]) -> bool:
    """:func:`means_now` of a target as a mapping, in which templates may still have to be rendered."""
    if fields.get("target") in _SEVERAL:
        return any(map(says_now, fields.get("targets", ())))
    lacks = _NOW.get(str(fields.get("target")))
    return lacks is not None and fields.get(lacks) is None
