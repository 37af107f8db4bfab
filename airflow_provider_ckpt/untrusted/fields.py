"""Reading values of known types out of JSON that anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_ckpt.errors import PlanError

#: The largest whole number that a plan may hold; Spark's batch ids and Java's sizes end there.
MOST = (1 << 63) - 1
#: Characters of the longest name or location.
LONGEST_NAME = 4_096
_SHOWN = 60


class Fields:
    """The fields of one JSON object: each has to be there, with the type that is asked for, and no other.

    Args:
        what: Name of the object, for messages.
        value: The value that was read.
        names: Every field that it has.
        optional: Fields that may be missing.

    Raises:
        PlanError: It is no JSON object, or it has other fields.
    """

    def __init__(self, what: str, value: Any, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        self._what = what
        if not isinstance(value, Mapping):
            raise PlanError(f"not a plan: {what} is {shown(value)}, not a JSON object.")
        missing = [name for name in names if name not in value and name not in optional]
        unknown = [name for name in value if name not in names]
        if missing or unknown:
            problem = f"lacks {missing[0]!r}" if missing else f"has the unknown field {shown(unknown[0])}"
            raise PlanError(f"not a plan: {what} {problem}.")
        self._value = value

    def has(self, name: str) -> bool:
        """True if an optional field is there."""
        return name in self._value

    def text(self, name: str, longest: int | None = LONGEST_NAME) -> str:
        """A text, bounded unless told otherwise."""
        value = self._value[name]
        if not isinstance(value, str) or (longest is not None and len(value) > longest):
            raise self.wrong(name, "a text" if longest is None else f"a text of at most {longest} characters")
        return value

    def one_of(self, name: str, known: tuple[str, ...]) -> str:
        """One of some texts."""
        if (value := self._value[name]) not in known:
            raise self.wrong(name, f"one of {', '.join(known)}")
        return str(value)

    def number(self, name: str, least: int = 0) -> int:
        """A whole number from ``least`` to the largest that Java's ``long`` holds."""
        value = self._value[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
            raise self.wrong(name, f"a whole number from {least} to {MOST}")
        return value

    def items(self, name: str) -> list[Any]:
        """A list, also when it was made a tuple."""
        value = self._value[name]
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "a list")
        return list(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.items(name)
        if not all(isinstance(item, str) for item in value):
            raise self.wrong(name, "a list of texts")
        return tuple(value)

    def texts_by_text(self, name: str) -> dict[str, str]:
        """A JSON object from text to text."""
        value = self._value[name]
        if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
            raise self.wrong(name, "an object of texts")
        return dict(value)

    def wrong(self, name: str, wanted: str) -> PlanError:
        """The error for a field that is not what it should be."""
        return PlanError(f"not a plan: {name!r} of {self._what} is {shown(self._value[name])}, not {wanted}.")


def shown(value: Any) -> str:
    """A value for a message, cut short."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST:
        return "a number that is too large"
    text = repr(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def require_flag(name: str, value: object, more: str = "") -> bool:
    """A flag, which is True or False. Raises PlanError for all else: the text ``"False"`` would count as True."""
    if value is True or value is False:
        return value
    raise PlanError(
        f"{name} must be True or False, not {value!r:.60}.", hint=f"Nothing was done. Give True or False{more}."
    )
