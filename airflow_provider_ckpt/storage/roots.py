"""The locations below which the pages show checkpoints. All else is refused before anything is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from airflow_provider_ckpt.storage.local import SCHEMES, local_path
from airflow_provider_ckpt.storage.schemes import storage_scheme

#: A longer location is refused.
MOST_CHARACTERS = 2_048
#: Control characters, halves of characters, and what a driver or a browser may take for a separator.
_REFUSED = re.compile("[\x00-\x1f\x7f\\\\\ud800-\udfff]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")


class OutsideRootsError(LookupError):
    """A location is not below the configured roots. It says nothing about whether anything is there."""


@dataclass(frozen=True, slots=True)
class Root:
    """One location, and what opens it.

    Args:
        url: As it is configured, without a slash at its end.
        conn_id: Connection of type ``checkpoint`` that opens what is below it; None for none.
        options: Options of the fsspec driver.
    """

    url: str
    conn_id: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def holds(self, location: str) -> bool:
        """True if a location from :func:`normalised` is this root or below it, with links on a disk followed."""
        return _is_below(normalised(self.url), location)


@dataclass(frozen=True, slots=True)
class Roots:
    """The configured roots."""

    all: tuple[Root, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.all)

    def __iter__(self) -> Iterator[Root]:
        return iter(self.all)

    def with_more(self, roots: Iterable[Root]) -> Roots:
        """These roots, and of others those that are in none of these; what is no absolute location is left out."""
        more = []
        for root in roots:
            with suppress(ValueError):
                normalised(root.url)
                more += [] if self.hold(root.url) else [root]
        return Roots((*self.all, *more))

    def limits(self, records: str) -> tuple[str, ...]:
        """The directories of this machine that may be read.

        Args:
            records: Name of the directory beside a root in which the records of changes are, where a root is a
                checkpoint itself.
        """
        bases = [base for root in self.all if (base := normalised(root.url)).startswith("/")]
        return (*bases, *(f"{base.rpartition('/')[0]}/{records}" for base in bases))

    def root_of(self, location: str) -> tuple[Root, str]:
        """The innermost root that holds a location, and the location in its normal form. Nothing remote is asked.

        Raises OutsideRootsError, also for a text that is no absolute location.
        """
        try:
            normal = normalised(location)
        except ValueError:
            raise OutsideRootsError from None
        holding = [root for root in self.all if root.holds(normal)]
        if not holding:
            raise OutsideRootsError
        return max(holding, key=lambda root: len(normalised(root.url))), normal

    def those_held(self, locations: Iterable[str]) -> Iterator[str]:
        """Locations that :meth:`root_of` finds a root for; a directory is asked for its links once."""
        own = [normalised(root.url) for root in self.all]
        known: dict[str, str] = {}
        for location in locations:
            with suppress(ValueError):
                normal = _normalised_among(location, known)
                if any(_is_below(root, normal) for root in own):
                    yield location

    def hold(self, location: str) -> bool:
        """True if :meth:`root_of` finds a root."""
        try:
            self.root_of(location)
        except OutsideRootsError:
            return False
        return True


NO_ROOTS = Roots()


def normalised(location: str) -> str:
    """A location as it is compared: ``s3://bucket/key``; an absolute path without links for one of this machine.

    Raises ValueError for what is relative, chained, or could be read in two ways: ``..`` and ``.`` in a URL, also
    encoded, doubled slashes, a backslash, control characters.
    """
    if not location or len(location) > MOST_CHARACTERS or _REFUSED.search(location) or "::" in location:
        raise ValueError("not a location that the pages open")
    scheme, separator, rest = location.partition("://")
    if not separator or scheme.lower() in SCHEMES:
        return _of_disk(location)
    bucket, *names = rest.rstrip("/").split("/")
    if not _SCHEME.match(scheme) or not bucket or any(_is_ambiguous(name) for name in (bucket, *names)):
        raise ValueError("not a location that the pages open")
    return "/".join((f"{storage_scheme(scheme)}://{bucket}", *names))


def _is_below(root: str, location: str) -> bool:
    """True if one location is another one or inside it, both in their normal form."""
    return f"{location.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")


def _normalised_among(location: str, known: dict[str, str]) -> str:
    """As :func:`normalised`; ``known`` has the directories of which the links have been followed."""
    directory, _, name = location.rpartition("/")
    is_plain = location.startswith("/") and "::" not in location and not _REFUSED.search(location)
    if not is_plain or name in ("", ".", "..") or len(location) > MOST_CHARACTERS:
        return normalised(location)
    if directory not in known:
        known[directory] = normalised(directory or "/")
    path = f"{known[directory].rstrip('/')}/{name}"
    return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114  # a text stays a text


def _of_disk(location: str) -> str:
    if not re.match(r"/|(?i:file|local):/", location):
        raise ValueError("a relative path")
    path = local_path(location)
    if path is None:
        raise ValueError("not a location that the pages open")
    return os.path.realpath(path)


def _is_ambiguous(name: str) -> bool:
    """True if a part of a path is not a plain name, as it is or when decoded once more."""
    decoded = name
    for _ in range(4):
        if decoded in ("", ".", "..") or "/" in decoded or _REFUSED.search(decoded):
            return True
        decoded, before = unquote(decoded), decoded
        if decoded == before:
            return False
    return True


def parse_roots(text: str) -> Roots:
    """Roots as they are configured: URLs with commas or lines between them, each with ``conn=ID`` behind it or not.

    Raises ValueError naming one that is no absolute location.
    """
    roots = []
    for item in filter(None, map(str.strip, re.split(r"[,\n]", text))):
        found = re.fullmatch(r"(.*?)(?:\s+conn=(\S+))?", item)
        assert found is not None  # the second part may be missing
        try:
            normalised(found[1])
        except ValueError:
            raise ValueError(
                f"{found[1]!r:.200} is no root: give an absolute path or a URL, such as s3://lake/checkpoints"
            ) from None
        roots.append(Root(found[1].rstrip("/") or "/", found[2]))
    return Roots(tuple(roots))
