"""The offset of a Hudi source: an instant of its timeline (Hudi's ``HoodieSourceOffset``)."""

from __future__ import annotations

from typing import Any

#: Its one field: the time at which a commit was begun, and since Hudi 1.0 mostly that at which it was completed.
_SCALES = {"commitTime": "commit time", "offsetCommitTime": "completion time"}
#: ``yyyyMMddHHmmssSSS``; older releases of Hudi left out the milliseconds.
_INSTANT_DIGITS = 17


def fits(value: Any) -> bool:
    """True if parsed JSON is such an offset."""
    if not isinstance(value, dict) or len(value.keys() & _SCALES.keys()) != 1:
        return False
    _, instant = _field(value)
    return isinstance(instant, str) and instant.isascii() and instant.isdigit() and len(instant) <= _INSTANT_DIGITS


def positions(value: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The instant, as a number of 17 digits: instants are texts that compare."""
    return {"table": (int(_field(value)[1].ljust(_INSTANT_DIGITS, "0")),)}


def scales(value: dict[str, Any]) -> dict[str, str]:
    """Say which time of a commit the offset holds."""
    return {"table": _SCALES[_field(value)[0]]}


def _field(value: dict[str, Any]) -> tuple[str, Any]:
    return next((key, value[key]) for key in _SCALES if key in value)
