"""Changes by ckpt that are recorded beside a checkpoint, as the cause of what a query says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.change.plan.actions import Close, Create, Delete
from airflow_provider_ckpt.change.record.find_removed import way_back
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.explain.explanation import Explanation
from airflow_provider_ckpt.explain.page import Cause
from airflow_provider_ckpt.times import time_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.record.journal import Record

#: The rule of the cause that says that a checkpoint was fenced.
_FENCED = "CKPT151"
#: States of records whose steps were taken, some or all.
_TAKEN = frozenset({"applied", "interrupted", "undone"})
#: A batch whose entry Spark found there already, and one that it lacks.
_HAS = re.compile(r"jobs detected for (\d{1,18})|concurrently using \S{1,2000}/offsets/(\d{1,18})")
_LACKS = re.compile(r"[Bb]atch (\d{1,18}) (?:doesn't exist|not found in offset log)")
_CONCURRENT = frozenset({"CONCURRENT_STREAM_LOG_UPDATE", "_LEGACY_ERROR_TEMP_2207"})


@dataclass(frozen=True, slots=True)
class OwnChange:
    """A change that explains an error.

    Args:
        record: The recorded change.
        sentence: A sentence for people, which says that it is the cause.
        cause: The cause in place of that of the text; None where the text has it.
    """

    record: Record
    sentence: str
    cause: Cause | None = None


def find_own_change(item: Explanation, records: Sequence[Record], location: str) -> OwnChange | None:
    """The newest change that explains an error: it fenced the very batch, or took away the very file.

    ``records`` are the changes of the checkpoint at ``location``, oldest first.
    """
    for record in reversed([record for record in records if record.state in _TAKEN]):
        found = _fenced(item, record) or _removed(item, record, way_back(record, records, location))
        if found is not None:
            return found
    return None


def interrupted(records: Iterable[Record]) -> str | None:
    """Evidence that a change was interrupted, which comes before everything else; None when none was."""
    for record in records:
        if record.state == "interrupted":
            return (
                f"A change by ckpt is not complete, the {_said(record)}: run its command again or take it back before "
                "anything else; ckpt history says how."
            )
    return None


def _said(record: Record) -> str:
    when = record.begun_at_ms or record.plan.planned_at_ms
    return f"{record.plan.called} {record.plan.plan_id} of {time_text(when)} by {record.by or 'somebody'}"


def _fenced(item: Explanation, record: Record) -> OwnChange | None:
    """The change as the cause, if it wrote the entry that Spark found."""
    if item.cause is None or item.cause.rules != (_FENCED,):
        return None
    found = _HAS.search(item.match.message)
    batch = next((number for number in found.groups() if number), None) if found else item.facts.get("batch")
    if batch is None or not batch.isdecimal():
        return None
    entry = layout.offset_entry(int(batch))
    if not any(isinstance(step, Create | Close) and step.spot == ("checkpoint", entry) for step in record.plan.actions):
        return None
    return OwnChange(record, f"ckpt wrote {entry} to stop the query: the {_said(record)}. No second query is needed.")


def _removed(item: Explanation, record: Record, back: str) -> OwnChange | None:
    """The change as the cause, if it removed the file that Spark lacks."""
    file = _file(item)
    if file is None or item.match.condition in _CONCURRENT:
        return None
    if not any(isinstance(step, Delete) and step.spot == ("checkpoint", file) for step in record.plan.actions):
        return None
    cause = Cause(
        "A change by ckpt took this file away",
        f"ckpt removed {file} on purpose, with the {_said(record)}, and a query that was still running, or that uses a "
        "copy of the checkpoint of before, wanted it. The checkpoint is what the change made of it.",
        commands=("ckpt history {location}", "ckpt check {location} --deep"),
    )
    return OwnChange(record, f"ckpt removed {file}: the {_said(record)}{back}.", cause)


def _file(item: Explanation) -> str | None:
    """The name, inside the checkpoint, of the file that an error is about."""
    location, path = item.facts.get("location"), item.facts.get("file", "")
    for root in ("/offsets/", "/commits/", "/sources/", "/state/"):
        before, slash, name = path.rpartition(root)
        if slash and before:
            return f"{root.strip('/')}/{name}"
    if location is not None and (found := _LACKS.search(item.match.message)):
        return layout.offset_entry(int(found[1]))
    return None
