"""The plan of a repair: the entries that the log of a file sink lacks are written, the newest first.

While one of them is missing, readers of the table and the next compaction stop at it with Spark's own condition, so no
prefix of the steps gives readers a part of the table for the whole: the compacted entry, from which they begin, comes
last. The query itself goes by the newest batch in the log, which the first step makes the one that was committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_provider_ckpt.change.plan.actions import Action, Create, Replace
from airflow_provider_ckpt.change.plan.later_batches import deletes_of, requirements_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.repair.share import Share, shares_by_effect
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.source_log import FileSinkLog, SinkFileStatus
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import EFFECTS, SinkEffect

#: What the steps of a plan may hold; its record has to be read again.
_MOST_CHARACTERS = 32 << 20


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry that the log gets.

    Args:
        name: Its name.
        data: Its content.
        sha256_before: SHA-256 of what is there now and cannot be read, hex; empty when nothing is.
    """

    name: str
    data: str
    sha256_before: str = ""


def content_of(statuses: Iterable[SinkFileStatus]) -> str:
    """An entry that names these files, as Spark writes it."""
    return FileSinkLog(tuple(statuses)).encode().decode()


def plan_repair(
    view: CheckpointView,
    log: SinkLog,
    entries: Sequence[NewEntry],
    planned_at_ms: int,
    *,
    outdated: Sequence[str] = (),
    effects: tuple[SinkEffect, ...],
    notes: tuple[str, ...] = (),
    source: str = "",
    asked: str = "",
) -> Plan:
    """Write entries of a log.

    Args:
        view: The whole checkpoint.
        log: The log as it is.
        entries: New entries, the newest batch first.
        planned_at_ms: Now, epoch milliseconds.
        outdated: Names of entries that go at last.
        effects: Effect on the rows.
        notes: The share of each batch, and why.
        source: Location of the copy that entries come from, or empty.
        asked: The decisions about batches.

    Raises:
        PlanError: The entries are too large for a plan, or something else is where one belongs.
    """
    if sum(len(entry.data) for entry in entries) > _MOST_CHARACTERS:
        raise PlanError(
            "the entries that the log of the sink needs are larger than 32 MiB, and a plan cannot hold them.",
            location=log.location,
            hint="Nothing was done. Restore _spark_metadata from a copy of the table.",
        )
    actions = [action for entry in entries for action in _steps(log, entry)]
    actions += deletes_of(log.objects, outdated, "sink")
    return Plan(
        kind="repair",
        location=view.location,
        query_id=view.query_id or "",
        batch_id=view.latest_committed or 0,
        planned_at_ms=planned_at_ms,
        requirements=tuple(requirements_of(view, actions, log)),
        actions=tuple(actions),
        effects=effects,
        source=source,
        sink=log.location,
        notes=notes,
        asked=asked,
    )


def _steps(log: SinkLog, entry: NewEntry) -> list[Action]:
    """Write one entry; a checksum file of what was there would not fit it."""
    if entry.name in log.folders:
        raise PlanError(
            "there is a directory where an entry of the sink's log belongs.",
            location=log.location,
            name=entry.name,
            hint="Nothing was done. Move the directory out of the log.",
        )
    sidecars: list[Action] = [item for item in deletes_of(log.objects, [entry.name], "sink") if item.name != entry.name]
    stored = log.objects.get(entry.name)
    if stored is None:
        return [*sidecars, Create(entry.name, "sink", entry.data)]
    return [
        *sidecars,
        Replace(entry.name, "sink", stored.size, stored.identity, entry.sha256_before, entry.data),
    ]


def effects_of(sink: str, shares: Sequence[Share], behind: str = "") -> tuple[SinkEffect, ...]:
    """Effects on the rows of a table: each kind of effect once, from the best to the worst.

    Args:
        sink: Kind and location.
        shares: Shares of the batches.
        behind: The reason to give when all is exact.
    """
    reasons = shares_by_effect([share for share in shares if share.effect != "exact"])
    found = tuple(SinkEffect(sink, effect, reasons[effect], _REMEDY) for effect in EFFECTS if effect in reasons)
    return found or (SinkEffect(sink, "exact", behind),)


_REMEDY = (
    "Give a copy of _spark_metadata with --copy, or decide by name with --adopt and --empty. A rollback to the batch "
    "before (ckpt rollback with --trim-sink-log) writes the batches again, as long as the source has their rows."
)
