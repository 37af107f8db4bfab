"""The forms in which one failure is pasted: words alone, a stack trace, a log, a JSON log, and the beginning of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

#: Lines that are left of a text that was cut.
CUTS = (1, 5, 30)
FORMS = ("said", "trace", "log", "json", *(f"first {count}" for count in CUTS))
_RECORD = re.compile(r"\d\d/\d\d/\d\d (\d\d:\d\d:\d\d) ([A-Z]+) (\w+): (.*)")
_FRAME = re.compile(r"\s+at ([\w.$@/<>-]+)\.([\w$<>-]+)\(([^:)]*):?(\d*)\)$")
_PART = re.compile(r"\s+(?:at |\.\.\. \d)|Caused by: |\s*Suppressed: ")
_THROWN = re.compile(r"((?:[\w$]+\.)+[\w$]+)(?:: |$)")
_OF_TASKS = "Driver stacktrace:"
_ENDED = re.compile(r"Query .*\[id = (?P<id>\S+), runId = (?P<run>\S+)\] terminated with error")
_WORDS = """\
[STREAM_FAILED] Query [id = {id}, runId = {run}] terminated with exception: {message} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = {id}, runId = {run}]
Current Committed Offsets: {{}}
Current Available Offsets: {{}}

Current State: ACTIVE
Thread State: RUNNABLE"""


def forms_of(log: str, said: str = "", recorded: str = "") -> dict[str, str]:
    """The texts of a failure by their forms; none that it does not have.

    Args:
        log: What the driver has written, as Spark lays it out.
        said: What PySpark has said; made of the log where nobody has recorded it.
        recorded: The log as Spark writes it in JSON; made of the log where nobody has recorded it.
    """
    trace, query = trace_of(log)
    if trace and not said:
        said = _WORDS.format(message=_message(trace), **query)
    begins = (trace or said or log).splitlines()
    found = {
        "said": "\n".join(line for line in said.splitlines() if not _PART.match(line)),
        "trace": trace,
        "log": log,
        "json": recorded or "\n".join(as_json(log)),
        **{f"first {count}": "\n".join(begins[:count]) for count in CUTS},
    }
    return {form: text for form, text in found.items() if text.strip()}


def trace_of(log: str) -> tuple[str, Mapping[str, str]]:
    """The stack trace of a query that ended, and the ids of the query; empty where none has."""
    for head, body in _records(log):
        if (found := _ENDED.search(head[4])) and body:
            return "\n".join(body), found.groupdict()
    return "", {}


def as_json(log: str) -> Iterator[str]:
    """A log as Spark writes it in JSON, with the frames of the outermost exception alone."""
    for head, body in _records(log):
        record: dict[str, object] = {
            "ts": f"2026-01-01T{head[1]}.000Z",
            "level": head[2],
            "msg": head[4],
            "context": {},
        }
        thrown = _THROWN.match(body[0]) if body else None
        if thrown:
            frames = [
                {"class": at[1], "method": at[2], "file": at[3], "line": int(at[4] or -1)}
                for at in map(_FRAME.match, _own(body))
                if at
            ]
            record["exception"] = {"class": thrown[1], "msg": _message("\n".join(body)), "stacktrace": frames}
        elif body:
            record["msg"] = "\n".join([head[4], *body])
        yield json.dumps({**record, "logger": head[3]}, separators=(",", ":"))


def _records(log: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """The first line of each record, and the lines below it."""
    head, body = None, list[str]()
    for line in log.splitlines():
        if found := _RECORD.match(line):
            if head is not None:
                yield head, body
            head, body = found, []
        else:
            body.append(line)
    if head is not None:
        yield head, body


def _message(trace: str) -> str:
    """What the outermost exception of a stack trace says."""
    lines = trace.splitlines()
    end = next((number for number, line in enumerate(lines) if _PART.match(line)), len(lines))
    message = "\n".join(lines[: _end_of_tasks(lines) or end])
    found = _THROWN.match(message)
    return message[found.end() :] if found else message


def _own(lines: list[str]) -> list[str]:
    """The frames of the outermost exception, among other lines."""
    end = next((number for number, line in enumerate(lines) if line.startswith("Caused by: ")), len(lines))
    return lines[_end_of_tasks(lines) : end]


def _end_of_tasks(lines: list[str]) -> int:
    """Where a message ends that has the stack trace of a task in itself; 0 for one that has none."""
    is_of_task = "Job aborted due to stage failure" in lines[0] and _OF_TASKS in lines
    return lines.index(_OF_TASKS) + 1 if is_of_task else 0
