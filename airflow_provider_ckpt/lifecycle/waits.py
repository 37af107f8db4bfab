"""One wait: a target, where the query stood at its beginning, and the verdict on each look."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, WaitLostError
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.waiting import (
    SourceEnds,
    Start,
    Target,
    start_from_dict,
    take_start,
    target_from_dict,
    why_lost,
)


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait that has begun: *now* is a time, the ends of the sources are taken.

    Args:
        location: The checkpoint, for errors.
        target: What is waited for.
        start: Where the query stood.
        ends: Where the data of its sources ends; None when the target does not ask.
    """

    location: str
    target: Target
    start: Start
    ends: SourceEnds | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`wait_from_dict` is the way back. The ends of the sources are not part of it."""
        return {"location": self.location, "target": self.target.to_dict(), "start": self.start.to_dict()}

    def standing(self, progress: Progress) -> Target:
        """The target with all that this look has to say; may ask the sources where they end.

        Raises:
            WaitLostError: The target cannot come any more.
            CheckpointError: The target does not fit the query, or its sources cannot be asked.
        """
        if lost := why_lost(self.start, progress):
            hint = "Find out who changed the checkpoint (ckpt history), then begin the wait anew."
            raise WaitLostError(f"{lost}.", location=self.location, batch_id=progress.batch_id, hint=hint)
        target = self.target.at_look(self.ends, progress) if self.ends else self.target
        target.reached(progress)  # what does not fit the query shows at the first look
        return target

    def doubts(self, standing: Target, progress: Progress, store: Store, *, fail_fast: bool = False) -> tuple[str, ...]:
        """What speaks against going on to wait, as sentences.

        Args:
            standing: The target, as :meth:`standing` gave it.
            progress: The same look.
            store: The checkpoint: one that does not exist is looked for.
            fail_fast: Give up when the target will not be met as things stand.

        Raises:
            WaitLostError: ``fail_fast``, and it will not.
        """
        absent = _absent(store, progress)
        doubts = (absent,) if absent else standing.doubts(progress)
        if fail_fast and (absent or standing.is_hopeless(progress)):
            raise WaitLostError(
                f"this will not be met as things stand. {' '.join(doubts)}",
                location=self.location,
                batch_id=progress.batch_id,
                hint="Wait for something else, or without failing fast.",
            )
        return doubts


def _absent(store: Store, progress: Progress) -> str | None:
    """That there is no checkpoint (yet), and the directory above it that does exist."""
    if progress.batch_id is not None or progress.query_id is not None:
        return None
    objects, directories = store.ls()
    if {*objects, *directories} & {layout.METADATA, layout.OFFSETS, layout.COMMITS}:
        return None
    if objects or directories:
        such = min({*objects, *directories})
        return f"{store.location} is no checkpoint: neither offsets/ nor commits/ nor metadata is there, but {such}."
    above = _nearest_existing(store)
    there = f"; {above} does" if above else ""
    return f"{store.location} does not exist{there}. It is waited for, in case the query has yet to make it."


def _nearest_existing(store: Store) -> str | None:
    """The nearest directory above a location that exists; None when there is none, or nobody may look."""
    location, root = store.location.rstrip("/"), store.root.rstrip("/")
    for _ in range(root.count("/") + 1):
        location, root = location.rpartition("/")[0], root.rpartition("/")[0]
        with suppress(Exception):  # it is a part of a message, and a bucket may forbid it
            if store.fs.exists(root or "/"):
                return location or "/"
    return None


def begin(location: str, target: Target, progress: Progress, *, at_ms: int, ends: SourceEnds | None = None) -> Wait:
    """Begin a wait with its first look.

    Args:
        location: The checkpoint.
        target: What to wait for.
        progress: The first look.
        at_ms: What *now* means, epoch milliseconds.
        ends: Where the data of the sources ends.

    Raises:
        CheckpointError: The target needs the ends of the sources, and they were not declared or cannot be asked.
    """
    if (target.asks_ends or target.asks_ends_again) and ends is None:
        raise CheckpointError(
            "the target asks where the data of the sources ends, and no source was declared",
            location=location,
            hint="Declare where each source reads from, for example 0=kafka:host:9092 or 0=delta:s3://lake/orders.",
        )
    begun = target.begun(at_ms)
    if ends is not None and begun.asks_ends:
        begun = begun.frozen(ends, progress)
    return Wait(location, begun, take_start(progress), ends)


def wait_from_dict(fields: Mapping[str, Any], ends: SourceEnds | None = None) -> Wait:
    """The wait that :meth:`Wait.to_dict` wrote. Raises CheckpointError for anything else."""
    return Wait(fields["location"], target_from_dict(fields["target"]), start_from_dict(fields["start"]), ends)


def outcome(status: str, progress: Progress | None, target: Target | None = None) -> dict[str, Any]:
    """How a wait ended and where the query stood, JSON-ready.

    ``met`` names the targets that were reached, those of a combined one each on its own.
    """
    return {
        "status": status,
        "batch_id": progress.batch_id if progress else None,
        "watermark_ms": (progress.watermark_ms or None) if progress else None,  # 0 is none
        "query_id": progress.query_id if progress else None,
        "met": [met.name for met in target.met(progress)] if target and progress else [],
    }
