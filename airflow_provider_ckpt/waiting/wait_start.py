"""The position of a query when a wait began, and whether what is waited for can still come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow_provider_ckpt.checkpoint.progress import Progress, or_none
from airflow_provider_ckpt.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Start:
    """The position of a query when a wait began.

    Args:
        query_id: Its id; None before the query has run.
        batch_id: The newest committed batch, or None.
        committed_at_ms: When that was committed, by the clock of the storage, epoch milliseconds; None when unknown.
    """

    query_id: str | None = None
    batch_id: int | None = None
    committed_at_ms: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`start_from_dict` is the way back."""
        return asdict(self)


def take_start(progress: Progress) -> Start:
    """The start of a wait that begins with this poll."""
    return Start(progress.query_id, progress.batch_id, progress.committed_at_ms)


def start_from_dict(fields: Mapping[str, Any]) -> Start:
    """The start that :meth:`Start.to_dict` wrote. Raises CheckpointError for anything else."""
    try:
        return Start(**fields)
    except TypeError as error:
        raise CheckpointError(f"not the start of a wait: {error}") from error


def why_lost(start: Start, progress: Progress) -> str | None:
    """Why a wait can no longer be met, or None.

    The checkpoint was replaced, or rolled back below where the wait began: also when the query has come past that
    point again since, as long as the commit log still holds it.
    """
    if start.query_id and progress.query_id and start.query_id != progress.query_id:
        return (
            f"the checkpoint now belongs to query {progress.query_id}; when the wait began it belonged to "
            f"{start.query_id}"
        )
    if start.batch_id is None:
        return None
    if progress.batch_id is None or progress.batch_id < start.batch_id:
        return (
            "the query was rolled back, or its checkpoint was replaced: its newest committed batch is "
            f"{or_none(progress.batch_id)}, but it was {start.batch_id} when the wait began"
        )
    committed_at_ms = progress.commits.get(start.batch_id)
    if committed_at_ms is not None and start.committed_at_ms is not None and committed_at_ms != start.committed_at_ms:
        return (
            f"batch {start.batch_id} was committed again after the wait began, so the query was rolled back to an "
            "earlier batch"
        )
    return None
