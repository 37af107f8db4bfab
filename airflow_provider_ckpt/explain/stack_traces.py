"""Texts as failures: driver logs, stack traces of Java and Python, JSON logs, and messages that somebody copied.

The lines come one after the other and only one failure is kept, so a log of any size is read in the same memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from airflow_provider_ckpt.explain.failure import Failure, Thrown, is_of_pyspark
from airflow_provider_ckpt.explain.log_line import QUIET, LogLine, parse_line

#: What is kept of one exception, and of one chain.
MOST_LINES, MOST_FRAMES, MOST_CAUSES = 60, 200, 30
#: A line of more characters is read as several, and a message of more characters as several texts.
MOST_CHARS = 1 << 14
#: A JSON document of more characters is read as text.
MOST_JSON_CHARS, MOST_DEPTH = 1 << 18, 40
_FRAME = re.compile(r"\s*at (?:[\w.@-]+/{1,2}){0,3}((?:[\w$-]+\.)*?)([\w$-]+\.[\w$<>-]+)\([^()]*\)")
#: How Java prints most frames, which is told apart at once; its package ends at the last small letter before a class.
_USUAL_FRAME = re.compile(r"\tat (?:[\w.@-]{1,100}/{1,2}){0,2}((?:[a-z][\w]*\.)+)([A-Z][\w$]*\.[\w$<>]+)\(")
#: A frame that was cut off at its class.
_CLASS_FRAME = re.compile(r"\s+at ((?:[a-z][\w$-]*\.)+)([A-Z][\w$]*)\s*$")
_SAME_FRAMES = re.compile(r"\s*\.\.\. (\d{1,6}) (?:more|common frames omitted)")
_PYTHON_FRAME = re.compile(r'\s*File "([^"]+)", line \d+, in (\S{0,200})')
_CAUSED = re.compile(r"\s*(?:Caused by|Wrapped by): (.*)", re.DOTALL)
_SUPPRESSED = re.compile(r"\s*Suppressed: ")
_THROWN = re.compile(
    r"\s*(?:: )?(?:Exception in thread \"[^\"]*\" )?"
    r"(?:((?:[a-z_][\w$]*\.)+)([A-Z][\w$]*)|((?:[A-Z]\w*)?Exception|[A-Z]\w*Error))(?:: (.*)|:?)$",
    re.DOTALL,
)
#: What a traceback of Python ends with, whatever the exception is called: ``StopIteration`` has no message.
_RAISED = re.compile(r"((?:[A-Za-z_]\w*\.)+)?([A-Za-z_]\w*)()(?:: (.*))?$", re.DOTALL)
#: What lines of a stack trace begin with.
_OF_TRACE = ("at ", "... ", "Suppressed: ", "Driver stacktrace:")
#: The exceptions of Python below which Py4J prints that of Java, behind a colon.
_OF_PY4J = frozenset({"Py4JJavaError", "Py4JError"})
#: The exceptions of Java in whose message a traceback of Python is.
_OF_WORKERS = frozenset({"PythonException", "Py4JException"})
_HAS_TRACEBACK = "Traceback (most recent call last):"
_TRACEBACK = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|JVM stacktrace:|The above exception|During handling)"
)


class Dull:
    """Exceptions on lines of their own of which nothing is known, whatever their numbers; a log may be full of them."""

    def __init__(self, count: Callable[[int, str], None]) -> None:
        self._count = count
        self._known: set[str] = set()
        self._last = ""

    def learn(self, line: str) -> None:
        """Remember that nothing is known of an exception, as its line has it."""
        if len(self._known) < MOST_DULL:
            self._known |= {_NUMBER.sub("0", line), ""}

    def has(self, line: str) -> bool:
        """True if a line is one of them."""
        if line == self._last:
            return True
        if not self._known or not line[:1].isalpha() or _NUMBER.sub("0", line.rstrip("\r\n")) not in self._known:
            return False
        self._last = line
        return True

    def has_all(self, text: str) -> bool:
        """Whether each of some lines is one of them, or blank."""
        return bool(self._known) and self._known.issuperset(_NUMBER.sub("0", text).split("\n"))

    def count(self, number: int, line: str) -> None:
        """Count a line that is not read any further."""
        self._count(number, line.rstrip("\r\n"))


def read_failures(lines: Iterable[str | int], dull: Dull | None = None) -> Iterator[Failure]:
    """The failures of a text in its order. Records that say what goes well are left out.

    Args:
        lines: The text. A line of nothing but line feeds is so many blank lines, a number so many lines left out.
        dull: Exceptions that are only counted, where one comes after the other.
    """
    reader = _Reader()
    numbered = _without_runs(lines, reader)
    for number, line in numbered if dull is None else _without_dull(numbered, dull):
        if line[:1] == "\n":
            reader.take_blanks(len(line))
        elif line:
            yield from _read_line(reader, number, line)
        else:
            yield from reader.end()
            reader.forget_python()
    yield from reader.end()


def _without_runs(lines: Iterable[str | int], reader: _Reader) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; of many alike within a message the first ones, and then an empty one, which ends it."""
    number, same, before = 0, 0, ""
    for line in lines:
        if isinstance(line, int):
            number += line
            same, before = 0, ""
            yield number, ""
            continue
        at, number = number + 1, number + (len(line) if line[:1] == "\n" else 1)
        if line == before:
            same += 1
            if same > MOST_ALIKE and reader.is_in_prose:
                continue
        else:
            if same > MOST_ALIKE and reader.is_in_prose:  # what follows has other numbers
                yield at, ""
            same, before = 0, line
        yield at, line or "\n"


def _without_dull(numbered: Iterable[tuple[int, str]], dull: Dull) -> Iterator[tuple[int, str]]:
    """The lines but those dull ones that have one before and one behind them, which are counted."""
    waiting: tuple[int, str] | None = None
    is_after_one = False
    for item in numbered:
        if not dull.has(item[1]):
            if waiting is not None:
                yield waiting
            waiting, is_after_one = None, False
            yield item
        elif not is_after_one:
            is_after_one = True
            yield item
        else:
            if waiting is not None:
                dull.count(*waiting)
            waiting = item
    if waiting is not None:
        yield waiting


def _read_line(reader: _Reader, number: int, line: str) -> Iterator[Failure]:
    if line[:4] == "\tat " and (frame := _usual_frame(line)):
        reader.take_frame(number, *frame)
        return
    if _QUIET.match(line) and "Exception" not in line and "Skipping " not in line:
        yield from reader.take_quiet(number)
        return
    for part in _unpack(line):
        yield from reader.take(number, part)


@lru_cache(4096)  # a log repeats its stack traces
def _usual_frame(line: str) -> tuple[str, str] | None:
    """The package and the method of a frame as Java prints most."""
    found = _USUAL_FRAME.match(line)
    return None if found is None else (found[1], found[2])


#: What a sink writes when it takes a batch for one that it has.
_DROPS = re.compile(r"Skipping (?:already )?(?:complete|committed|epoch)")
#: The usual record of Spark that says what goes well: most of a log, which is told apart at once.
_QUIET = re.compile(r"\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z? (?:INFO|DEBUG|TRACE) ")
_NUMBER = re.compile(r"\d+")
#: Exceptions of which nothing is known that are remembered, and lines alike of a message that are kept.
MOST_DULL, MOST_ALIKE = 4096, 3


class _Reader:
    """The failure that is being read."""

    def __init__(self) -> None:
        self._open: Failure | None = None
        self._in_python = False
        self._muted = False
        self._chars = 0
        self._python, self._led_by = list[str](), tuple[str, ...]()

    @property
    def is_in_prose(self) -> bool:
        """True if the text being read is a message alone, of no record and no exception."""
        now = self._open
        return now is None or (now.level is None and not now.is_exception and not now.frames)

    def take(self, number: int, line: LogLine) -> Iterator[Failure]:
        """Read one line; what it ends is a failure."""
        text = line.text
        begins = text.lstrip()
        at = _PYTHON_FRAME.match(text) if begins.startswith("File ") else None
        is_behind_frame = self._in_python and line.level is None
        is_source = self._in_python and text[:1].isspace() and not (_THROWN.match(text) or _FRAME.match(text))
        self._in_python = line.level is None and (at is not None or is_source)
        if self._in_python:  # the source of a frame is indented below it, where there is one
            if at is not None and len(self._python) < MOST_FRAMES:
                self._python.append(f"{at[1]}:{at[2]}")
            return
        if begins.startswith(_OF_TRACE) and self._is_of_trace(number, text):
            return
        if not begins:
            self.take_blanks(1)
        elif caused := _CAUSED.match(text):
            self._add_cause(number, caused[1])
        elif _TRACEBACK.match(text):
            yield from self._end_traceback(text)
        elif thrown := _match_thrown(text, is_behind_frame):
            yield from self._begin_thrown(number, line, thrown)
        elif line.level is not None:
            yield from self._begin(number, line, Thrown(None, [text]))
        else:
            yield from self._go_on(number, line)

    def _end_traceback(self, text: str) -> Iterator[Failure]:
        """Read what comes before a traceback of Python, or between two."""
        if text.lstrip().startswith(("The above", "During")):
            self._led_by = () if self._open is None else self._open.python
        if not (text.lstrip().startswith(_HAS_TRACEBACK) and self._is_of_worker()):
            yield from self.end()
        self._python = []

    def _is_of_trace(self, number: int, text: str) -> bool:
        """True if a line is part of a stack trace or blank, and is read."""
        if frame := _FRAME.match(text):
            self._add_frame(number, frame[2], frame[1])
        elif frame := _CLASS_FRAME.match(text):
            self._add_frame(number, f"{frame[2]}.", frame[1])
        elif same := _SAME_FRAMES.match(text):
            if self._open is not None:
                self._open.chain[-1].shared = int(same[1])
        else:  # the frames of a task are in the message, and those of the driver go on with the stack trace
            is_of_task = text.strip() == "Driver stacktrace:" and self._open is not None and self._open.chain[-1].frames
            return _SUPPRESSED.match(text) is not None or bool(is_of_task)
        return True

    def take_quiet(self, number: int) -> Iterator[Failure]:
        """Read a record that says what goes well: it ends what was open, and what is below it is no failure."""
        yield from self.end()
        self._open, self._muted, self._in_python = Failure([Thrown(None)], number, "INFO"), True, False

    def end(self) -> Iterator[Failure]:
        """The failure that was being read."""
        if self._open is not None and not (self._muted and not self._open.is_exception and not self._tells()):
            yield self._open
        self._open, self._muted, self._chars = None, False, 0

    def forget_python(self) -> None:
        """End the traceback before: the text read next is not part of it."""
        self._python, self._in_python, self._led_by = [], False, ()

    def _take_python(self) -> tuple[str, ...]:
        """The Python frames of the exception; after frames of PySpark, also those of the query's own exception."""
        frames, led_by = tuple(self._python), self._led_by
        self._python, self._led_by = [], ()
        if frames and led_by and is_of_pyspark(frames[-1]) and not is_of_pyspark(led_by[-1]):
            return (*frames, *led_by)
        return frames

    def _tells(self) -> bool:
        """True if a record of something that goes well is the only sign of lost rows."""
        return self._open is not None and _DROPS.search(self._open.chain[0].message) is not None

    def _begin(self, number: int, line: LogLine, thrown: Thrown) -> Iterator[Failure]:
        yield from self.end()
        self._open = Failure([thrown], number, line.level, logger=line.logger)
        self._open.python = self._take_python()
        self._chars = len(line.text)
        self._muted = line.level in QUIET

    def _begin_thrown(self, number: int, line: LogLine, found: re.Match[str]) -> Iterator[Failure]:
        """An exception: of the record whose message was just read, or a failure of its own."""
        now = self._open
        is_of_record = now is not None and now.level is not None and not now.is_exception and not now.frames
        is_of_python = now is not None and now.chain[-1].exception in _OF_PY4J and line.text.startswith(": ")
        is_in_message = bool(self._python) and self._is_of_worker()
        if (
            now is not None
            and line.level is None
            and (is_of_record or is_of_python or is_in_message)
            and not self._muted
        ):
            now.chain.append(_thrown(found))
            now.python = (*now.python, *self._take_python())
        else:
            yield from self._begin(number, line, _thrown(found))
        self._add_origin(found[1])

    def _is_of_worker(self) -> bool:
        """Whether a traceback of Python is, or may be, in the message of the exception that is being read."""
        last = None if self._open is None else self._open.chain[-1]
        if last is None or last.frames or not (last.exception or last.lines):
            return False
        return last.exception in _OF_WORKERS or bool(last.lines and last.lines[-1].rstrip().endswith(_HAS_TRACEBACK))

    def _add_frame(self, number: int, frame: str, package: str) -> None:
        if self._open is None:
            self._open = Failure([Thrown(None)], number)
        frames = self._open.chain[-1].frames
        if len(frames) < MOST_FRAMES:
            frames.append(f"{package}{frame}")
            self._add_origin(package)

    def take_frame(self, number: int, package: str, frame: str) -> None:
        """Read a frame of Java."""
        self._in_python = False
        self._add_frame(number, frame, package)

    def take_blanks(self, count: int) -> None:
        """Read blank lines; those within a message alone are kept, so that its lines have their numbers."""
        self._in_python = False
        now = self._open
        if now is None or now.level is not None or len(now.chain) > 1 or now.frames:
            return
        lines = now.chain[0].lines
        lines += [""] * min(count, MOST_LINES - len(lines))

    def _add_origin(self, package: str | None) -> None:
        if package and self._open is not None and len(self._open.origins) < MOST_FRAMES:
            self._open.origins.add(package)

    def _add_cause(self, number: int, text: str) -> None:
        found = _THROWN.match(text)
        thrown = _thrown(found) if found else Thrown(None, [text])
        if self._open is None:
            self._open = Failure([thrown], number)
        elif len(self._open.chain) < MOST_CAUSES:
            self._open.chain.append(thrown)
        self._add_origin(found[1] if found else None)

    def _go_on(self, number: int, line: LogLine) -> Iterator[Failure]:
        """A further line of a message, or a text of its own after the frames of an exception."""
        last = None if self._open is None else self._open.chain[-1]
        if last is None or last.frames or len(last.lines) >= MOST_LINES or self._chars > MOST_CHARS:
            yield from self._begin(number, line, Thrown(None, [line.text]))
        else:
            last.lines.append(line.text)
            self._chars += len(line.text)


def _match_thrown(text: str, is_behind_frame: bool) -> re.Match[str] | None:
    return _THROWN.match(text) or (_RAISED.match(text) if is_behind_frame else None)


def _thrown(found: re.Match[str]) -> Thrown:
    return Thrown(found[2] or found[3], [found[4]] if found[4] else [], package=found[1] or "")


def _unpack(line: str) -> Iterator[LogLine]:
    """The lines of a line: a JSON log has a record in each, with its exception, and a long line is cut."""
    parsed = parse_line(line)
    record = _record(parsed.text)
    texts = [] if record is None else list(_texts_of(record))
    if record is None or not texts:
        yield parsed if len(parsed.text) <= MOST_CHARS else replace(parsed, text=parsed.text[:MOST_CHARS])
        for start in range(MOST_CHARS, len(parsed.text), MOST_CHARS):
            yield LogLine(parsed.text[start : start + MOST_CHARS])
        return
    level = str(record.get("level") or record.get("severity") or record.get("levelname") or "").upper() or None
    named = next((record[key] for key in _LOGGERS if isinstance(record.get(key), str)), None)
    logger = None if named is None else named.rpartition(".")[2]
    for text in texts:
        for number, part in enumerate(text.splitlines()):
            inner = parse_line(part)
            first = LogLine(inner.text, level if text is texts[0] else None, True, logger)
            yield inner if number or inner.level else first


def _record(text: str) -> dict[str, Any] | None:
    text = text.strip()
    if not text.startswith("{") or not text.endswith("}") or len(text) > MOST_JSON_CHARS:
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


#: Where loggers put a message, and where an exception.
_MESSAGES = ("msg", "message", "event", "log", "@message", "textPayload", "text")
_LOGGERS = ("logger", "logger_name", "loggerName", "category")
_EXCEPTIONS = (
    *("exception", "stack_trace", "stackTrace", "stacktrace", "stack", "error", "exc_info"),
    *("throwable", "error_detail"),
)


def _texts_of(record: dict[str, Any]) -> Iterator[str]:
    """The message of a record, its condition, and its exception as a stack trace."""
    condition = record.get("errorClass") or record.get("condition")
    message, *further = [record[key] for key in _MESSAGES if isinstance(record.get(key), str)] or [None]
    query = _query_of(record)
    if isinstance(condition, str):
        yield f"[{condition}] {message or ''}{query}"
    elif message is not None:
        yield f"{message}{query}"
    yield from (text for text in further if text is not None and "\n" in text)  # a stack trace beside the message
    for key in _EXCEPTIONS:
        if isinstance(said := record.get(key), str):
            yield said
        elif isinstance(said, dict):
            yield "\n".join(_of_exception(said, 0))
        elif isinstance(said, list):
            yield "\n".join(line for item in said if isinstance(item, dict) for line in _of_exception(item, 0))


def _query_of(record: dict[str, Any]) -> str:
    """The query of a record, as Databricks writes it; Spark has it in the context of the record."""
    context = record.get("context")
    query = next(
        (said.get("query_id") for said in (record, context) if isinstance(said, dict) and said.get("query_id")), ""
    )
    return f" [queryId = {query}]" if isinstance(query, str) and query else ""


def _of_exception(said: dict[str, Any], depth: int) -> Iterator[str]:
    """Spark's JSON form of an exception, as Java would print it."""
    name = said.get("class") or said.get("exc_type") or said.get("type")
    text = said.get("msg") or said.get("message") or said.get("exc_value") or ""
    if name:
        yield f"{'Caused by: ' if depth else ''}{name}: {text}"
    trace = said.get("stacktrace") or said.get("stackTrace")
    for frame in trace if isinstance(trace, list) else ():
        if isinstance(frame, dict):
            yield f"\tat {frame.get('class')}.{frame.get('method')}({frame.get('file')}:{frame.get('line')})"
    cause = said.get("cause")
    if isinstance(cause, dict) and depth < MOST_DEPTH:
        yield from _of_exception(cause, depth + 1)
