"""Checks that a declared sink can belong to a query, by the sink's memory and the position of the query.

A file sink knows batch ids and no queries, so its log is compared with the logs of the checkpoint. A table names the
writer of each batch, so it must know this one. Numbers cannot exclude another query's output directory that is by
chance at the same batch; it is excluded by memory: the sink that was declared first for a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.query.sink import MARKING


@dataclass(frozen=True, slots=True)
class QueryBatches:
    """How far a query was at one moment.

    Args:
        written: The newest committed batch that was given to the sink; None before the first.
        planned: The newest planned batch, or None.
    """

    written: int | None
    planned: int | None


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a sink is not the query's own.

    Args:
        reason: The contradiction; the sink is the subject.
        hint: The remedy.
    """

    reason: str
    hint: str


#: What can always be done about a sink that does not fit.
OTHERWISE = (
    "Declare the sink that the query writes to. Or declare none: the effect is then unknown and must be accepted."
)


def misfit(
    marker: SinkMarker, now: QueryBatches, before: Iterable[QueryBatches] = (), *, known: bool = False
) -> Misfit | None:
    """Evidence that a sink does not belong to the query; None when there is none.

    Args:
        marker: The sink's memory.
        now: The position of the query.
        before: Its position before recorded changes.
        known: True if the sink was declared for this checkpoint before, and fitted then.
    """
    if marker.kind == "file":
        return _misfit_of_files(marker, now, before, known=known)
    if marker.kind not in MARKING or now.written is None:
        return None
    if marker.last_batch is None and not marker.held_after(-1) and not marker.undone:
        return Misfit(
            f"has no record of a batch of {marker.writer}, but the query has committed batch {now.written}: it is "
            "the table of another query, or its record of this query has expired",
            OTHERWISE,
        )
    return None


def misfit_of_backup(marker: SinkMarker, batch_id: int) -> Misfit | None:
    """Evidence that a sink does not belong to a query backed up after ``batch_id``; the sink may be ahead."""
    return misfit(marker, QueryBatches(batch_id, batch_id), known=True)


def _misfit_of_files(
    marker: SinkMarker, now: QueryBatches, before: Iterable[QueryBatches], *, known: bool
) -> Misfit | None:
    latest = marker.last_batch
    if latest is None:
        if now.written is None:
            return None
        return Misfit(f"has no log of batches, but the query has committed batch {now.written}", OTHERWISE)
    if now.written is not None and latest < now.written:
        return Misfit(
            f"has batches up to {latest}, but the query has committed batch {now.written}: it is not the sink of "
            "this query, or its log was restored or deleted",
            OTHERWISE,
        )
    if known or _reaches(now, latest) or any(_spans(standing, latest) for standing in before):
        return None
    planned = "none" if now.planned is None else f"none after {now.planned}"
    return Misfit(
        f"has batch {latest}, but the query has planned {planned}: it is not the sink of this query, or the "
        "checkpoint was rolled back without ckpt",
        f"{OTHERWISE} If this is the sink of the query, change nothing in its _spark_metadata by hand: restore a "
        f"backup of the checkpoint that has batch {latest}, or let the query write to another directory.",
    )


def _reaches(standing: QueryBatches, latest: int) -> bool:
    """True if the query has planned a batch, or committed one whose offset entry is lost."""
    return any(batch is not None and latest <= batch for batch in (standing.planned, standing.written))


def _spans(standing: QueryBatches, latest: int) -> bool:
    return _reaches(standing, latest) and (standing.written is None or standing.written <= latest)
