"""Rules about state: it must fit the log, and its chain must be whole."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checks.logs import newest_commit
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.view import CheckpointView

_CANNOT_LOAD = "CANNOT_LOAD_STATE_STORE"
#: What is said of a state file that is not what its checksum file says.
MISMATCH = "at odds with its checksum file"


def state_without_log(view: CheckpointView) -> Iterator[Finding]:
    """CKPT131: Spark refuses to begin with batch 0 over state."""
    if view.stateful and not view.planned:
        yield Finding(
            "CKPT131",
            "error",
            "there is state, and the offset log is empty",
            name=layout.STATE,
            hint="Restore the logs from a backup, or use a new checkpoint location.",
            spark_error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        )


def missing_state_directory(view: CheckpointView) -> Iterator[Finding]:
    """CKPT132: the commit names state files, and there is no state."""
    commit = newest_commit(view)
    if commit is not None and commit.state_unique_ids and not view.stateful:
        yield Finding(
            "CKPT132",
            "error",
            "the newest commit names state files, and the directory state is missing",
            view.latest_committed,
            layout.STATE,
            "Restore it from a backup, or start the query with a new checkpoint location.",
            "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        )


def ids_of_rerun(view: CheckpointView) -> Iterator[Finding]:
    """CKPT133: format 2, and the batch before the one in flight is not committed, so nobody knows its state files."""
    commit = newest_commit(view)
    if commit is None or not commit.state_unique_ids or view.in_flight is None or view.latest_committed is None:
        return
    before = view.in_flight - 1
    if view.latest_committed < before and before in view.planned:
        yield Finding(
            "CKPT133",
            "error",
            f"batch {view.in_flight} runs again on the state of batch {before}, which is not committed",
            before,
            layout.commit_entry(before),
            f"Restore the commit from a backup, or roll back to batch {view.latest_committed}.",
            f"{_CANNOT_LOAD}.CANNOT_READ_STREAMING_STATE_FILE",
        )


def commit_without_ids(view: CheckpointView) -> Iterator[Finding]:
    """CKPT133: state checkpoint format 2, and a newest commit that does not say which files are valid."""
    commit = newest_commit(view)
    if commit is None or commit.state_unique_ids or not view.stateful:
        return
    for stored in view.below(layout.STATE):
        place = layout.parse(stored.name)
        if isinstance(place, layout.StateFile) and place.unique_id is not None:
            yield Finding(
                "CKPT133",
                "error",
                "the state files carry ids, and the newest commit names none of them",
                view.latest_committed,
                layout.commit_entry(view.latest_committed or 0),
                "Restore the commit from a backup, or roll back to the batch before it.",
                f"{_CANNOT_LOAD}.UNCATEGORIZED",
            )
            return


def incomplete_chain(view: CheckpointView) -> Iterator[Finding]:
    """CKPT130, CKPT122: a file that the restart after the newest committed batch reads is not there, or damaged."""
    for problem in view.missing or ():
        name, _, reason = problem.partition(": ")
        if not name.startswith(f"{layout.STATE}/"):
            continue  # the logs have rules of their own
        yield Finding(
            "CKPT122" if reason.startswith(MISMATCH) else "CKPT130",
            "error",
            f"{name} is {reason or 'missing'}, and the restart after batch {view.latest_committed} needs it",
            view.latest_committed,
            name,
            "Restore it from a backup, or roll back to a batch that can be restored.",
            _load_error(name, reason),
        )


def repaired_snapshot(view: CheckpointView) -> Iterator[Finding]:
    """CKPT134: a broken snapshot that older files make up for; Spark before 4.1 does not try them."""
    for problem in view.repaired:
        name, _, reason = problem.partition(": ")
        yield Finding(
            "CKPT134",
            "warning",
            f"{name} is {reason or 'missing'}; older files make up for it, which Spark 4.1 and later uses",
            view.latest_committed,
            name,
            "Let the query take a new snapshot, or restore the file from a backup.",
        )


def _load_error(name: str, reason: str) -> str:
    if reason and "/SSTs/" in name:
        return f"{_CANNOT_LOAD}.UNEXPECTED_FILE_SIZE"
    if reason or "/SSTs/" in name:
        return f"{_CANNOT_LOAD}.UNCATEGORIZED"
    if name.endswith((".delta", ".snapshot")):
        return f"{_CANNOT_LOAD}.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    return f"{_CANNOT_LOAD}.CANNOT_READ_STREAMING_STATE_FILE"


RULES = (
    state_without_log,
    missing_state_directory,
    commit_without_ids,
    ids_of_rerun,
    incomplete_chain,
    repaired_snapshot,
)
