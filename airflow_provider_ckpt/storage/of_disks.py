"""Properties that only a local disk has: links, empty directories, owners and modes. Elsewhere all are empty."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.access import Access, Attributes
from airflow_provider_ckpt.storage.local import is_below_link, is_inside, remove_temporaries
from airflow_provider_ckpt.storage.local_access import (
    access_in,
    attributes_of,
    attributes_to_be,
    give,
    make_like,
    obstacle,
)
from airflow_provider_ckpt.storage.remove_if import asides_in, settle

if TYPE_CHECKING:
    from airflow_provider_ckpt.storage.drivers import Call


class OfDisks:
    """The operations of a store that do nothing where it is no disk."""

    root: str
    location: str

    @property
    def is_local(self) -> bool:
        """True if the location is a directory of this machine."""
        raise NotImplementedError

    def _path(self, name: str) -> str:
        raise NotImplementedError

    def _errors(self, name: str) -> Call:
        raise NotImplementedError

    # --- links and directories ---------------------------------------------------------------------------------

    def is_link(self, name: str) -> bool:
        """True if a name is that of a symbolic link."""
        return self.is_local and os.path.islink(self._path(name))  # noqa: PTH114  # a fleet asks for each directory

    def require_inside(self, name: str) -> None:
        """Raise StoreError when a link leads a name out of the location."""
        with self._errors(name):
            inside = not self.is_local or is_inside(self.root, self._path(name))
        if not inside:
            raise StoreError("this is a link that points outside of the location", location=self.location, name=name)

    def remove_empty(self, directory: str) -> None:
        """Remove a directory and those inside it, as far as they are empty; only a disk keeps empty ones."""
        if self.is_local:
            with self._errors(directory):
                for path, _, _ in os.walk(self._path(directory), topdown=False):
                    with suppress(OSError):
                        Path(path).rmdir()

    def flush(self) -> None:
        """Return when everything written so far outlives a power cut; object stores promise that with each write."""
        if self.is_local:
            os.sync()

    def settle(self, directory: str) -> None:
        """End the writes and the removals of this package in a directory that a kill has interrupted.

        Nobody may write there by this package meanwhile.
        """
        if not self.is_local:
            return
        path = self._path(directory) if directory else self.root
        for aside in asides_in(path):
            self._require_no_link_above(f"{directory}/-" if directory else "-")
            with self._errors(directory):
                settle(aside)
        if not is_below_link(self.root, path):
            with self._errors(directory):
                remove_temporaries(path)

    def _require_no_link_above(self, name: str) -> None:
        if self.is_local and is_below_link(self.root, self._path(name).rpartition("/")[0]):
            raise StoreError("this object is behind a link, so it is not removed.", location=self.location, name=name)

    # --- owners and modes --------------------------------------------------------------------------------------

    def attributes(self, name: str) -> Attributes | None:
        """Owner, group, mode and time of a file. Raises ObjectNotFoundError."""
        if not self.is_local:
            return None
        with self._errors(name):
            return attributes_of(self._path(name))

    def attributes_to_be(self, name: str) -> Attributes | None:
        """Attributes that a file gets when it is written: its own, or those of the newest file beside it."""
        if not self.is_local:
            return None
        with self._errors(name):
            return attributes_to_be(self._path(name))

    def give(self, name: str, wanted: Attributes | None) -> None:
        """Give a file what it is to have."""
        if self.is_local and wanted is not None:
            with self._errors(name):
                give(self._path(name), wanted)

    def give_all(self, names: Iterable[str], *, like: str) -> None:
        """Give files that another program has written, and directories of these alone, what another file has.

        Nothing behind a link is changed.
        """
        if not self.is_local:
            return
        with self._errors(like):
            model = Path(self._path(like))
            written = {path for name in names if not is_below_link(self.root, str(path := Path(self._path(name))))}
            above = {each for path in written for each in path.parents if each.is_relative_to(self.root)}
            new: set[Path] = set()
            for directory in sorted(above, reverse=True):  # what is inside comes before it
                if (written | new).issuperset(directory.iterdir()):
                    new.add(directory)
            for paths, of in ((written, model), (new, model.parent)):
                wanted = Attributes(attributes_of(str(of)).access)
                for path in sorted(paths):
                    give(str(path), wanted)

    def make_like(self, model: OfDisks) -> None:
        """Make the directory of this location as that of another one is, unless it is there."""
        if self.is_local and model.is_local:
            with self._errors(""):
                make_like(self.root, model.root)

    def access_of_directories(self, names: Iterable[str]) -> dict[str, Access]:
        """Owner, group and mode of directories, the location itself by an empty name; what is not there is left out."""
        found: dict[str, Access] = {}
        for name in names if self.is_local else ():
            with suppress(OSError, StoreError):  # a link to nowhere, or out of what may be read
                found[name] = access_in(os.stat(self._path(name) if name else self.root))  # noqa: PTH116  # of many
        return found

    def obstacle(self, name: str) -> str | None:
        """Why this user cannot write a file, or put it back, as its owner needs it; None where it can."""
        if not self.is_local:
            return None
        with self._errors(name):
            return obstacle(self._path(name))
