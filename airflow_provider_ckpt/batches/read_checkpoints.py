"""Reading the rows of the checkpoints of a fleet: one for each, with what the rules find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import Found
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.store import Store


def read_checkpoints(stores: Iterable[Store], *, deep: bool, fails_fast: bool, threads: int) -> Iterator[FleetRow]:
    """One row for each checkpoint, with what the rules find.

    Args:
        stores: Where they are.
        deep: True if state and source logs are judged, too.
        fails_fast: True if a checkpoint that cannot be read is an error; otherwise it is a row that says why.
        threads: How many are judged together.

    Raises:
        CheckpointError: ``fails_fast``, and one cannot be read.
    """
    for row in judge_checkpoints(map(Found, stores), deep=deep, threads=threads):
        if fails_fast and row.error:
            raise CheckpointError(row.error)
        yield row
