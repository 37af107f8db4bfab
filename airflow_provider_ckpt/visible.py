"""Text of others as people may see it: nothing in it moves a cursor, hides, reverses, or speaks to a CI system."""

from __future__ import annotations

import re
from typing import Any

_LINE_BREAKS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
#: Control characters (C0 without tab, DEL, C1), directions, invisible characters that reorder or hide.
_UNSEEN = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
_HIDDEN = re.compile(f"[{_LINE_BREAKS}{_UNSEEN}]")
_HIDDEN_IN_LINES = re.compile(f"[{_LINE_BREAKS}{_UNSEEN}]".replace("\n", "", 1))
_SURROGATES = re.compile("[\ud800-\udfff]")
#: Commands of GitHub and Azure: ``::error::`` at the start of a line, ``##[error]`` and ``##vso[`` anywhere.
_COMMAND = re.compile(r"(^\s*(?=::)|##(?:vso)?(?=\[))", re.MULTILINE | re.IGNORECASE)


def visible(text: str) -> str:
    r"""A text in one line, every hidden character and line break spelled out, as ``\x1b`` or ``\u202e``."""
    return _of_no_command(_HIDDEN.sub(_spelled, _SURROGATES.sub("\ufffd", text)))


def visible_lines(text: str) -> str:
    """As :func:`visible`, for a text whose line breaks are ours."""
    return _of_no_command(_HIDDEN_IN_LINES.sub(_spelled, _SURROGATES.sub("\ufffd", text)))


def visible_values(value: Any) -> Any:
    """A JSON value in which each text is as :func:`visible` returns it."""
    if isinstance(value, dict):
        return {key: visible_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [visible_values(item) for item in value]
    return visible(value) if isinstance(value, str) else value


def visible_json(document: str) -> str:
    r"""A JSON document with its hidden characters escaped as JSON has it; the values stay the same."""
    return _HIDDEN_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", _SURROGATES.sub("\ufffd", document))


def _of_no_command(text: str) -> str:
    return _COMMAND.sub(r"\1\\", text)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    short = {10: r"\n", 13: r"\r"}.get(code)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
