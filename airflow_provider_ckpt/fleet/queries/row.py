"""One query of a query file, in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from airflow_provider_ckpt.documents import ErrorFields
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.fleet.queries.thresholds import Measures, Threshold, judge_thresholds
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.times import AHEAD


@dataclass(frozen=True, slots=True)
class NewestBackup(Documented):
    """The newest backup of a query."""

    backup_id: Annotated[str, "id of the backup"]
    batch_id: Annotated[int, "batch that it has"]
    created_at_ms: Annotated[int, "when it was made, epoch milliseconds"]
    age_ms: Annotated[int, "milliseconds since then"]


@dataclass(frozen=True, slots=True)
class NewestChange(Documented):
    """The newest change that was made to a checkpoint, or begun."""

    plan_id: Annotated[str, "id of its plan"]
    kind: Annotated[str, "kind of the change, such as `rollback`"]
    state: Annotated[str, "`planned`, `refused`, `interrupted`, `applied` or `undone`"]
    by: Annotated[str, "who began it; empty when nobody said"]
    at_ms: Annotated[int, "when it began, epoch milliseconds"]
    age_ms: Annotated[int, "milliseconds since then"]


@dataclass(frozen=True, slots=True)
class QueryRow(Documented):
    """One query of a query file.

    Args:
        failure: Why its checkpoint could not be read; None when it was.
    """

    last_keys: ClassVar = ("checkpoint", "error")

    name: Annotated[str, "name of the query in the file"]
    location: Annotated[str, "URI of the checkpoint"]
    running: Annotated[bool | None, "whether the query runs; null when nobody can say"] = None
    running_unknown: Annotated[str | None, "why nobody can say that"] = None
    running_said: Annotated[str | None, "what the engine says of each run that it knows, or null"] = None
    watermark_delay_ms: Annotated[
        int | None, "from the watermark of the newest committed batch to its begin; null without a watermark"
    ] = None
    behind_ms: Annotated[
        int | None, "age of the oldest unread data of all sources; 0 when all is read, null when it is not known"
    ] = None
    backup: Annotated[NewestBackup | None, "newest backup; null when there is none, or it is not known"] = None
    backup_unknown: Annotated[str | None, "why the newest backup is not known"] = None
    change: Annotated[NewestChange | None, "newest change; null when there is none, or it is not known"] = None
    change_unknown: Annotated[str | None, "why the newest change is not known"] = None
    thresholds: Annotated[tuple[Threshold, ...], "thresholds of the file (`alert`), each with what was measured"] = ()
    checkpoint: Annotated[FleetRow | None, "checkpoint, as in `ckpt fleet`; null when it could not be read"] = None
    failure: CheckpointError | None = None

    @property
    def error(self) -> Annotated[ErrorFields | None, "why the checkpoint could not be read; else null"]:
        """Why the checkpoint could not be read."""
        return None if self.failure is None else self.failure.to_dict()

    @property
    def worst(self) -> str | None:
        """The severity of the worst finding; None without one."""
        return None if self.checkpoint is None else self.checkpoint.worst

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error; a source that cannot be asked is none."""
        return self.checkpoint is not None and any(item.severity == "error" for item in self.checkpoint.findings)

    @property
    def alarms(self) -> tuple[Threshold, ...]:
        """The thresholds that do not hold: passed, or not known."""
        return tuple(threshold for threshold in self.thresholds if not threshold.holds)

    @property
    def exit_code(self) -> int:
        """0 clean, 1 for a threshold, an error or a source that does not answer; what a checkpoint that fails has."""
        if self.failure is not None:
            return self.failure.exit_code
        return GateFailedError.exit_code if self.alarms or self.worst == "error" else 0

    @property
    def urgency(self) -> int:
        """Order of rows for people, the most urgent first."""
        if self.failure is not None:
            return 0
        if self.exit_code:
            return 1
        return {"warning": 2, "note": 3}.get(self.worst or "", 4)


def delay_of(row: FleetRow) -> int | None:
    """From the watermark of the newest committed batch to its begin, milliseconds; None without a watermark."""
    if not row.watermark_ms or row.planned_at_ms is None:  # 0 is none
        return None
    return row.planned_at_ms - row.watermark_ms


def thresholds_of(row: FleetRow, query: Query, file: QueryFile) -> tuple[Threshold, ...]:
    """The thresholds of a query, each with what was measured of its checkpoint.

    Args:
        row: The checkpoint and its sources.
        query: The query.
        file: The file that declares it.
    """
    why = "" if row.error is None else f"the checkpoint could not be read: {row.error.rstrip('.')}"
    measures = Measures(
        row.sources,
        row.last_commit_age_ms,
        delay_of(row),
        why=why,
        is_committed=row.latest_committed_batch is not None,
        sources_why=(row.lag_error or "").rstrip("."),
        commit_why=AHEAD if row.last_commit_ms is not None else "",
    )
    origins = {key: file.origin(query, f"alert.{key}") for key in query.alert.items()}
    return judge_thresholds(query.alert, measures, {key: at for key, at in origins.items() if at is not None})


def exit_code_of(rows: tuple[QueryRow, ...] | list[QueryRow]) -> int:
    """The worst exit code of some rows."""
    return max((row.exit_code for row in rows), default=0)
