"""Stdout and stderr that can break: nobody reads any more, or the disk that they go to is full."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

import click

#: What a shell shows for a command whose reader has gone (128 + SIGPIPE).
READER_GONE = 141
_DONE = "airflow_provider_ckpt.done"


class OutputError(Exception):
    """Stdout takes nothing any more. No OSError, which click and rich would answer with exit code 1: the answer is no.

    Args:
        error: The error of the system.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.reader_gone = error.errno == errno.EPIPE


class _Output(io.FileIO):
    """A standard stream; of one that has broken only the first write says so, unless it is to stay silent."""

    def __init__(self, descriptor: int, *, silent: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._silent, self._broken = silent, False

    def write(self, data: Any, /) -> int:
        """Write, or take no notice once the stream is broken."""
        if not self._broken:
            try:
                return super().write(data)
            except OSError as error:
                self._broken = True
                if not self._silent:
                    raise OutputError(error) from None
        return memoryview(data).nbytes


def _wrapped(stream: TextIO, *, silent: bool) -> TextIO:
    raw = _Output(stream.fileno(), silent=silent)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="backslashreplace",  # a locale that cannot spell a name is no reason to fail
        line_buffering=stream.isatty(),
    )


def take_over() -> None:
    """Make stdout raise OutputError when it breaks, and stderr nothing: a message must not end a change half way."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed by whoever has started the command
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  # open for as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, _wrapped(stream, silent=name == "stderr"))


def has_done(what: str) -> None:
    """A change was made: said on stderr if stdout turns out to be broken."""
    click.get_current_context().meta[_DONE] = what


def without_output(error: OutputError, context: click.Context) -> int:
    """The exit code of a command that could not print its answer; a change that was made is said on stderr."""
    done = context.meta.get(_DONE)
    if done:
        click.echo(f"{done} The output could not be written: {error}.", err=True)
        return 0 if error.reader_gone else 5
    if error.reader_gone:
        return READER_GONE
    click.echo(f"Error: the output could not be written: {error}. Nothing was changed.", err=True)
    return 5
