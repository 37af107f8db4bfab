"""Facts in a message about the checkpoint: its location, the query, a batch, a partition, offsets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from string import Formatter

#: A location, and what is in front of it in the messages of Spark.
_PATH = r"(?:[a-z][a-z0-9+.-]{1,20}:/{1,3}|/)[^\s,;'\"\]\[<>()]{1,1000}"
_STATED = re.compile(
    rf"(?:checkpointLocation[ =]+|Checkpoint location |checkpoint location:? |Checkpoint root )"
    rf"'?({_PATH}?)/?'?(?=[\s,;'\]]|\.?$)"
    rf"|Use ({_PATH}?)/? to store the query checkpoint"
)
#: A file of a checkpoint: the path before it is the location.
_INSIDE = re.compile(
    r"/(?:(?:offsets|commits)/[.+-]?\d+|state/\d+/|sources/[\w-]+/|metadata(?![\w/])"
    r"|(?:offsets|commits|state)(?=[\s.,;]|$))"
)
#: What a file in a message is, by its path: the log of a file sink is outside of the checkpoint.
_PLACE = re.compile(
    r"/(?:(?P<sink_log>_spark_metadata)(?![\w-])"
    r"|(?P<offsets>offsets)(?=/[.+-]?\d|/?[\s,;'\"\])?]|\.?$)|(?P<commits>commits)(?=/[.+-]?\d|/?[\s,;'\"\])?]|\.?$)"
    r"|(?P<state>state)(?=/\d{1,6}(?:/|\b)|/?[\s,;'\"\])?]|\.?$)"
    r"|(?P<source_files>sources)(?=/\d{1,6}/(?:shard-|_schema_log|rocksdb/))|(?P<sources>sources)(?=/[\w-]{1,100}/)"
    r"|(?P<metadata>metadata)(?![\w/.-]*\w))"
)
#: ``file=/data/ck/offsets/7``, as HDFS says it.
_KEY = re.compile(r"\A\w{1,20}=(?=/|[a-z][a-z0-9+.-]{0,20}:)")
_ENDS_WITH_PATH = re.compile(rf"{_PATH}$")
#: What no path of a message has in it.
_NO_PATH = re.compile(r"[\s,;'\"\]\[<>()?]")
#: Addresses in the messages of ABFS and GCS, and the locations that they mean.
_REQUESTS = (
    (
        re.compile(r"^https?://([\w-]+)\.(?:dfs|blob)\.core\.windows\.net/([\w$-]+)/"),
        r"abfss://\2@\1.dfs.core.windows.net/",
    ),
    (re.compile(r"^https?://(?:www|storage)\.googleapis\.com/(?:\w+/)?storage/v1/b/([\w.-]+)/o/"), r"gs://\1/"),
)
#: An address of GCS that has the name of its object as a parameter.
_NAMED_OBJECT = re.compile(
    r"(https?://(?:www|storage)\.googleapis\.com/(?:\w+/)?storage/v1/b/[\w.-]{1,100}/o)"
    r"\?(?:[^\s\"'&]{0,200}&){0,10}name=([^\s\"'&]{1,1024})[^\s\"']{0,500}"
)
#: Longer paths are not searched for.
_PATH_CHARS = 1024
_STATE_FILE = re.compile(
    r"/state/(?P<operator>\d{1,6})/(?P<partition>\d{1,6})/(?:[\w-]{1,100}/)?(?P<state_version>\d{1,18})[._][\w.-]*"
)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_QUERY = re.compile(rf"\bid ?= ?(?P<query_id>{_UUID})\b(?:, runId ?= ?(?P<run_id>{_UUID}))?")
#: Databricks has only the first characters of the id.
_QUERY_ID = re.compile(rf"\bquery_?[iI]d[\"']? ?[=:] ?[\"']?(?P<query_id>{_UUID}|[0-9a-f]{{5}}(?=[\]\s,;]))")
_TOPIC = re.compile(r"(?:[Pp]artition|topic partition) (?P<topic_partition>[\w.-]{1,249}-\d{1,9})\b")
_RANGE = re.compile(r"offset(?:s|)? \[(?P<from_offset>\d{1,19}), ?(?P<to_offset>\d{1,19})\)")
_BATCH = re.compile(r"\b(?:batch(?:Id)?[ =:]{1,3}|jobs detected for )(?P<batch>\d{1,18})\b")
_VERSION = re.compile(r"\b(?:at|from|in) version (?P<version>\d{1,18})\b")
_PARTIAL = (_STATE_FILE, _QUERY_ID, _QUERY, _TOPIC, _RANGE, _BATCH, _VERSION)


def facts_of(message: str) -> dict[str, str]:
    """Facts in a message, by name; ``location`` is the checkpoint's."""
    facts: dict[str, str] = {}
    message = plain_addresses(message)
    for pattern in _PARTIAL:
        if found := pattern.search(message):
            facts |= {name: value for name, value in found.groupdict().items() if value is not None}
    if location := location_in(message):
        facts["location"] = location
    return facts


def plain_addresses(message: str) -> str:
    """A message where the addresses of GCS have the name of their object as a path, in whichever place it is."""
    if "%2F" not in message and "%2f" not in message:
        return message
    return _NAMED_OBJECT.sub(r"\1/\2", message).replace("%2F", "/").replace("%2f", "/")


def location_in(message: str) -> str | None:
    """The checkpoint location that a message names, by itself or by a file in it."""
    if stated := stated_location(message):
        return stated
    for inside in _INSIDE.finditer(message):
        before = _NO_PATH.split(message[max(0, inside.start() - _PATH_CHARS) : inside.start()])[-1]
        if found := _ENDS_WITH_PATH.match(before):
            return _plain(found[0])
    return None


def stated_location(message: str) -> str | None:
    """The checkpoint location that a message states as such."""
    found = _STATED.search(message)
    return _plain(found[1] or found[2]) if found else None


def file_in(message: str) -> tuple[str, str] | None:
    """The first file of a checkpoint, or of the log of a file sink, in a message: what it is, and its path.

    What it is: ``offsets``, ``commits``, ``state``, ``sources``, ``source_files`` (of a connector), ``metadata`` or
    ``sink_log``.
    """
    if "/" not in message:
        return None
    for found in _PLACE.finditer(message):
        path = path_around(message, found.start())
        if path is not None and found.lastgroup is not None:
            return found.lastgroup, path
    return None


def path_around(message: str, at: int) -> str | None:
    """The path of which a slash of a message is a part; None where it is none."""
    before = _KEY.sub("", _NO_PATH.split(message[max(0, at - _PATH_CHARS) : at])[-1])
    if not _ENDS_WITH_PATH.match(before):
        return None
    after = _NO_PATH.split(message[at : at + _PATH_CHARS], maxsplit=1)[0]
    return f"{before}{after}".rstrip(".:")


def _plain(location: str) -> str:
    """``file:/data/x`` as ``/data/x``, and the address of a request as the location of a storage."""
    for address, storage in _REQUESTS:
        location = address.sub(storage, location)
    return re.sub(r"^file:/{0,2}(?=/)", "", location).rstrip("/") or "/"


def fill(command: str, facts: Mapping[str, str]) -> str:
    """A command with what is known; what is not is a word in capitals.

    A value comes from a text of others: it is quoted, and none is taken for an option.
    """
    names = [name for _, name, _, _ in Formatter().parse(command) if name]
    return command.format_map({name: _value(name, facts.get(name)) for name in names})


def cut(message: str, most: int, found: str = "") -> str:
    """A long message around the words that are known, or without its middle: what failed is first, why is last."""
    if len(message) <= most:
        return message
    if found:
        start = max(0, min(message.find(found) - most // 4, len(message) - most))
        end = start + most
        return f"{'…' if start else ''}{message[start:end]}{'…' if end < len(message) else ''}"
    return f"{message[: most // 3]} … {message[-(most - most // 3) :]}"


def same_query(one: str | None, other: str | None) -> bool:
    """True if two ids may be of one query: one is not known, or is the beginning of the other."""
    if one is None or other is None:
        return True
    one, other = one.lower(), other.lower()
    return one.startswith(other) or other.startswith(one)


def _value(name: str, value: str | None) -> str:
    if value is None or value.startswith("-") or not value.isprintable():
        return name.upper()
    return shlex.quote(value)


def first_of(found: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Facts of several messages; the first that says a thing is believed."""
    facts: dict[str, str] = {}
    for item in found:
        facts = {**item, **facts}
    return facts
