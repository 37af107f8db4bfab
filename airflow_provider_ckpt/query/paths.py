"""Locations that a cluster spells in one way and ckpt opens in another, such as mounts of Databricks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.query.yaml_text import parse_yaml

#: Schemes of one storage under several names: as Hadoop's connectors are called, and as ckpt calls it.
_SAME_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs", "gcs": "gs"}
#: Other beginnings of ``dbfs:/``: as a URL, and as Databricks mounts it.
_DBFS = re.compile(r"dbfs:///+|/dbfs/")


@dataclass(frozen=True, slots=True)
class Paths:
    """Beginnings of locations, as the cluster spells them, with what ckpt opens in their place.

    A beginning fits whole parts of a location; of several that fit, the longest counts.

    Args:
        mapped: What is opened, by what the cluster spells, such as ``dbfs:/mnt/lake`` and ``abfss://lake@acc.dfs…``.
    """

    mapped: Mapping[str, str] = field(default_factory=dict)

    def opened(self, location: str) -> str:
        """A location of the cluster as ckpt opens it."""
        opened = _exchanged(location, self.mapped.items())
        if opened == location and (dbfs := _DBFS.match(location)):
            plain = f"dbfs:/{location[dbfs.end() :]}"
            found = _exchanged(plain, self.mapped.items())
            return location if found == plain else found
        return opened

    def opened_in(self, text: str) -> str:
        """A declared sink or source, such as ``file:dbfs:/mnt/lake/a``, with its location as ckpt opens it."""
        for at in (0, *(mark.end() for mark in re.finditer("[:=]", text))):
            opened = self.opened(text[at:])
            if opened != text[at:]:
                return text[:at] + opened
        return text

    def opened_all(self, value: Any) -> Any:
        """An argument with each location as ckpt opens it, of a list, an object, or a text that is one, as well."""
        if isinstance(value, Mapping):
            return {self.opened_all(key): self.opened_all(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.opened_all, value))
        if not isinstance(value, str):
            return value
        if value.lstrip()[:1] in ("{", "["):
            with suppress(ValueError):
                written = parse_yaml(value)
                found = self.opened_all(written)
                return value if found == written else found
        return self.opened_in(value)

    def spelled(self, location: str) -> str:
        """A location that ckpt opens as the cluster spells it."""
        return _exchanged(location, ((opened, spelled) for spelled, opened in self.mapped.items()))

    def place(self, location: str) -> str:
        """A location in the one form in which two locations of the same place are equal."""
        return plain_place(self.opened(location))

    def holds(self, directory: str, location: str) -> bool:
        """True if a location is a directory, or is in it."""
        return f"{self.place(location)}/".startswith(f"{self.place(directory)}/")


def _exchanged(location: str, pairs: Iterable[tuple[str, str]]) -> str:
    fitting = [(begin.rstrip("/"), other.rstrip("/")) for begin, other in pairs if _begins(location, begin.rstrip("/"))]
    if not fitting:
        return location
    begin, other = max(fitting, key=lambda pair: len(pair[0]))
    return other + location[len(begin) :]


def _begins(location: str, begin: str) -> bool:
    return location == begin or location.startswith(f"{begin}/")


def plain_place(location: str) -> str:
    """A location without what may be written in two ways: the name of its scheme, slashes at its end, ``..``."""
    scheme, colon, rest = location.partition(":")
    if scheme.lower() == "file":
        return posixpath.normpath(f"/{rest.lstrip('/')}")
    if not colon:
        return posixpath.normpath(f"/{location.lstrip('/')}" if location.startswith("/") else location)
    plain = location.rstrip("/") or location
    if colon and rest.startswith("//") and scheme.lower() in _SAME_SCHEMES:
        return f"{_SAME_SCHEMES[scheme.lower()]}:{plain.partition(':')[2]}"
    return plain
