"""Checkpoints that cannot be fenced, each with the reason and with what helps instead."""

from __future__ import annotations

import shlex

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError, PlanError
from airflow_provider_ckpt.restart.real_time import CONTINUOUS, REAL_TIME
from airflow_provider_ckpt.untrusted.spans import missing_spans, spans_text

_STOP = "Nothing was done. Stop the query by other means: end its driver, or take from it the right to write here."
#: The newest batch that Java can count.
_MOST = (1 << 63) - 1
_CHECK = "Nothing was done. See what is wrong: ckpt check --deep"


def require_exclusive(location: str, *, creates_exclusively: bool) -> None:
    """Raise PlanError for a storage on which two writers may both create one object."""
    if not creates_exclusively:
        raise PlanError(
            "this storage cannot create an object exclusively, so a fence would not stop a query here.",
            location=location,
            hint=_STOP,
        )


def require_closable(view: CheckpointView) -> int:
    """The newest planned batch of a flow that is to be closed. Raises PlanError without one."""
    planned = view.latest_planned
    if planned is None or planned >= _MOST:
        raise _refused(view, "no batch of it is planned, so there is nothing to close", _STOP)
    _require_free(view, planned + 1)
    return planned


def require_planned_first(location: str, trigger: str) -> None:
    """Raise PlanError for a trigger with which the offset entry of a batch is written when the batch ends."""
    if trigger in (REAL_TIME, CONTINUOUS):
        raise PlanError(
            f"this checkpoint cannot be fenced: a query with the trigger {trigger} writes the offset entry of a batch "
            "when it ends.",
            location=location,
            hint=_STOP,
        )


def require_fenceable(view: CheckpointView, trigger: str) -> tuple[int, OffsetSeq]:
    """The newest planned batch and its entry, when a fence behind it would do what it says.

    Args:
        view: The checkpoint.
        trigger: The trigger of the query as far as it is known.

    Raises:
        PlanError: It would not.
        CheckpointFormatError: An entry that is needed is damaged.
    """
    require_planned_first(view.location, trigger)
    planned, committed = view.latest_planned, view.latest_committed
    if planned is None or committed is None:
        raise _refused(
            view,
            "no batch is committed, so there is no position behind which a fence could be",
            "Nothing was done. Give the query another checkpoint location, and remove this one when it is stopped.",
        )
    if planned not in (committed, committed + 1):
        problem = f"the newest planned batch is {planned}, and the newest committed one is {committed}"
        raise _refused(view, problem, f"{_CHECK} {view.location}")
    if skipped := missing_spans(view.planned, view.planned[0], planned):
        problem = (
            f"the offset log has gaps (batches {spans_text(skipped)}), as a query with async progress tracking leaves "
            "them, which writes an offset entry after its batch has begun"
        )
        raise _refused(view, problem, _STOP)
    _require_readable(view, planned, committed)
    entry = view.offset_seq(planned)
    if entry.metadata is None:
        raise _refused(view, f"{layout.offset_entry(planned)} is one of continuous processing", _STOP)
    if view.unfinished_repartition is not None:
        problem = f"batch {planned} is a repartition that was not finished"
        raise _refused(view, problem, "Nothing was done. Finish it (ckpt repartition), or take it back (ckpt undo).")
    if planned >= _MOST:
        raise _refused(view, f"Spark cannot count beyond batch {planned}", _STOP)
    _require_free(view, planned + 1)
    return planned, entry


def _require_readable(view: CheckpointView, planned: int, committed: int) -> None:
    """The newest entries can be read: a fence is made of them."""
    for name in (layout.offset_entry(planned), layout.commit_entry(committed)):
        if isinstance(view.damaged.get(name), IncompleteLogFileError | MalformedEntryError):
            where = shlex.quote(view.location)
            refused = _refused(
                view,
                f"{name} is damaged ({view.damaged[name].message}), and a fence is made of the newest entries",
                f"Nothing was done. A start stops at it. Save the checkpoint first (ckpt salvage {where} "
                f"--sink TYPE[:URI]; ckpt check {where} --deep says more), and fence it then.",
            )
            refused.name = name
            raise refused


def _require_free(view: CheckpointView, batch_id: int) -> None:
    """Nothing is in the way of the entry: Spark would read a checksum file beside it, and a directory is no entry."""
    if (commit := layout.commit_entry(batch_id - 1)) in view.folders:
        raise _refused(view, f"{commit} is a directory, so that batch is never committed", f"{_CHECK} {view.location}")
    name = layout.offset_entry(batch_id)
    for other in layout.sidecars(name):
        if other in view.objects:
            problem = f"{other} is left over from an entry that is not there, so Spark could not read the fence"
            raise _refused(view, problem, f"{_CHECK} {view.location}; no query can plan batch {batch_id} as it is.")
    if name in view.folders:
        problem = f"{name} is a directory, so no entry can be there"
        raise _refused(view, problem, f"{_CHECK} {view.location}; no query can plan batch {batch_id} as it is.")


def _refused(view: CheckpointView, problem: str, hint: str) -> PlanError:
    return PlanError(f"this checkpoint cannot be fenced: {problem}.", location=view.location, hint=hint)
