"""The functions of the package through which a value goes during a call: what a reader of the code has to follow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

#: The most functions and methods on the way of one value.
MOST = 15


def given(value: object, call: Callable[[], object]) -> list[str]:
    """Those that get a value as an argument, in the order of the first time."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if event == "call" and any(frame.f_locals.get(name) is value for name in arguments):
            found.setdefault(_name(frame))

    _during(call, note)
    return list(found)


def returning(is_it: Callable[[Any], bool], call: Callable[[], object]) -> list[str]:
    """Those that return a value in any of its forms, in the order of the first time."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, result: object) -> None:
        if event == "return" and is_it(result):
            found.setdefault(_name(frame))

    _during(call, note)
    return list(found)


def _during(call: Callable[[], object], note: Callable[[FrameType, str, Any], None]) -> None:
    def ours(frame: FrameType, event: str, result: Any) -> None:
        if frame.f_globals.get("__name__", "").startswith("airflow_provider_ckpt."):
            note(frame, event, result)

    sys.setprofile(ours)
    try:
        call()
    finally:
        sys.setprofile(None)


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals['__name__'].partition('.')[2]}.{frame.f_code.co_qualname}"
