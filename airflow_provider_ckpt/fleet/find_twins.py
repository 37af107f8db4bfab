"""Comparing checkpoints of one fleet that have the same query id; only their offset logs are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from airflow_provider_ckpt.checkpoint.view import batch_ids
from airflow_provider_ckpt.codec import layout, offset_log
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.fleet.twins import Relation, Twin, groups_of, with_twins
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store

#: Of one query id so many checkpoints are compared with the one that has gone on last.
MOST_TWINS = 100


def find_twins(
    rows: Iterable[FleetRow], open_store: Callable[[str], Store], sink_of: Callable[[str], Sink | None] | None = None
) -> Mapping[str, FleetRow]:
    """The rows of checkpoints that share a query id, with a finding each, by location.

    Args:
        rows: All rows of a fleet.
        open_store: Opens a checkpoint.
        sink_of: Gives the sink that is declared for the query of a checkpoint, by its location.
    """
    twins: list[Twin] = []
    for leader, *others in groups_of(rows):
        log = _Log(open_store, leader)
        for row in others[:MOST_TWINS]:
            sink = None if sink_of is None else sink_of(leader.location)
            one_table = sink is not None and sink_of is not None and sink == sink_of(row.location)
            twins.append(Twin(row, leader, _relation(_Log(open_store, row), log), one_table))
    return with_twins(twins)


class _Log:
    """The offset log of a checkpoint, read when it is asked for."""

    def __init__(self, open_store: Callable[[str], Store], row: FleetRow) -> None:
        self._store, self._row = open_store(row.location), row

    def batches(self) -> tuple[int, ...]:
        return batch_ids(self._store.ls(layout.OFFSETS)[0], layout.OFFSETS)

    def entry(self, batch_id: int) -> bytes:
        return self._store.read(layout.offset_entry(batch_id))

    def planned_at_ms(self, batch_id: int) -> int:
        metadata = offset_log.decode(self.entry(batch_id), layout.offset_entry(batch_id)).metadata
        return 0 if metadata is None else metadata.batch_timestamp_ms


def _relation(own: _Log, leading: _Log) -> Relation:
    """Compare the newest batch of a log with the other log."""
    try:
        mine, its = own.batches(), leading.batches()
        if not mine or not its:
            return "rests"
        newest = mine[-1]
        if newest in its:
            if own.entry(newest) == leading.entry(newest):
                return "rests"
            _ = own.planned_at_ms(newest), leading.planned_at_ms(newest)  # damage would make two of one entry
            return "ran"
        if newest > its[-1]:
            return "ran"
        return "rests" if own.planned_at_ms(newest) < leading.planned_at_ms(its[0]) else "ran"
    except CheckpointError:
        return "unknown"
