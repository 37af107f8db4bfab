"""The part of a regular expression that is in whatever it finds: most texts are told apart by it, without a search."""

from __future__ import annotations

import re
from functools import lru_cache

_ESCAPE = re.compile(r"\\.")
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_GROUP = re.compile(r"\([^()]*\)(?:[?*+]|\{[^}]*\})?")
_REPEATED = re.compile(r".(?:[?*+]|\{[^}]*\})")
_NO_LITERAL = re.compile(r"[\x00.^$()]+")


@lru_cache(4096)
def literal_of(pattern: str) -> str:
    """The longest literal of a pattern that everything has which it finds; empty where there is none to speak of."""
    if pattern.startswith(("(?i)", "(?x)")):
        return ""
    bare = _CLASS.sub("\x00", _ESCAPE.sub("\x00", pattern))
    while (less := _GROUP.sub("\x00", bare)) != bare:
        bare = less
    if "|" in bare or "(" in bare:
        return ""
    return max(_NO_LITERAL.split(_REPEATED.sub("\x00", bare)), key=len)
