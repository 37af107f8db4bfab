"""What a rollback does to tables of real Delta, Iceberg and Hudi, without the remedy and with it.

Every story begins with six batches in the table. The data of batches 3 to 5 were wrong (A) and are repaired (B); the
checkpoint goes back to batch 2, and the query goes on. The remedy that is carried out is the text of the effect.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sinks.effects import EFFECTS, SinkEffect
from airflow_provider_ckpt.storage.store import Store
from tests.sinks.lab import FORMATS, TableLab, expected
from tests.sinks.worker import Worker

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

BATCHES, KEEP = 6, 2
WRONG = expected(dict.fromkeys(range(BATCHES), "A"))
RIGHT = expected({number: "A" if number <= KEEP else "B" for number in range(BATCHES)})
KEPT = expected(dict.fromkeys(range(KEEP + 1), "A"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Worker]]:
    root = tmp_path_factory.mktemp("sinks")
    started = {formats: Worker(formats, root / formats) for formats in set(FORMATS.values())}
    yield started
    for worker in started.values():
        worker.stop()


@pytest.fixture
def lab(workers, tmp_path, request) -> TableLab:
    """Six batches in a new table of the format, and repaired input."""
    kind = request.param
    lab = TableLab(None, tmp_path, kind, worker=workers[FORMATS[kind]])
    lab.write(range(BATCHES))
    lab.create()
    lab.drain()
    assert lab.rows() == WRONG
    lab.write(range(KEEP + 1, BATCHES), "B")
    return lab


def roll_back(lab: TableLab) -> SinkEffect:
    """Roll the checkpoint back to KEEP; the effect that the plan gives."""
    sink = parse_sink(lab.sink)
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(sink.directory or ""))
    plan = make_rollback(stores, KEEP, sink=sink)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink=EFFECTS)
    return plan.effects[0]


def take(remedy: str, lab: TableLab) -> None:
    """Do what a remedy says."""
    if "python -c" in remedy:
        _, *arguments = shlex.split(remedy.split("one commit: ")[1].split(". RESTORE TABLE")[0])
        subprocess.run([sys.executable, *arguments], check=True)
        return
    assert lab.worker
    if lab.config == "hudi":
        lab.worker.sql(f"CREATE TABLE orders USING hudi LOCATION '{lab.table}'")
    for call in re.findall(r"CALL [^)]*\)", remedy):
        name = "orders" if lab.config == "hudi" else "db.orders"
        lab.worker.sql(call.replace("<catalog>", "lake").replace("<table>", name))


@pytest.mark.parametrize("lab", FORMATS, indirect=True)
def test_the_replay_is_dropped_until_the_remedy_is_taken(lab):
    assert roll_back(lab).effect == "skipped"
    lab.drain()
    assert lab.rows() == WRONG, "the wrong rows stay, the right ones are lost, as foretold"

    effect = roll_back(lab)
    assert effect.effect == "skipped"
    take(effect.remedy, lab)
    assert lab.rows() == KEPT, "as of the batch kept"
    assert roll_back(lab).effect == "exact", "a new plan sees that the remedy was taken"
    lab.drain()
    assert lab.rows() == RIGHT


@pytest.mark.parametrize("lab", ["delta", "foreachBatch"], indirect=True)
def test_a_delta_restore_in_sql_alone_loses_the_rows(lab):
    lab.worker.sql(f"RESTORE TABLE delta.`{lab.table}` TO VERSION AS OF {KEEP}")
    effect = roll_back(lab)
    assert effect.effect == "skipped"
    assert "neither the old nor the new rows" in effect.reason
    lab.drain()
    assert lab.rows() == KEPT, "batches 3 to 5 have run again, and none of their rows is there"

    effect = roll_back(lab)
    take(effect.remedy, lab)
    lab.drain()
    assert lab.rows() == RIGHT


@pytest.mark.parametrize("lab", ["delta"], indirect=True)
def test_a_delta_restore_in_sql_is_right_with_a_new_query_id(lab, tmp_path, capsys):
    roll_back(lab)
    assert run(["backup", str(lab.checkpoint), "--to", str(tmp_path / "backups"), "--json"]) == 0
    backup_id = json.loads(capsys.readouterr().out)["backup_id"]
    fork = tmp_path / "fork"
    options = ["--to", str(fork), "--new-query-id", "--execute", "--accept-sink", "unknown", "--json"]
    assert run(["restore", str(tmp_path / "backups"), backup_id, *options]) == 0
    lab.worker.sql(f"RESTORE TABLE delta.`{lab.table}` TO VERSION AS OF {KEEP}")
    lab.drain(fork)
    assert lab.rows() == RIGHT


@pytest.mark.parametrize("lab", ["delta"], indirect=True)
def test_a_delta_marker_that_has_expired_lets_the_rows_in_twice(lab):
    lab.worker.sql(
        f"ALTER TABLE delta.`{lab.table}` "
        "SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1 seconds')"
    )
    time.sleep(2)
    assert roll_back(lab).effect == "duplicated"
    lab.drain()
    assert lab.rows() == WRONG + RIGHT - KEPT
