"""Statements of Spark SQL that define streaming tables and flows of a pipeline, as far as their text says it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_PART = r"(?:`(?:[^`]|``)+`|[\w-]+)"
_NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(
    rf"(?is)\A\s*CREATE\s+(?:OR\s+REFRESH\s+)?STREAMING\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<table>{_NAME})"
)
_FLOW = re.compile(
    rf"(?is)\A\s*CREATE\s+FLOW\s+(?P<flow>{_NAME}).*?\bAS\s+(?:INSERT\s+INTO|AUTO\s+CDC\s+INTO)\s+(?:ONCE\s+)?(?P<target>{_NAME})"
)
_USING = re.compile(rf"(?is)\bUSING\s+(?P<format>{_PART})")
_AS = re.compile(r"(?is)\bAS\s+(?:SELECT|WITH|FROM|\(|TABLE|VALUES)\b|\bAS\s*\(")
_STREAM = re.compile(rf"(?is)\bSTREAM\s*(?:\(\s*(?P<inside>{_NAME})\s*\)|(?P<name>{_NAME}))")
_IGNORED = re.compile(r"(?is)\A\s*CREATE\s+(?:OR\s+\w+\s+)?(?:TEMPORARY|TEMP|MATERIALIZED)\s+VIEW\b")
#: Sets a conf of all that is behind it in the file; a text in quotes is not kept.
_SET = re.compile(r"(?is)\A\s*SET\s+(?P<key>[\w.]+)\s*=\s*(?P<value>[^'\"`]*?)\s*\Z")
#: Gives the names behind it another catalog or database.
_MOVES = re.compile(r"(?is)\A\s*(?:USE|SET\s+CATALOG)\b")
#: A text in quotes, a name in backticks, a comment, or the end of a statement.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|;", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement defines.

    Args:
        line: Its line, from 1.
        table: The parts of the name of a streaming table; empty for none.
        format: What the table keeps its rows in, where that is said.
        flow: The parts of the name of a flow; empty for none.
        target: The parts of the name of what the flow writes to.
        reads: Tables that it reads as streams.
        unread: Why it is not known what it defines; empty when it is.
        confs: Confs that the file has set for the flow.
    """

    line: int
    table: tuple[str, ...] = ()
    format: str | None = None
    flow: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    reads: tuple[tuple[str, ...], ...] = ()
    unread: str = ""
    confs: Mapping[str, str] = field(default_factory=dict)


def identifier(text: str) -> tuple[str, ...]:
    """The parts of a name such as ``lake.db.`my.table```; empty when it is no name."""
    if not re.fullmatch(rf"\s*{_NAME}\s*", text):
        return ()
    return tuple(_plain(part) for part in re.findall(_PART, text))


def read_sql(text: str) -> Iterator[Statement]:
    """What each statement of a file defines; texts and comments in it say nothing."""
    confs = dict[str, str]()
    for line, statement in _statements(text):
        what = " ".join(statement.split()[:3])
        if _MOVES.match(statement):
            yield Statement(line, unread=f"behind {what:.40} names are of another catalog or database")
            return
        if said := _SET.match(statement):
            confs[said["key"]] = said["value"]
        elif table := _TABLE.match(statement):
            parts = identifier(table["table"])
            rest = statement[table.end() :]
            body = _AS.search(rest)
            using = _USING.search(rest[: body.start()] if body else rest)
            format_ = _plain(using["format"]).lower() if using else None
            is_flow = body is not None
            reads = _reads(rest) if is_flow else ()
            flow_parts = parts if is_flow else ()
            yield Statement(line, parts, format_, flow_parts, flow_parts, reads, confs={**confs})
        elif flow := _FLOW.match(statement):
            target = identifier(flow["target"])
            reads = _reads(statement[flow.end() :])
            yield Statement(line, flow=identifier(flow["flow"]), target=target, reads=reads, confs={**confs})
        elif statement.strip() and not _IGNORED.match(statement):
            yield Statement(line, unread=f"{what:.40} is no definition that is known here")


def _reads(text: str) -> tuple[tuple[str, ...], ...]:
    found = (identifier(each["inside"] or each["name"]) for each in _STREAM.finditer(text))
    return tuple(dict.fromkeys(found))


def _plain(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with its line; comments are spaces, and texts are empty."""
    parts, at, line = list[str](), 0, 1
    for token in _TOKEN.finditer(text):
        parts.append(text[at : token.start()])
        at, said = token.end(), token[0]
        if said == ";":
            yield _told(parts, line)
            parts, line = [], text.count("\n", 0, at) + 1
        else:
            parts.append(said if said.startswith("`") else "''" if said[0] in "'\"" else " " + "\n" * said.count("\n"))
    parts.append(text[at:])
    yield _told(parts, line)


def _told(parts: list[str], line: int) -> tuple[int, str]:
    statement = "".join(parts)
    begins = len(statement) - len(statement.lstrip())
    return line + statement.count("\n", 0, begins), statement
