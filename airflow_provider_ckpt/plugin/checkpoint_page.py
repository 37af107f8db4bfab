"""Content of the page of a checkpoint. Each part is there, or a sentence says why it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.plugin.source_positions import Source
from airflow_provider_ckpt.plugin.timeline import Batch, Change, ConfChange, Line

#: Findings, backups, changes and steps of a plan that are listed.
MOST_FINDINGS, MOST_BACKUPS, MOST_CHANGES, MOST_STEPS = 100, 50, 50, 200
#: Characters of a conf's value.
MOST_VALUE = 500


@dataclass(frozen=True, slots=True)
class Latest:
    """Where the query is. Times are epoch milliseconds; None where nothing says."""

    query_id: str | None
    latest_planned: int | None
    latest_committed: int | None
    in_flight: int | None
    committed_at_ms: int | None
    watermark_ms: int | None
    offset_log_version: int | None
    commit_log_version: int | None
    stateful: bool
    unknown: tuple[str, ...]
    confs: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup of the query."""

    root: str
    backup_id: str
    batch_id: int
    created_at_ms: int
    objects: int
    total_bytes: int
    message: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan; its number begins at 1."""

    number: int
    do: str
    place: str
    name: str
    size: int


@dataclass(slots=True)
class CheckpointPage:
    """The page.

    Args:
        location: URL of the checkpoint.
        read_at_ms: When it was read, epoch milliseconds.
        problem: Why nothing could be read; empty when something was.
        status: HTTP status.
        latest: The latest position of the query.
        lines: The timeline, newest first.
        batches: The batches in it.
        charts: SVG.
        entries: How many entries both logs have.
        older: Batch before which older batches are; None when there are none.
        before: The batch before which this page begins; None for the newest.
        sources: Their positions.
        conf_changes: Newest first.
        findings: The worst first, as many as are shown.
        more_findings: How many more there are.
        backups: The newest first.
        changes: The newest first.
        unreadable: Sentences on records of changes and manifests of backups that cannot be read.
        missing: Why a part is not there, by part: ``latest``, ``log``, ``sources``, ``findings``, ``backups``,
            ``changes``.
    """

    location: str
    read_at_ms: int
    problem: str = ""
    status: int = 200
    latest: Latest | None = None
    lines: list[Line] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    entries: int = 0
    older: int | None = None
    before: int | None = None
    sources: list[Source] = field(default_factory=list)
    conf_changes: list[ConfChange] = field(default_factory=list)
    findings: Sequence[Finding] = ()
    more_findings: int = 0
    backups: list[Backup] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def worst(self) -> str | None:
        """The worst severity that was found."""
        return self.findings[0].severity if self.findings else None


def steps_of(plan: Plan) -> tuple[list[Step], int]:
    """The steps that are shown, the first and the last of a long plan; and how many are left out between them."""
    steps = [
        Step(number, action.do, action.place, action.name, action.size) for number, action in enumerate(plan.actions, 1)
    ]
    left_out = max(0, len(steps) - MOST_STEPS)
    half = MOST_STEPS // 2
    return (steps[:half] + steps[-half:] if left_out else steps), left_out
