"""Asking an Iceberg table what stops a source of it, and when an expiry of snapshots may take what the source needs."""

from __future__ import annotations

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets.iceberg import IcebergOffset, of_value
from airflow_provider_ckpt.codec.source_log import InitialOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, StoreError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import FROM_TIMESTAMP
from airflow_provider_ckpt.sources.iceberg.loss import IcebergSource, expires_ms, losses
from airflow_provider_ckpt.sources.iceberg.way import Skips
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import SOURCE_OPTIONS, TableAtRestart, TableLosses
from airflow_provider_ckpt.tables.iceberg import read_history

#: What is not judged: whether a start with the trigger availableNow stops because of the initial offset.
INITIAL_OFFSET = "initial offset"


def judge(at: TableAtRestart, declared: Source, access: Access) -> TableLosses:
    """Judge one Iceberg source; see :meth:`~airflow_provider_ckpt.sources.judge_tables.Judge.judge`."""
    position = _offset(at, at.committed)
    planned = None if at.planned is None else _offset(at, at.planned)
    history = read_history(access.open_store(declared.directory), declared.metadata_file)
    initial, is_known = _initial(at, access)
    source = IcebergSource(at, position, planned, initial, history, _skips(at))
    unknown = (*(() if at.options else (SOURCE_OPTIONS,)), *(() if is_known else (INITIAL_OFFSET,)))
    return TableLosses(tuple(losses(source)), unknown, expires_ms(source))


def _offset(at: TableAtRestart, offset: SourceOffset) -> IcebergOffset:
    try:
        return of_value(offset.view("iceberg").value)
    except (CheckpointFormatError, ValueError) as error:
        raise StoreError(f"source {at.source_id} is not an Iceberg source: {error}") from error


def _initial(at: TableAtRestart, access: Access) -> tuple[IcebergOffset | None, bool]:
    """The initial offset that is in the checkpoint, and whether that is known; damage to it is a finding of its own."""
    name = layout.initial_offset_file(at.source_id)
    if access.checkpoint is None:
        return None, False
    try:
        entry = codec.decode(name, access.checkpoint.read(name))
    except CheckpointNotFoundError:
        return None, True
    except CheckpointFormatError:
        return None, False
    if not isinstance(entry, InitialOffset):
        return None, False
    try:
        return of_value(entry.offset.view("iceberg").value), True
    except (CheckpointFormatError, ValueError):
        return None, False


def _skips(at: TableAtRestart) -> Skips:
    """Parse the options of the query. Raises StoreError for a time that is not a number, as Iceberg refuses it."""
    from_ms = at.options.get(FROM_TIMESTAMP)
    return Skips(
        deletes=at.sets("streaming-skip-delete-snapshots"),
        overwrites=at.sets("streaming-skip-overwrite-snapshots"),
        from_ms=None if from_ms is None else int(from_ms),
    )
