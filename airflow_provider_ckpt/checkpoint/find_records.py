"""Where the records of the changes of a checkpoint are: beside it, not inside."""

from __future__ import annotations

import hashlib

from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY, log_in
from airflow_provider_ckpt.errors import PlanError, StoreError
from airflow_provider_ckpt.storage.store import Store


def records_of(checkpoint: Store, undo: Store | None = None) -> Store:
    """Where the records of one checkpoint are: under the root given, or beside the checkpoint.

    A checkpoint that is given by a link has them where its real name has them.

    Raises:
        PlanError: Nothing can be beside it, or the root given is inside the checkpoint or the log of a sink.
    """
    if undo is None:
        try:
            return checkpoint.sibling(UNDO_DIRECTORY).child(checkpoint.base_name)
        except StoreError as error:
            raise PlanError(
                f"{error.message[:-1]}, so the records of changes cannot be kept beside the checkpoint.",
                location=checkpoint.location,
                hint="Give a directory for the records: --undo-to ROOT (undo_root= in a DAG).",
            ) from None
    if undo.is_within(checkpoint):
        raise PlanError(
            f"the records of changes would be written into the checkpoint: {undo.location} is inside it.",
            location=checkpoint.location,
            hint="Give another directory for the records: --undo-to ROOT (undo_root= in a DAG).",
        )
    if (log := log_in(undo.location)) is not None:
        raise PlanError(
            f"the records of changes would be written into {log}, the log of a sink: {undo.location}.",
            location=checkpoint.location,
            hint="Give another directory for the records: --undo-to ROOT (undo_root= in a DAG).",
        )
    where = checkpoint.real_root if checkpoint.is_local else checkpoint.location
    return undo.child(_with_digest(checkpoint.base_name, where))


def make_place(records: Store, checkpoint: Store) -> None:
    """Make the directory of the records of a checkpoint so that whoever may change that may read and continue them.

    The directory of all records beside a checkpoint is as the one in which both are: others have checkpoints there.
    Nothing is made where the checkpoint is not there, or the storage has no owners and modes. Raises StoreError.
    """
    if not records.is_local:
        return
    above, _, name = records.root.rpartition("/")[0].rpartition("/")
    if name == UNDO_DIRECTORY and checkpoint.exists():
        records.at(f"{above}/{name}").make_like(records.at(above or "/"))
    records.make_like(checkpoint)


def _with_digest(name: str, location: str) -> str:
    return f"{name}-{hashlib.sha256(location.encode()).hexdigest()[:8]}"
