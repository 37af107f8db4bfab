"""Every stateful operator of Spark 4.3: rolled back and replayed with other data, undone, backed up and restored.

`make sparks` shows a keyed aggregation in the same way with earlier versions of Spark.

What a query gives afterwards is what a query gives that never went wrong, batch by batch.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.storage.store import Store
from tests.spark.operators import OPERATORS, Bench
from tests.spark_lab import STATE_CONFS, settle

pytestmark = pytest.mark.spark

FILES, KEEP = 6, 2
EVERY = [(name, store) for name, operator in OPERATORS.items() for store in STATE_CONFS if operator.runs_with(store)]
#: What `make test` shows of them: two operators, one with state in one partition and one with state in all.
FEW = [("count by window, then limit", "hdfs")]


def parameters() -> list[object]:
    return [pytest.param(*case, marks=() if case in FEW else pytest.mark.exhaustive) for case in EVERY]


@pytest.mark.parametrize(("operator", "store"), parameters())
def test_a_query_goes_on_as_if_nothing_had_happened(operator, store, spark, tmp_path):
    lived = Bench(spark, tmp_path / "lived", OPERATORS[operator], store)
    lived.write(range(FILES))
    assert len(lived.run(lived.checkpoint)) >= FILES
    settle(lived.checkpoint)
    checkpoint = Store.open(str(lived.checkpoint))
    assert [f for f in inspect(checkpoint, deep=True) if f.severity != "note"] == []

    restored = restored_from_a_backup(checkpoint, tmp_path)
    rolled_back_and_undone(lived.checkpoint, tmp_path / "undone")

    lived.write([FILES])
    going_on = {place: lived.run(place) for place in (restored, tmp_path / "undone", lived.checkpoint)}
    assert any(going_on[lived.checkpoint].values()) or operator == "limit", "it has something to show"
    assert going_on[restored] == going_on[tmp_path / "undone"] == going_on[lived.checkpoint]

    settle(lived.checkpoint)
    rolled_back(lived.checkpoint)
    lived.write(range(KEEP + 1, FILES + 1), "B")
    replayed = lived.run(lived.checkpoint)
    right = Bench(spark, tmp_path / "right", OPERATORS[operator], store)
    right.write(range(KEEP + 1))
    right.write(range(KEEP + 1, FILES + 1), "B")
    never_wrong = right.run(right.checkpoint)
    assert replayed == {batch_id: rows for batch_id, rows in never_wrong.items() if batch_id > KEEP}


def restored_from_a_backup(checkpoint: Store, home: Path) -> Path:
    root, target = Store.open(str(home / "backups")), Store.open(str(home / "restored"))
    taken = take_backup(checkpoint, root)
    assert [f for f in verify_backup(root, taken) if f.severity != "note"] == []
    restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    return home / "restored"


def rolled_back(place: Path) -> Stores:
    stores = Stores(Store.open(str(place)))
    plan = make_rollback(stores, KEEP)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    return stores


def rolled_back_and_undone(source: Path, place: Path) -> None:
    shutil.copytree(source, place)
    before = bytes_below(place)
    stores = rolled_back(place)
    assert bytes_below(place).keys() < before.keys()
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert bytes_below(place) == before, "undo gives every byte back"


def bytes_below(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
