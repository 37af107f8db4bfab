"""Whether the arguments of the new version lead it to the fork, and not to what the live query uses.

An application that is started beside the live query with the arguments of the live one would write to its checkpoint
and its sink before anybody has approved. Locations are known in each spelling that a job may use: ``s3a://`` is
``s3://``, and a path is itself with ``file:`` before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_S3 = re.compile(r"\bs3[an]://", re.IGNORECASE)
_FILE = re.compile(r"\bfile:/{1,3}(?=[^/])", re.IGNORECASE)
_SLASHES = re.compile(r"(?<!:)/{2,}")


def misdirected(arguments: Sequence[str], fork: Iterable[str], live: Iterable[str]) -> str | None:
    """Why an application with these arguments must not be started beside the live query; None when it may be.

    Args:
        arguments: What it is started with.
        fork: Spellings of the location of the fork.
        live: Locations of the live query: of its checkpoint, and of its sink.
    """
    places = [_of(location) for location in fork if location]
    left = [_plain(argument) for argument in arguments]
    for place in places:
        left = [place.sub("", argument) for argument in left]
    for location in sorted({_plain(location) for location in live if location}):
        if any(_of(location).search(argument) for argument in left):
            return f"they name {location}, which the live query uses"
    if left == [_plain(argument) for argument in arguments]:
        return "none of them names the fork"
    return None


def _of(location: str) -> re.Pattern[str]:
    """A location in a text, or something inside it; a longer name that begins like it is another one."""
    return re.compile(rf"(?<![\w./-]){re.escape(_plain(location))}(?![\w.-])")


def _plain(text: str) -> str:
    return _SLASHES.sub("/", _FILE.sub("/", _S3.sub("s3://", text))).rstrip("/")
