"""The query file that a command reads: by ``--file``, by ``$CKPT_FILE``, or in this directory or one above it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from stat import S_IWOTH
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.absolute_words import absolute_location
from airflow_provider_ckpt.errors import CheckpointError

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.query_file import QueryFile

#: Name of the file, by which it is found in a directory or in the nearest one above it.
QUERY_FILE = "ckpt.yaml"
#: The environment variable that names the file.
CKPT_FILE = "CKPT_FILE"
OPTION = "--file"
#: The word that means no file.
NONE = "none"


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A query file that counts.

    Args:
        place: A path or a URL.
        is_named: True if somebody has named it; else it was found.
    """

    place: str
    is_named: bool

    def read(self, *, is_needed: bool) -> QueryFile | None:
        """The queries of the file. One that was found and is not to be read is told on stderr, and is None.

        That is one that is broken, or that somebody else may have written: a query file says which commands run.

        Args:
            is_needed: True if the command makes no sense without the file.

        Raises:
            click.UsageError: It cannot be read, or is no query file.
        """
        from airflow_provider_ckpt.fleet.read_query_file import read_query_file  # a room that a location does not need

        try:
            self._require_own()
            return read_query_file(absolute_location(self.place))
        except (CheckpointError, ValueError) as error:
            if self.is_named or is_needed:
                raise click.UsageError(str(error)) from None
            told = " ".join(str(error).split())
            _warn(f"{told}; the command goes on without this file.")
            return None

    def _require_own(self) -> None:
        """Raise ValueError for a file that was found and that somebody else may have written."""
        try:
            stat = Path(self.place).stat()
        except OSError:
            return  # reading it tells more
        if self.is_named or (stat.st_uid in (os.geteuid(), 0) and not stat.st_mode & S_IWOTH):
            return
        why = "can be changed by every user" if stat.st_mode & S_IWOTH else f"belongs to another user ({stat.st_uid})"
        raise ValueError(f"{self.place} was found and {why}; name it by {OPTION} or ${CKPT_FILE} if you trust it")


def file_of(words: Sequence[str]) -> tuple[FilePlace | None, list[str]]:
    """The query file that counts, and the words without the option that names it.

    Raises:
        click.UsageError: The option has no value, or is given twice.
    """
    rest, place = list[str](), None
    words = list(words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name == OPTION:
            if place:
                raise click.UsageError(f"{OPTION} is given 2 times, but takes one value")
            place = value if equals else (words.pop(0) if words else "")
            if not place:
                raise click.UsageError(f"{OPTION} needs a value: the query file, or none")
        else:
            rest.append(word)
    return find_file(place), rest


def is_unwanted(words: Sequence[str]) -> bool:
    """True if somebody says that no file counts: ``--file none``, or ``$CKPT_FILE`` where no file is named."""
    said = [after for word, after in pairwise(words) if word == OPTION]
    said += [word.partition("=")[2] for word in words if word.startswith(f"{OPTION}=")]
    return (said or [os.environ.get(CKPT_FILE, "")])[-1] == NONE


def find_file(place: str | None) -> FilePlace | None:
    """The query file that counts, of the value of ``--file``; None where there is none or none is wanted."""
    named = place or os.environ.get(CKPT_FILE)
    if named:
        return None if named == NONE else FilePlace(named, is_named=True)
    directory = Path.cwd()
    files = (each / QUERY_FILE for each in (directory, *directory.parents))
    found = next((file for file in files if os.path.lexists(file)), None)
    if found is not None and not found.is_file():
        _warn(f"{found} is no file that can be read, so no query file counts.")
        return None
    return None if found is None else FilePlace(str(found), is_named=False)


def _warn(text: str) -> None:
    click.secho(f"Warning: {text}", fg="yellow", err=True)
