"""Comparing checkpoints of one fleet that have the same query id; only their offset logs are read.

One is a copy that does not run, or has become a second query. Delta, Iceberg and Hudi know a batch by the id of its
query and its number, so of two live queries with one id that write one table, each drops batches of the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from airflow_provider_ckpt.checkpoint.view import batch_ids
from airflow_provider_ckpt.checks.findings import Finding, a_note, worst_first
from airflow_provider_ckpt.codec import layout, offset_log
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.row import FleetRow
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


#: ``ran``: each has planned a batch that the other one has not. ``rests``: its newest batch is one of the other's.
Relation = Literal["ran", "rests", "unknown"]

_HINT = (
    "Delta, Iceberg and Hudi know a batch by the query id and its number. When both queries write one table, each "
    "drops batches of the other one. Give one of them an id of its own: ckpt backup, then ckpt restore --new-query-id."
)


@dataclass(frozen=True, slots=True)
class Twin:
    """A checkpoint, compared with the one of the same query id that has gone on last.

    Args:
        row: The checkpoint.
        leader: The one that has gone on last.
        relation: Result of the comparison of their offset logs.
        one_table: True if the same table is declared as the sink of both.
    """

    row: FleetRow
    leader: FleetRow
    relation: Relation
    one_table: bool = False


def groups_of(rows: Iterable[FleetRow]) -> list[list[FleetRow]]:
    """Rows with the same query id, the one that has gone on last first; those with an id of their own are left out."""
    by_id: dict[str, dict[str, FleetRow]] = {}
    for row in rows:
        if row.query_id is not None and row.error is None and row.replaced_by is None:
            by_id.setdefault(row.query_id, {})[row.location] = row
    return [sorted(same.values(), key=_went_on, reverse=True) for same in by_id.values() if len(same) > 1]


def _went_on(row: FleetRow) -> tuple[int, int, int, str]:
    batch = -1 if row.latest_planned_batch is None else row.latest_planned_batch
    return row.planned_at_ms or 0, batch, row.last_commit_ms or 0, row.location


def with_twins(twins: Iterable[Twin]) -> Mapping[str, FleetRow]:
    """The rows of twins with what is found of them, by location."""
    found: dict[str, FleetRow] = {}
    for twin in twins:
        for row, other, is_leader in ((twin.row, twin.leader, False), (twin.leader, twin.row, True)):
            kept = found.get(row.location, row)
            finding = finding_of(twin, other, is_leader=is_leader)
            found[row.location] = replace(kept, findings=worst_first((*kept.findings, finding)))
    return found


def finding_of(twin: Twin, other: FleetRow, *, is_leader: bool) -> Finding:
    """Finding on one of two twins, for the row of the other."""
    same = f"{other.location} has the same query id"
    if twin.relation == "rests":
        what = f"{same}{_rests(twin, is_leader=is_leader)}"
        return a_note("CKPT159", what, hint=f"Do not start both on one table. {_HINT}")
    table = ", and writes to the same table" if twin.one_table else ""
    what = (
        f"{same}{table}, and both have run since one was copied: their newest batches are not in each other's log"
        if twin.relation == "ran"
        else f"{same}{table}, and their offset logs could not be compared, so it is not known whether both have run"
    )
    return Finding("CKPT158", "error" if twin.one_table else "warning", what, hint=_HINT)


def _rests(twin: Twin, *, is_leader: bool) -> str:
    """How far the one that rests is, beside the other one."""
    batch, newest = twin.row.latest_planned_batch, twin.leader.latest_planned_batch
    if batch == newest:
        return f" and {_at(batch)} as well: one is a copy of the other, as of a backup"
    if is_leader:
        return f", and {_at(batch, 'is still')} of this query: a copy, as of a backup"
    return f" and has gone on; this one {_at(batch, 'is still')} of it: a copy, as of a backup"


def _at(batch: int | None, verb: str = "is") -> str:
    return f"{verb} before the first batch" if batch is None else f"{verb} at batch {batch}"
