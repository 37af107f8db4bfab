"""What an argument of a task says, as a template may have rendered it."""

from __future__ import annotations

from collections.abc import Mapping

#: Texts that a template makes of what was not given.
_NOTHING = ("", "None", "{}")


def is_nothing(value: object) -> bool:
    """True for an argument that says nothing. A list says something, an empty one too: of a query without state."""
    if isinstance(value, str):
        return value in _NOTHING
    return value is None or (isinstance(value, tuple | Mapping) and len(value) == 0)


def is_left_out(value: object) -> bool:
    """True for an argument that a DAG does not give; a text may be a template."""
    return not isinstance(value, str) and is_nothing(value)
