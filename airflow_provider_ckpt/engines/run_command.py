"""Running a command of somebody's: without a shell, within a time, with an answer that is bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence

from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.times import duration_text
from airflow_provider_ckpt.untrusted.limits import MIB
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

#: Bytes of an answer, and of what is repeated of stderr.
MOST_BYTES, MOST_ERROR = MIB, 500
#: Bytes of stderr on disk, and seconds between two looks at how much there is.
MOST_ON_DISK, _POLL_S = 64 * MIB, 0.2


def run_command(what: str, words: Sequence[str], directory: str, timeout_s: float) -> str:
    """The stdout of a command.

    Args:
        what: Which command it is, for messages.
        words: Its words; the first is the program.
        directory: The directory in which it runs.
        timeout_s: Seconds within which it has to end.

    Raises:
        EngineError: There is no such program.
        EngineUnknownError: It has failed, was not done in time, or has written too much: nothing is known.
    """
    # Files do not wait for a child that has inherited a pipe and lives on.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            code = _run(words, directory, timeout_s, out.fileno(), err.fileno())
        except _TooMuchError:
            raise _too_much(what) from None
        except subprocess.TimeoutExpired:
            raise EngineUnknownError(
                f"the command {what} did not end within {duration_text(timeout_s * 1000)}, and was killed.",
                hint="Nothing is known of the query. The key timeout of application gives it longer.",
            ) from None
        except (OSError, ValueError) as error:
            raise EngineError(
                f"the command {what} cannot be run: {visible(str(error)):.300}.",
                hint="Nothing was done. Its words are those of application in the query file.",
            ) from None
        out.seek(0)
        text = out.read(MOST_BYTES + 1)
        if code:
            err.seek(max(0, err.seek(0, 2) - MOST_ERROR))
            said = scrub(visible(err.read(MOST_ERROR).decode(errors="replace").strip()))
            raise EngineUnknownError(
                f"the command {what} ended with exit code {code}{f': {said}' if said else ''}.",
                hint="Nothing is known of the query.",
            )
    if len(text) > MOST_BYTES:
        raise _too_much(what)
    return text.decode(errors="replace")


class _TooMuchError(Exception):
    """A command writes more than is kept of it."""


def _too_much(what: str) -> EngineUnknownError:
    return EngineUnknownError(
        f"the command {what} answered with more than {MOST_BYTES:,} bytes.", hint="Nothing is known of the query."
    )


def _run(words: Sequence[str], directory: str, timeout_s: float, out: int, err: int) -> int:
    with subprocess.Popen(
        list(words), cwd=directory or None, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
    ) as process:
        until = time.monotonic() + timeout_s
        try:
            while True:
                left_s = until - time.monotonic()
                try:
                    return process.wait(max(0.0, min(left_s, _POLL_S)))
                except subprocess.TimeoutExpired:
                    if left_s <= 0:
                        raise
                if os.fstat(out).st_size > MOST_BYTES or os.fstat(err).st_size > MOST_ON_DISK:
                    raise _TooMuchError
        except BaseException:  # Ctrl-C as well: a command is no run, and neither it nor what it has begun goes on alone
            os.killpg(process.pid, signal.SIGKILL)
            raise
