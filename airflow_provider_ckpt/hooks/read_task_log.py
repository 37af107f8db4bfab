"""Reading the log of a try of a task where its callbacks run: in the process of the task, or in the DAG processor."""

from __future__ import annotations

import json
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from airflow.providers.common.compat.sdk import conf

#: Bytes of the beginning of a long log, where Spark says what it starts; all others are of its end.
_BEGINNING = 1 << 20
#: The supervisor of a task writes what the task logs; the task waits so long for its last lines.
_SETTLES_S, _PAUSE_S, _MARK = 5.0, 0.05, "ckpt reads the log of this try to explain the failure"
#: Words in front of each line of a container that Airflow follows.
_POD = re.compile(r"\[[a-z0-9][a-z0-9-]{0,62}\] ")
_POD_LOGGER = "pod_manager"


@dataclass(frozen=True, slots=True)
class TaskLog:
    """The text to explain.

    Args:
        lines: Lines as the application has printed them, without what Airflow adds.
        notes: What was not read, and why.
    """

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_task_log(context: Any, *, most: int, say: Callable[[str], object] | None = None) -> TaskLog:
    """The log of the try that a callback is called for; where it cannot be read, the exception of the callback.

    Args:
        context: Airflow's context of the callback.
        most: Bytes that are read.
        say: Logs a line to the log itself, behind which all that was said before is there; None to not wait.
    """
    ti = context.get("ti") or context.get("task_instance")
    problem = "Airflow has not said which task failed"
    if ti is not None:
        try:
            name = log_name(ti)
            return _read(name, ti, most, say)
        except Exception as error:  # remote storages, connections and templates raise what has no class in common
            problem = _sentence(error)
    note = f"The log cannot be read: {problem}."
    thrown = tuple(_lines_of_exception(context))
    if thrown:
        note = f"{note} Only the exception of the task was explained."
    return TaskLog(thrown, (note,))


def log_name(ti: Any) -> str:
    """Path of the log of a try below the folder of the logs, as the scheduler names it."""
    template = conf.get("logging", "log_filename_template")
    if "{{" not in template:
        raise ValueError("the option log_filename_template is no Jinja template")
    import jinja2  # Airflow's own

    return str(jinja2.Template(template).render(ti=ti))


def plain_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a log of Airflow as the application has printed them; others stay as they are."""
    for line in lines:
        if not line.startswith("{"):
            yield line
            continue
        try:
            record = json.loads(line)
        except ValueError:
            yield line
            continue
        if not isinstance(record, dict) or "event" not in record or "timestamp" not in record:
            yield line
            continue
        event = str(record["event"])
        if _POD_LOGGER in str(record.get("logger", "")):
            event = _POD.sub("", event, count=1)
        yield from event.split("\n")
        yield from _lines_of_error(record.get("error_detail"))


def _lines_of_error(detail: Any) -> Iterator[str]:
    """A Python exception of a record, the one that led to another first, as Python prints it."""
    if not isinstance(detail, list):
        return
    for thrown in reversed([item for item in detail if isinstance(item, dict)]):
        yield "Traceback (most recent call last):"
        for frame in thrown.get("frames") or ():
            if isinstance(frame, dict):
                yield f'  File "{frame.get("filename")}", line {frame.get("lineno")}, in {frame.get("name")}'
        yield from f"{thrown.get('exc_type')}: {thrown.get('exc_value')}".split("\n")


def _read(name: str, ti: Any, most: int, say: Callable[[str], object] | None) -> TaskLog:
    folder = conf.get("logging", "base_log_folder")
    path = Path(folder, name)
    if path.is_file():
        _settle(path, say)
        with path.open("rb") as file:
            return _log_of(file, path.stat().st_size, most)
    return _read_remote(name, path, ti, most)


def _settle(path: Path, say: Callable[[str], object] | None) -> None:
    """Wait, briefly, until the supervisor has written what the task has said."""
    if say is None:
        return
    before = path.stat().st_size
    say(f"{_MARK}.")
    end = time.monotonic() + _SETTLES_S
    while time.monotonic() < end:
        if path.stat().st_size > before:
            with path.open("rb") as file:
                file.seek(before)
                if _MARK.encode() in file.read(1 << 20):
                    break
        time.sleep(_PAUSE_S)
    time.sleep(_PAUSE_S)


def _log_of(file: BinaryIO, size: int, most: int) -> TaskLog:
    """A log of so many bytes; of one that has more than the most, its beginning and its end."""
    if size <= most:
        return TaskLog(tuple(plain_lines(file.read(most).decode("utf-8", "replace").split("\n"))))
    beginning = min(_BEGINNING, most // 2)
    head = file.read(beginning)
    file.seek(size - (most - beginning))
    tail = file.read(most - beginning)
    whole, _, _ = head.rpartition(b"\n")
    _, _, rest = tail.partition(b"\n")
    lines = f"{whole.decode('utf-8', 'replace')}\n{rest.decode('utf-8', 'replace')}".split("\n")
    left_out = size - len(whole) - len(rest)
    return TaskLog(tuple(plain_lines(lines)), (f"{left_out:,} bytes in the middle of the log were not read.",))


def _read_remote(name: str, path: Path, ti: Any, most: int) -> TaskLog:
    """The log where tasks put it when they have ended. Raises whatever its storage raises."""
    from airflow.sdk.log import load_remote_log_handler  # loads the logging of the whole Airflow

    remote = load_remote_log_handler()
    if remote is None:
        raise FileNotFoundError(f"{path} is not on this host, and this Airflow has no remote logging")
    _, texts = remote.read(name, ti)
    text = "\n".join(item if isinstance(item, str) else str(item) for item in texts or ())
    if not text:
        raise FileNotFoundError(f"{path} is not on this host, and the remote logging of this Airflow has no such log")
    data = text.encode("utf-8", "replace")
    return _log_of(BytesIO(data), len(data), most)


def _lines_of_exception(context: Any) -> list[str]:
    error = context.get("exception") or context.get("reason")
    if isinstance(error, BaseException):
        return "".join(traceback.format_exception(error)).splitlines()
    return str(error).splitlines() if error else []


def _sentence(error: Exception) -> str:
    said = str(error).strip().partition("\n")[0].rstrip(".")
    return said if isinstance(error, FileNotFoundError | ValueError) and said else f"{type(error).__name__}: {said}"
