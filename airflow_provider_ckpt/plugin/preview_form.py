"""Form of a preview: its fields, and the values that were typed into them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

Kind = Literal["rollback", "reset"]
KINDS: tuple[Kind, ...] = ("rollback", "reset")


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Args:
        name: As the parameter of the DAG and of the address is called.
        label: For people.
        hint: An example, or what it means.
        kind: ``text``, ``number`` (whole), ``flag``, ``json``, ``list`` or ``lines``.
        is_goal: Whether it says where to; exactly one of those is given.
    """

    name: str
    label: str
    hint: str = ""
    kind: Literal["text", "number", "flag", "json", "list", "lines"] = "text"
    is_goal: bool = False


_SINK = Field(
    "sink",
    "Sink of the query",
    "file:s3://lake/orders, delta:URI, kafka, foreachBatch; without it its effect is unknown",
)
_TRIGGER = Field("trigger", "Trigger of the query", "such as processingTime, availableNow or realTime")

FIELDS: Mapping[Kind, tuple[Field, ...]] = {
    "rollback": (
        Field("to_batch", "Keep batches up to", "a batch id, such as 41", "number", True),
        Field("to_timestamp", "Or: keep batches that began up to", "2026-11-22T12:00Z", "text", True),
        Field("to_watermark", "Or: keep batches with a watermark up to", "2026-11-22T12:00Z", "text", True),
        Field("to_offsets", "Or: keep batches that have not read past", '{"0": {"orders": {"0": 500}}}', "json", True),
        Field("to_backup", "Or: go to the batch of a backup", "s3://lake/backups/ID", "text", True),
        Field("to_before_deploy", "Or: go back to before a deploy", "the XCom bookmark of its gate", "json", True),
        Field("sources", "Types of the sources", "0=kafka, 1=delta; for amounts and offsets"),
        _SINK,
        _TRIGGER,
        Field("backup_root", "Root of backups, for a batch that was purged", "s3://lake/backups"),
        Field("trim_sink_log", "Remove the dropped batches from the log of a file sink, too", "", "flag"),
    ),
    "reset": (
        Field("source", "Source, and what it reads from", "0=kafka:broker:9092, 0=delta:s3://lake/orders"),
        Field("to_earliest", "To the first offset that each partition still has", "", "flag", True),
        Field("to_latest", "Or: to the end of each partition", "", "flag", True),
        Field("to_current", "Or: stay, and only drop a batch in flight", "", "flag", True),
        Field("to_datetime", "Or: to the first records from this time on", "2026-11-22T12:00Z", "text", True),
        Field("by_duration", "Or: to the first records of the last", "36h", "text", True),
        Field("shift_by", "Or: so many offsets on; a negative number goes back", "-500", "number", True),
        Field("to_offsets", "Or: to these offsets, by topic and partition", '{"orders": {"0": 500}}', "json", True),
        Field("to_version", "Or: to the end of this version of a Delta table", "17", "number", True),
        Field("to_snapshot", "Or: to the end of this snapshot of an Iceberg table", "8271638172635", "text", True),
        Field("skip_version", "Or: past this version alone of a Delta table", "18", "number", True),
        Field("skip_snapshot", "Or: past this snapshot alone of an Iceberg table", "8271638172636", "text", True),
        Field("from_csv", "Or: to the offsets of these lines", "orders,0,500", "lines", True),
        Field("topics", "Only these topics, or partitions as orders:0,1", "orders:0,1 events", "list"),
        Field("kafka_conn_id", "Connection of type kafka", "kafka_default"),
        _SINK,
        _TRIGGER,
        Field("state_will_see_rows_again", "The state may count again what is read again", "", "flag"),
    ),
}
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_YES = ("true", "on", "1")


def read_form(kind: Kind, typed: Mapping[str, str]) -> dict[str, Any]:
    """Typed values as the DAG takes them: numbers, objects, lists, true; empty ones are left out.

    Raises PlanError, which names the field, for what is none of it.
    """
    found: dict[str, Any] = {}
    for field in FIELDS[kind]:
        text = typed.get(field.name, "").strip()
        if text and text != "false":
            found[field.name] = _value(field, text)
    return {name: value for name, value in found.items() if value is not None}


def has_goal(kind: Kind, asked: Mapping[str, Any]) -> bool:
    """True if a goal was given."""
    return any(field.is_goal and field.name in asked for field in FIELDS[kind])


def _value(field: Field, text: str) -> Any:
    match field.kind:
        case "number":
            if not _NUMBER.fullmatch(text):
                raise _wrong(field, text, "a whole number")
            return int(text)
        case "flag":
            return True if text.lower() in _YES else None
        case "json":
            return _json(field, text)
        case "list":
            return _json(field, text) if text.startswith("[") else text.split()
    return text


def _json(field: Field, text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        raise _wrong(field, text, "JSON") from None


def _wrong(field: Field, text: str, wanted: str) -> PlanError:
    return PlanError(f"{field.label!r} ({field.name}) is {wanted}, not {text!r:.60}.", hint="Nothing was done.")
