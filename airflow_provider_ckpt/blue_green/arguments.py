"""Checks that the arguments of the new version lead it to the fork, and not to what the live query uses.

An application that is started beside the live query with the arguments of the live one would write to its checkpoint
and its sink before anybody has approved. Absolute locations are known in each spelling that a job may use: ``s3a://``
is ``s3://``, a path is itself with ``file:`` before it, and what is escaped or has ``..`` in it is what it leads to.
What a job puts together from several arguments, or from the directory that it runs in, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

_S3 = re.compile(r"s3[an]://", re.IGNORECASE)
_FILE = re.compile(r"file:(?://localhost(?=/)|/{0,2}(?=/))", re.IGNORECASE)
_USER, _PORT = re.compile(r"(?<=://)[^/@\s]*@"), re.compile(r"(?<=://)([^/:\s]+):\d+(?=/)")
_SLASHES = re.compile(r"(?<!:)/{2,}")
_STAY = re.compile(r"/\.(?=/|\Z)")
_UP = re.compile(r"/(?!\.\.(?:/|\Z))[^/\s]+/\.\.(?=/|\Z)")
#: So often something may be escaped in an argument.
_ESCAPED = 4


def misdirected(arguments: Sequence[str], fork: Iterable[str], live: Iterable[str]) -> str | None:
    """Why an application with these arguments must not be started beside the live query; None when it may be.

    Args:
        arguments: Arguments of its start.
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
    place = _plain(location)
    begins = "" if "://" in place else r"(?<![\w./-])"
    return re.compile(rf"{begins}{re.escape(place)}(?![\w.-])")


def _plain(text: str) -> str:
    """A text in which each absolute location is spelled in one way."""
    for _ in range(_ESCAPED):
        text = unquote(text.replace("\\/", "/"))
    text = _FILE.sub("", _S3.sub("s3://", text))
    text = _SLASHES.sub("/", _PORT.sub(r"\1", _USER.sub("", text)))
    text = _STAY.sub("", text)
    while (shorter := _UP.sub("", text, count=1)) != text:
        text = shorter
    return text.rstrip("/")
