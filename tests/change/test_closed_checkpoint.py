"""A checkpoint that an interrupted change has closed: nothing but that change is made to it, and all of it is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import plan_of_backup, take_backup
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointClosedError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.storage.store import Store

ATTEMPTS: dict[str, Callable[[Store, Store], object]] = {
    "rollback": lambda place, root: make_rollback(Stores(place), 2),
    "repartition": lambda place, root: make_repartition(Stores(place), 3),
    "plan of a backup": plan_of_backup,
    "backup": take_backup,
}


@pytest.fixture
def closed(golden: Callable[[str], Path]) -> Store:
    directory = golden("agg-hdfs")
    newest = max(int(entry.name) for entry in (directory / "offsets").iterdir() if entry.name.isdigit())
    (directory / "offsets" / str(newest + 1)).write_bytes(CLOSING)
    return Store.open(str(directory))


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_other_change_and_no_backup_is_made_of_it(closed, tmp_path, attempt):
    before = {name: stored.identity for name, stored in closed.find().items()}
    with pytest.raises(CheckpointClosedError, match="a change by ckpt has not ended") as caught:
        ATTEMPTS[attempt](closed, Store.open(str(tmp_path / "backups")))
    assert (caught.value.location, caught.value.exit_code) == (closed.location, 4)
    assert "ckpt undo" in (caught.value.hint or "")
    assert {name: stored.identity for name, stored in closed.find().items()} == before


def test_the_gate_says_what_keeps_spark_from_starting(closed):
    _, forecast = forecast_restart(closed, DeploySpec(), Store.open)
    assert (forecast.decision, forecast.spark_error) == ("block", "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION")
    assert [finding.code for finding in forecast.findings if finding.severity == "error"] == ["CKPT103"]
