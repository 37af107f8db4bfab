"""Exporting where one source of a query was after a committed batch, as what starts another reader there."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.errors import MalformedEntryError, located
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS
from airflow_provider_ckpt.sources.position import Position
from airflow_provider_ckpt.sources.read_end import read_end
from airflow_provider_ckpt.sources.read_position import read_position
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Exported:
    """A position for another reader.

    Args:
        location: URI of the checkpoint.
        source_id: The source.
        batch_id: The batch after which the other reader begins.
        text: Text that the reader takes.
    """

    location: str
    source_id: str
    batch_id: int
    text: str


def export_position(store: Store, form: str, source_id: str | None = None, batch_id: int | None = None) -> Exported:
    """The position of a source after a committed batch.

    Args:
        store: The checkpoint.
        form: One of FORMS: what the text is for.
        source_id: The source; None for the one that the query has.
        batch_id: The batch; None for the newest committed one.

    Raises:
        CheckpointError: There is no such position, as for :func:`read_position`.
        MalformedEntryError: The source is not of the type that has this option.
        PlanError: No value of the option means this position, or the files do not say where the batch ended.
    """
    wanted = FORMS[form]
    position = read_position(store, source_id, batch_id)
    with located(position.location):
        _require_type(position, wanted.source_type)
        text = wanted.text(read_end(store, position, wanted.source_type), position.entry)
    return Exported(position.location, position.source_id, position.batch_id, text)


def _require_type(position: Position, source_type: str) -> None:
    try:
        position.offset.view(source_type, position.entry)
    except MalformedEntryError as error:
        error.hint = f"Choose with --source a source of the type {source_type}, or another form with --as."
        raise
