"""One line of a log: what is written in front of a message by loggers, containers and Airflow, and the message."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_TIME = re.compile(
    r"\s*\[?\d{2,4}[-/]\d{2}[-/]\d{2}(?:T|,? )\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
    r"\]?[ ,|]?"
)
_CONTAINER = re.compile(r"(?:stderr|stdout) [FP] ")
_AIRFLOW = re.compile(r"\s*\{[\w./-]{1,100}:\d{1,6}\} ")
_THREAD = re.compile(r"\s*\[[^\]]{1,200}\] (?=\S)")
_LEVEL = re.compile(
    r"\s*\[?(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|FATAL|CRITICAL)\]?(?=[\s:|-])[\s:|-]{1,3}"
)
_LOGGER = re.compile(r"(?:\[[^\]]{1,200}\] )?([\w.$-]{1,200})(?::\d{1,6})?(?: -|:) ")
#: How Spark logs, which is told apart at once.
_USUAL = re.compile(
    r"\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z? "
    r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ([\w.$-]{1,200}): "
)
_CONDITION = re.compile(r"\s*\[[A-Z][A-Z0-9_.]+\]")
_THROWN = re.compile(r"(?:Exception|Error|Throwable|NotCompatible)$|^(?:Caused by|Suppressed)$")
#: Levels of records that say what goes well.
QUIET = frozenset({"TRACE", "DEBUG", "INFO", "NOTICE"})


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line without what was written in front of it.

    Args:
        text: The message, or a line of it; its indentation is kept.
        level: Level of the record that begins here, such as ``ERROR``; None when no record does, or it names none.
        stamped: True if a time was in front of it.
        logger: Class that logged the record, without its package; None where none is named.
    """

    text: str
    level: str | None = None
    stamped: bool = False
    logger: str | None = None


def parse_line(line: str) -> LogLine:
    """A line of a log, a terminal or a mail. Text of no known layout is taken as the message."""
    line = line.rstrip("\r\n")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if (found := _USUAL.match(line)) and not _THROWN.search(found[2]):
        return LogLine(line[found.end() :], found[1], True, found[2].rpartition(".")[2])
    level, stamped, logger = None, False, None
    while True:
        if found := _TIME.match(line):
            stamped = True
        elif stamped and (found := _CONTAINER.match(line) or _AIRFLOW.match(line)):
            pass
        elif found := _LEVEL.match(line):
            level = found[1]
        elif stamped and level is None and not _CONDITION.match(line) and (found := _THREAD.match(line)):
            pass
        else:
            break
        line = line[found.end() :]
    if level is not None and (found := _LOGGER.match(line)) and not _THROWN.search(found[1]):
        line, logger = line[found.end() :], found[1].rpartition(".")[2]
    return LogLine(line, level, stamped, logger)
