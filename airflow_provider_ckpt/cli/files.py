"""Files of this machine that the command line names: which are read, and where one may be written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from airflow_provider_ckpt.checkpoint.recognise import what_is
from airflow_provider_ckpt.storage.local import require_regular
from airflow_provider_ckpt.storage.store import Store


class WrittenFile(click.Path):
    """A file that a command will write. That its directory is missing is a usage error, before any work is done."""

    def __init__(self, path_type: type[str] | type[Path], *, may_be_directory: bool = False) -> None:
        super().__init__(dir_okay=may_be_directory, path_type=path_type)
        self.name = "file"  # as messages call it, also where a directory may be given

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; its directory is there."""
        path = super().convert(value, param, ctx)
        directory = Path(os.fsdecode(path)).parent
        if not directory.is_dir():
            self.fail(
                f"{value} cannot be written, because the directory {directory} does not exist; make it first",
                param,
                ctx,
            )
        return path


def read_bytes(path: Path, most: int) -> bytes:
    """The first bytes of a file, at most that many. Raises OSError, also for a named pipe, a socket and a device."""
    require_regular(str(path))
    with path.open("rb") as file:
        return file.read(most)


def read_text(path: Path, most: int) -> str:
    """The text of a file of at most ``most`` bytes. Raises OSError as :func:`read_bytes`, and ValueError."""
    data = read_bytes(path, most + 1)
    if len(data) > most:
        raise ValueError(f"more than {most:,} bytes")
    return data.decode()


@contextmanager
def named_by(option: str, path: Path) -> Iterator[None]:
    """Make what is wrong with a file, or with what is in it, a usage error of the option that names it."""
    try:
        yield
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint=option) from None
    except ValueError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=option) from None


def require_outside(option: str, path: Path, stores: Iterable[Store | None] = ()) -> None:
    """Raise a usage error for a file that would be written into a checkpoint, the log of a sink, or backups.

    Args:
        option: Option that names the file.
        path: The file.
        stores: Places in which no file is written either, whatever they are like.
    """
    try:
        real = path.resolve()
        leads_nowhere = real.is_symlink()  # links in a circle, since Python 3.13
    except (OSError, RuntimeError):  # the latter of such links before
        leads_nowhere = True
    if leads_nowhere:
        raise click.BadParameter(f"{path} is a link that leads nowhere; give another path", param_hint=option)
    for store in stores:
        if store is not None and store.is_local and real.is_relative_to(store.real_root):
            raise _refused(option, path, f"{store.location}")
    for directory in real.parents:
        what = what_is(directory)
        if what is not None:
            raise _refused(option, path, f"{what} {directory}")


def _refused(option: str, path: Path, place: str) -> click.BadParameter:
    return click.BadParameter(
        f"{path} is inside {place}, where ckpt writes no files; give another path", param_hint=option
    )
