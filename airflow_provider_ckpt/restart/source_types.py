"""Stops of a source of a declared type: at the files that it keeps in the checkpoint, and at its offsets.

Each type reads what it has written itself, and stops with an error of its own at what another type has left there.
Measured for every ordered pair of the types of Spark, Kafka, Delta and Iceberg (``tests/oracle/types_run.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import sources
from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.checks.logs import newest_entry
from airflow_provider_ckpt.checks.remedies import OR_NEW_LOCATION
from airflow_provider_ckpt.codec import jvm_text, layout
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_log import FileSourceLog, InitialOffset, RateStart
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import (
    CheckpointFormatError,
    IncompleteLogFileError,
    MalformedEntryError,
    UnsupportedVersionError,
)
from airflow_provider_ckpt.query.deploy import DeploySpec

_NO_NUMBER, _NO_VERSION, _NO_OFFSET = "NumberFormatException", "IllegalStateException", "IllegalArgumentException"

# --- offsets ---------------------------------------------------------------------------------------------------------


def offset_problem(kind: str, text: str) -> tuple[str, str | None] | None:
    """Why an offset is none of a type, in words, and what Spark stops with at it; None when it is one.

    The error is None for a type that a package has registered: nobody knows what its source does.
    """
    try:
        if kind == "file":
            file_offset.decode(text)
        elif kind in _LONGS and jvm_text.parse_long(text) is None:
            return "it is not a whole number", _NO_NUMBER
        else:
            SourceOffset(text).view(kind)
    except MalformedEntryError as error:
        if kind == "file":
            return error.message, error.spark_error
        return error.message, _OFFSET_ERRORS.get(kind, _of_json)(text) if kind in KINDS.built_in else None
    return None


#: Types whose offset is a number, which Spark reads as Java does.
_LONGS = ("rate", "socket")


def _of_json(text: str) -> str:
    """A reader by json4s."""
    try:
        jvm_text.read_json_object(text, "", "offset")
    except MalformedEntryError as error:
        return str(error.spark_error)
    return "MappingException"


def _of_kafka(text: str) -> str:
    return _NO_OFFSET


def _of_delta(text: str) -> str:
    try:
        value = jvm_text.read_json(text, "", "offset")
    except MalformedEntryError as error:
        return str(error.spark_error)
    return "DELTA_INVALID_SOURCE_VERSION" if isinstance(value, dict) else "MismatchedInputException"


def _of_iceberg(text: str) -> str:
    try:
        jvm_text.read_json(text, "", "offset")
    except MalformedEntryError as error:
        return str(error.spark_error)
    return _NO_OFFSET


_OFFSET_ERRORS: Mapping[str, Callable[[str], str]] = {
    "kafka": _of_kafka,
    "delta": _of_delta,
    "iceberg": _of_iceberg,
}

# --- their own files -------------------------------------------------------------------------------------------------


def own_files(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT212: what a source keeps for itself is what one of its declared type writes; it reads that first of all.

    Of a file source that reads from its beginning these are the errors of its own log.
    """
    entry = newest_entry(view)
    offsets = dict(entry.offsets) if entry is not None else {}
    for source_id, kind in (deploy.source_kinds or {}).items() if view.complete else ():
        match kind:
            case "file" if offsets.get(source_id) is None:
                yield from sources.unreadable_log(view, source_id)
            case "rate":
                yield from _own_file(view, source_id, kind, f"{layout.SOURCES}/{source_id}/0", _error_of_rate)
            case "kafka" if offsets.get(source_id) is None:  # else it does not read where it began
                yield from _own_file(view, source_id, kind, f"{layout.SOURCES}/{source_id}/0", _error_of_kafka)
            case "iceberg":
                yield from _own_file(view, source_id, kind, layout.initial_offset_file(source_id), _error_of_iceberg)


def _own_file(
    view: CheckpointView, source_id: str, kind: str, name: str, error_of: Callable[[bytes], str | None]
) -> Iterator[Finding]:
    if name in view.damaged:
        error: str | None = _error_of_damage(view.damaged[name], kind, error_of)
    elif (entry := view.entries.get(name)) is not None:
        error = error_of(entry.encode())
    else:
        return
    if error is not None:
        yield an_error(
            "CKPT212",
            f"{name} is {_what(view, name)}, not what a {kind} source such as source {source_id} of the deploy writes "
            "there",
            view.latest_planned,
            name,
            f"Keep the sources, their types and their order, {OR_NEW_LOCATION}",
            error,
        )


def _what(view: CheckpointView, name: str) -> str:
    match view.entries.get(name):
        case FileSourceLog():
            return "an entry of the log of a file source"
        case RateStart():
            return "the start of a rate source"
        case InitialOffset():
            return "where another source began"
    return "a file of another form"


def _error_of_damage(error: CheckpointFormatError, kind: str, error_of: Callable[[bytes], str | None]) -> str | None:
    if isinstance(error, IncompleteLogFileError):
        return error.spark_error if kind == "iceberg" else "AssertionError"
    if kind == "rate" and not (isinstance(error, UnsupportedVersionError) and error.head.startswith(b"v")):
        return error_of(error.head)
    return error.spark_error


def _error_of_rate(data: bytes) -> str | None:
    """``RateStreamMicroBatchStream``: a version line, and a number alone."""
    version, newline, rest = data.decode("utf-8", "replace").partition("\n")
    if not version.startswith("v") or not newline:
        return _NO_VERSION
    return _NO_NUMBER if jvm_text.parse_long(rest) is None else None


def _error_of_kafka(data: bytes) -> str | None:
    """``KafkaSourceInitialOffsetWriter``: it passes over the first byte, then a version line, or none of Spark 2.1."""
    text = data[1:].decode("utf-8", "replace")
    if text.startswith("v"):
        _, newline, text = text.partition("\n")
        if not newline:
            return _NO_VERSION
    return None if offset_problem("kafka", text) is None else _NO_OFFSET


def _error_of_iceberg(data: bytes) -> str | None:
    """``InitialOffsetStore``: JSON, whose reader passes over a byte order mark."""
    text = data.decode("utf-8-sig", "replace")
    return None if offset_problem("iceberg", text) is None else _of_iceberg(text)
