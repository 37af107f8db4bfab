"""Retention: which backups to keep, as a pure decision that says why, and the plan and the receipt of a prune."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from airflow_provider_ckpt.backup.manifest import Manifest, tags_of
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.times import calendar_time, time_text

#: The periods that a policy counts, and what each calls the one that a moment is in. Times are UTC.
_PERIODS: Mapping[str, Callable[[datetime], str]] = {
    "hourly": lambda at: f"{at:%Y-%m-%dT%H}",
    "daily": lambda at: f"{at:%Y-%m-%d}",
    "weekly": lambda at: "{}-W{:02}".format(*at.isocalendar()[:2]),
    "monthly": lambda at: f"{at:%Y-%m}",
}


@dataclass(frozen=True, slots=True)
class RetentionPolicy(Documented):
    """Rules for the backups to keep, for each query by itself. A backup is kept when one rule keeps it.

    Raises:
        ValueError: A number makes no sense, a tag is not text, or there is no rule at all.
    """

    keep_last: Annotated[int, "number of newest backups to keep of each query"] = 0
    keep_hourly: Annotated[int, "number of last hours with backups of which the newest is kept"] = 0
    keep_daily: Annotated[int, "days (UTC)"] = 0
    keep_weekly: Annotated[int, "ISO weeks"] = 0
    keep_monthly: Annotated[int, "months"] = 0
    keep_tags: Annotated[tuple[str, ...], "tags whose backups are kept"] = ()
    min_redundancy: Annotated[int, "number of newest backups of each query that are always kept; at least 1"] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep_tags", tags_of(self.keep_tags))
        counts = [self.keep_last, *map(self.periods_kept, _PERIODS)]
        if any(type(count) is not int for count in (*counts, self.min_redundancy)):
            raise ValueError("the number of backups to keep must be a whole number")
        if min(counts) < 0 or self.min_redundancy < 1:
            raise ValueError(
                "the number of backups to keep must not be negative, and the minimum redundancy must be at least 1"
            )
        if not any(counts) and not self.keep_tags:
            raise ValueError("no rule says which backups to keep")

    def periods_kept(self, period: str) -> int:
        """How many periods of a kind (``hourly``, …) keep their newest backup."""
        return int(getattr(self, f"keep_{period}"))


@dataclass(frozen=True, slots=True)
class Decision(Documented):
    """Decision on one backup."""

    backup_id: Annotated[str, "the backup"]
    keep: Annotated[bool, "whether it stays"]
    reasons: Annotated[tuple[str, ...], "rules that keep the backup; empty when none does"] = ()


def decide(backups: Iterable[Manifest], policy: RetentionPolicy, now_ms: int) -> tuple[Decision, ...]:
    """Decide which backups a policy keeps, in the order given.

    A backup that is dated after ``now_ms`` comes from a clock that is not to be trusted: it is kept, and takes no
    other one's place.
    """
    backups = tuple(backups)
    reasons: dict[str, list[str]] = {}
    for newest_first in of_each_query(backups):
        reasons.update(_reasons(newest_first, policy, now_ms))
    return tuple(
        Decision(backup.backup_id, bool(reasons[backup.backup_id]), tuple(reasons[backup.backup_id]))
        for backup in backups
    )


def date_warnings(backup: Manifest, now_ms: int) -> tuple[str, ...]:
    """Warnings about a backup that is dated after ``now_ms``, and so is the latest until that time has come."""
    if backup.created_at_ms <= now_ms:
        return ()
    return (
        (
            f"Backup {backup.backup_id} of batch {backup.batch_id} is dated in the future "
            f"({time_text(backup.created_at_ms)}): the clock was wrong when it was taken. Until that time it counts "
            "as the latest backup, even if another one has a newer batch. Give the id of the backup that you want "
            "(ckpt backups ROOT lists them)."
        ),
    )


def of_each_query(backups: Iterable[Manifest]) -> list[list[Manifest]]:
    """The backups of each query, newest first."""
    groups: dict[str, list[Manifest]] = defaultdict(list)
    for backup in backups:
        groups[backup.query_id or backup.location].append(backup)
    return [
        sorted(group, key=lambda item: (item.created_at_ms, item.backup_id), reverse=True) for group in groups.values()
    ]


def _reasons(newest_first: Sequence[Manifest], policy: RetentionPolicy, now_ms: int) -> dict[str, list[str]]:
    """Why each backup of one query is kept."""
    reasons: dict[str, list[str]] = {backup.backup_id: [] for backup in newest_first}
    past = [backup for backup in newest_first if backup.created_at_ms <= now_ms]
    for backup in newest_first[: len(newest_first) - len(past)]:
        reasons[backup.backup_id].append("its time is in the future")
    for number, backup in enumerate(past[: policy.keep_last], start=1):
        reasons[backup.backup_id].append(f"last {number}")
    for period in _PERIODS:
        for name, backup in _newest_of_each(period, past)[: policy.periods_kept(period)]:
            reasons[backup.backup_id].append(f"{period} {name}")
    for backup in newest_first:
        reasons[backup.backup_id] += [f"tag {tag}" for tag in backup.tags if tag in policy.keep_tags]
    wanting = policy.min_redundancy - sum(map(bool, reasons.values()))
    for backup in [item for item in newest_first if not reasons[item.backup_id]][: max(0, wanting)]:
        reasons[backup.backup_id].append("minimum redundancy")
    return reasons


def _newest_of_each(period: str, newest_first: Iterable[Manifest]) -> list[tuple[str, Manifest]]:
    """The newest backup of each hour, day, … that has one; the newest period first."""
    newest: dict[str, Manifest] = {}
    for backup in newest_first:
        at = calendar_time(backup.created_at_ms)
        newest.setdefault(_PERIODS[period](at), backup)
    return list(newest.items())


#: How long an object that no backup names may be that of a backup under way.
GRACE_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Sweep(Documented):
    """Objects that are deleted from one directory."""

    directory: Annotated[str, "directory below the root"]
    objects: Annotated[int, "number of objects"]
    bytes: Annotated[int, "their size"]


@dataclass(frozen=True, slots=True)
class PrunePlan(Documented):
    """Plan of a prune."""

    location: Annotated[str, "the root"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    policy: Annotated[RetentionPolicy, "what is kept"]
    grace_ms: Annotated[int, "age from which on an object that no backup references is deleted"]
    decisions: Annotated[tuple[Decision, ...], "a decision for each backup, oldest first"]
    sweeps: Annotated[tuple[Sweep, ...], "what is deleted, by directory"]
    referred_bytes: Annotated[int, "bytes of deleted backups that are kept, because other backups reference them"]
    verified: Annotated[tuple[str, ...], "backups that were verified before others are deleted"] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        """The backups that no rule keeps."""
        return tuple(item.backup_id for item in self.decisions if not item.keep)


@dataclass(frozen=True, slots=True)
class PruneReceipt(Documented):
    """Result of a prune."""

    location: Annotated[str, "the root"]
    status: Annotated[
        Literal["applied", "already_applied"], "`applied`, or `already_applied` when there was nothing to delete"
    ]
    dropped: Annotated[tuple[str, ...], "ids of the backups that were deleted"]
    objects: Annotated[int, "number of objects that were deleted, manifests not counted"]
    bytes: Annotated[int, "their size"]
    started_at_ms: Annotated[int, "epoch milliseconds"]
    finished_at_ms: Annotated[int, "epoch milliseconds"]
