"""Several conditions as one, and the way back from JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from dataclasses import fields as dataclass_fields
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Self

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import MOST, shown
from airflow_provider_ckpt.waiting.conditions import (
    BatchCommitted,
    Condition,
    Idle,
    Needs,
    NextBatch,
    SourceEnds,
    Stalled,
    WatermarkPassed,
)
from airflow_provider_ckpt.waiting.positions import (
    FilesRead,
    FilesWritten,
    LagAtMost,
    OffsetsReached,
    SnapshotReached,
    SourceEndReached,
)

#: A whole number as text: ASCII digits, and no more of them than Spark can hold.
_DIGITS = re.compile(r"\s*[0-9]{1,19}\s*")


@dataclass(frozen=True, slots=True)
class _Several(Condition):
    """Common base of :class:`AllOf` and :class:`AnyOf`."""

    conditions: tuple[Condition, ...]

    @property
    def needs(self) -> Needs:  # type: ignore[override]  # as in Idle.needs
        """All needs of the conditions together."""
        return reduce(or_, (condition.needs for condition in self.conditions), Needs())

    @property
    def asks_ends(self) -> bool:  # type: ignore[override]  # as in Idle.needs
        """True if one of the conditions asks for the ends of the sources."""
        return any(condition.asks_ends for condition in self.conditions)

    def met(self, progress: Progress) -> tuple[Condition, ...]:
        """Reached conditions among those that this one is made of."""
        return tuple(met for condition in self.conditions for met in condition.met(progress))

    def _doubts(self, progress: Progress) -> Iterable[str]:
        return (doubt for condition in self.conditions for doubt in condition.doubts(progress))

    def resolved(self, now_ms: int) -> Condition:
        """The same combination with each condition resolved at this time."""
        return self._each(lambda condition: condition.resolved(now_ms))

    def bound(self, ends: SourceEnds, progress: Progress) -> Condition:
        """The same combination with each condition bound to the ends of the sources."""
        return self._each(lambda condition: condition.bound(ends, progress))

    def at_poll(self, ends: SourceEnds, progress: Progress) -> Condition:
        """The same combination with each condition as this poll gives it."""
        return self._each(lambda condition: condition.at_poll(ends, progress))

    def _each(self, change: Callable[[Condition], Condition]) -> Self:
        return type(self)(tuple(map(change, self.conditions)))

    def to_dict(self) -> dict[str, Any]:
        """The combination as a JSON object."""
        return {"condition": self.name, "conditions": [condition.to_dict() for condition in self.conditions]}


@dataclass(frozen=True, slots=True)
class AllOf(_Several):
    """Every one of several conditions is reached."""

    name: ClassVar[str] = "all_of"

    def reached(self, progress: Progress) -> bool:
        """True if every condition is reached."""
        return all(condition.reached(progress) for condition in self.conditions)

    def is_hopeless(self, progress: Progress) -> bool:
        """True if one of them is."""
        return any(condition.is_hopeless(progress) for condition in self.conditions)

    def explain(self, progress: Progress) -> str:
        """Explain the conditions that are not reached yet, or all of them."""
        unmet = [condition for condition in self.conditions if not condition.reached(progress)]
        return "; ".join(condition.explain(progress) for condition in unmet or self.conditions)

    def remaining(self, progress: Progress) -> float | None:
        """0 once reached, else unknown: units of several conditions do not add up."""
        return 0.0 if self.reached(progress) else None

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """Time of the last one."""
        etas = [condition.eta_ms(earlier, latest) for condition in self.conditions]
        known = [eta for eta in etas if eta is not None]
        return max(known, default=None) if len(known) == len(etas) else None


@dataclass(frozen=True, slots=True)
class AnyOf(_Several):
    """One of several conditions is reached; the event says which."""

    name: ClassVar[str] = "any_of"

    def reached(self, progress: Progress) -> bool:
        """True if one of the conditions is reached."""
        return any(condition.reached(progress) for condition in self.conditions)

    def is_hopeless(self, progress: Progress) -> bool:
        """True if all of them are."""
        return not self.reached(progress) and all(condition.is_hopeless(progress) for condition in self.conditions)

    def explain(self, progress: Progress) -> str:
        """Explain the conditions that are reached, or all of them."""
        reached = self.met(progress)
        return "; or ".join(condition.explain(progress) for condition in reached or self.conditions)

    def remaining(self, progress: Progress) -> float | None:
        """0 once reached; None before, because nobody knows which condition comes first."""
        return 0.0 if self.reached(progress) else None

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """Time of the first one."""
        etas = (condition.eta_ms(earlier, latest) for condition in self.conditions)
        return min((eta for eta in etas if eta is not None), default=None)


def all_of(*conditions: Condition) -> Condition:
    """The condition that all of these are met; a single one is returned as it is. Raises CheckpointError for none."""
    return _one_or(AllOf, conditions)


def any_of(*conditions: Condition) -> Condition:
    """One of these; of one condition, that one. Raises CheckpointError for none."""
    return _one_or(AnyOf, conditions)


def _one_or(several: type[AllOf] | type[AnyOf], conditions: tuple[Condition, ...]) -> Condition:
    if not conditions:
        raise CheckpointError(
            "no condition is given", hint="Give at least one condition, such as a batch or a watermark."
        )
    return conditions[0] if len(conditions) == 1 else several(conditions)


_SEVERAL: Mapping[str, type[AllOf] | type[AnyOf]] = {AllOf.name: AllOf, AnyOf.name: AnyOf}
_CONDITIONS: Mapping[str, type[Condition]] = {
    condition.name: condition
    for condition in (
        BatchCommitted,
        NextBatch,
        WatermarkPassed,
        OffsetsReached,
        SnapshotReached,
        FilesWritten,
        FilesRead,
        SourceEndReached,
        LagAtMost,
        Idle,
        Stalled,
    )
}
#: What a condition lacks as long as it is relative.
_RELATIVE = {NextBatch.name: "after_ms", SourceEndReached.name: "at_ms"}
_DURATIONS = frozenset({"for_ms", "lag_ms"})
#: Keys and names that waits recorded by earlier versions have.
_EARLIER_KEYS = {"target": "condition", "targets": "conditions", "kinds": "source_types"}
_EARLIER_NAMES = {"frozen_end": SourceEndReached.name, "caught_up": LagAtMost.name}


def condition_from_dict(fields: Mapping[str, Any]) -> Condition:
    """The condition that :meth:`Condition.to_dict` wrote, or that a person or a template spelled the same way.

    Times (``…_ms``) may also be datetimes or ISO 8601, durations (``for_ms``, ``lag_ms``) ISO 8601 such as ``PT5M``;
    numbers may be text. Raises CheckpointError for anything else.
    """
    if not isinstance(fields, Mapping):
        raise CheckpointError(f"this is not a condition: {shown(fields)} is not an object with the key condition")
    values = _renamed(fields)
    name = values.pop("condition", None)
    try:
        if isinstance(name, str) and name in _SEVERAL:
            return _SEVERAL[name](_parts(values))
        return _CONDITIONS[_known(name)](**_arguments(name, values))
    except (ValueError, OverflowError) as error:
        said = json.dumps(dict(fields), default=str)
        known = ", ".join(sorted({*_CONDITIONS, *_SEVERAL}))
        raise CheckpointError(f"this is not a condition: {said} ({error})", hint=f"Conditions: {known}.") from error


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a condition, those that an earlier version wrote under their names of today."""
    values = {_EARLIER_KEYS.get(key, key): value for key, value in fields.items()}
    name = values.get("condition")
    return {**values, "condition": _EARLIER_NAMES.get(name, name)} if isinstance(name, str) else values


def _known(name: Any) -> str:
    if not isinstance(name, str) or name not in _CONDITIONS:
        raise ValueError(f"{shown(name)} is not the name of a condition")
    return name


def _parts(values: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions that a condition is made of. Raises ValueError for none: nothing would have to be reached."""
    parts = values.get("conditions")
    if values.keys() != {"conditions"} or not isinstance(parts, list | tuple) or not parts:
        raise ValueError(
            "conditions must be a list with at least one element, and no key beside condition and conditions is allowed"
        )
    if not all(isinstance(part, Mapping) for part in parts):
        raise ValueError("each of the conditions must be an object")
    return tuple(map(condition_from_dict, parts))


def _arguments(name: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a condition, each of its type. Raises ValueError for one that is missing, unknown or wrong."""
    known = {argument.name: argument for argument in dataclass_fields(_CONDITIONS[_known(name)])}  # type: ignore[arg-type]  # each is a dataclass, the base is not
    needed = {key for key, item in known.items() if item.default is MISSING and item.default_factory is MISSING}
    problems = [f"{key} is missing" for key in sorted(needed - values.keys())]
    problems += [f"{key} is not a key of {name}" for key in sorted(map(str, values.keys() - known.keys()))]
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
    if key in ("offsets", "source_types"):
        parsed = parse_json(value) if isinstance(value, str) else value
        if not isinstance(parsed, Mapping):
            raise ValueError(f"{key} is {shown(parsed)}, not an object by source id")
        return (
            dict(parsed) if key == "source_types" else {str(at): _offset_text(offset) for at, offset in parsed.items()}
        )
    return _whole(key, int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value)


def _whole(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -MOST <= value <= MOST:
        raise ValueError(f"{key} is {shown(value)}, not a whole number that Spark can hold")
    if key == "batch_id" and value < 0:
        raise ValueError(f"{key} is {value}, but the first batch is 0")
    return value


def _offset_text(offset: Any) -> str:
    return offset if isinstance(offset, str) else json.dumps(offset, separators=(",", ":"))


def is_relative(fields: Mapping[str, Any]) -> bool:
    """True if a condition as a mapping, or a part of it, depends on the time at which its wait begins.

    Templates in it need not be rendered yet.
    """
    values = _renamed(fields)
    if values.get("condition") in _SEVERAL:
        return any(map(is_relative, values.get("conditions", ())))
    lacks = _RELATIVE.get(str(values.get("condition")))
    return lacks is not None and values.get(lacks) is None
