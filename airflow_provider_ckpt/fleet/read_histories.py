"""Reading the changes of every checkpoint below a root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ckpt.change.record.journal import Record, survey
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of one checkpoint.

    Args:
        location: Its URI.
        records: The changes, oldest first.
        unreadable: Problems of damaged records, by plan id.
        problem: Why the place, or its records, could not be read; empty when they were.
    """

    location: str
    records: tuple[Record, ...] = ()
    unreadable: Mapping[str, CheckpointError] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Selection of changes.

    Args:
        since_ms: Begun at this time or later, epoch milliseconds; None for any.
        until_ms: Begun before this time; None for any.
        by: A part of the name of who began or approved them, in any case; empty for anybody.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    by: str = ""

    def wants(self, record: Record) -> bool:
        """True if a change is selected."""
        began_ms = record.begun_at_ms or record.plan.planned_at_ms
        is_after = self.since_ms is None or began_ms >= self.since_ms
        is_before = self.until_ms is None or began_ms < self.until_ms
        return is_after and is_before and self.by.lower() in f"{record.by}\n{record.approved_by}".lower()


def is_checkpoint(store: Store) -> bool:
    """True if a location is a checkpoint itself. Raises StoreError."""
    return list_checkpoint(store).is_checkpoint


def read_histories(roots: Sequence[Store], undo: Store | None = None) -> Iterator[Changes]:
    """The changes of each checkpoint below some roots, by location; those without any too.

    Args:
        roots: Where to search.
        undo: Where records are kept; None for the directory beside each checkpoint.

    Raises:
        CheckpointNotFoundError: A root does not exist.
        StoreError: A root cannot be listed.
    """
    for found in find_checkpoints(roots):
        if isinstance(found, FleetRow):
            yield Changes(found.location, problem=found.error or "")
            continue
        try:
            records, unreadable = survey(found.store, undo)
        except CheckpointError as error:
            yield Changes(found.location, problem=str(error))
            continue
        yield Changes(found.location, records, unreadable)
