"""What is new of a query since it was read before."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.fleet.queries.events import events
from airflow_provider_ckpt.fleet.queries.row import NewestBackup, NewestChange, QueryRow
from airflow_provider_ckpt.fleet.queries.thresholds import Threshold
from airflow_provider_ckpt.fleet.row import FleetRow


def row(checkpoint: FleetRow | None = None, *thresholds: Threshold, **more: object) -> QueryRow:
    return QueryRow("orders", "c", checkpoint=checkpoint or FleetRow("c"), thresholds=thresholds, **more)


HOLDS, PASSED, WORSE = Threshold("age", 5_000, 4_000), Threshold("age", 5_000, 6_000), Threshold("age", 5_000, 9_000)
UNKNOWN = Threshold("age", 5_000, None, why="the storage is away")
GONE = QueryRow("orders", "c", failure=CheckpointNotFoundError("gone"))
ERROR = FleetRow("c", findings=(Finding("CKPT101", "error", "it is broken"),))
BACKUP = NewestBackup("b1", 7, 1, 1)
CHANGE = NewestChange("p1", "rollback", "interrupted", "ann", 1, 1)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, row(), []),
        (None, row(None, HOLDS), []),
        (None, row(None, PASSED), ["the age of the newest commit is 6 s, and alert.age is 5 s."]),
        (row(None, PASSED), row(None, WORSE), []),
        (row(None, PASSED), row(None, HOLDS), ["is 4 s, and alert.age is 5 s, and holds again."]),
        (row(None, HOLDS), row(None, UNKNOWN), ["is not known, and alert.age is 5 s: the storage is away."]),
        (row(), GONE, ["orders: gone."]),
        (GONE, GONE, []),
        (GONE, row(), ["it can be read again."]),
        (row(), row(ERROR), ["error CKPT101: it is broken."]),
        (row(ERROR), row(ERROR), []),
        (row(ERROR), row(), ["CKPT101 is found no more."]),
        (row(), row(FleetRow("c", findings=(Finding("CKPT101", "note", "well"),))), []),
        (row(), row(FleetRow("c", lag_error="b1 is silent")), ["a source cannot be asked: b1 is silent."]),
        (row(FleetRow("c", lag_error="b1 is silent")), row(), ["all sources can be asked again."]),
        (row(FleetRow("c", latest_committed_batch=1)), row(FleetRow("c", latest_committed_batch=2)), []),
        (None, row(backup=BACKUP, change=CHANGE), []),
        (row(), row(backup=BACKUP), ["there is a new backup, b1, of batch 7."]),
        (row(backup=BACKUP), row(backup=NewestBackup("b1", 7, 1, 900)), []),
        (row(), row(change=CHANGE), ["the rollback p1 by ann is interrupted."]),
        (row(change=CHANGE), row(change=NewestChange("p1", "rollback", "applied", "", 1, 1)), ["the rollback p1 is applied."]),
    ],
)  # fmt: skip
def test_events(before, now, said):
    found = list(events(before, now))
    assert len(found) == len(said)
    for sentence, part in zip(found, said, strict=True):
        assert sentence.startswith("orders: ") and part in sentence
