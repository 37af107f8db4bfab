"""What a restore says of each sink: a move and a fork, in real-time mode and in any other."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.changes.restore.judge_sinks import effects_of_restore
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

NEWEST = 2
#: The effect by the sink: as its memory says, and in real-time mode.
EFFECTS = {
    "file": ("exact", "unknown"),
    "kafka": ("duplicated", "duplicated"),
    "foreach": ("unknown", "unknown"),
    "console": ("exact", "exact"),
    "": ("unknown", "unknown"),
}


@pytest.mark.parametrize("fork", [False, True], ids=["move", "fork"])
@pytest.mark.parametrize("trigger", ["", "processingTime", "realTime"])
@pytest.mark.parametrize("kind", EFFECTS)
def test_the_effect_on_each_sink(tmp_path, kind, trigger, fork):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    log = tmp_path / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch_id in range(NEWEST + 1):
        query.commit(batch_id)
        (log / str(batch_id)).write_text("v1")
    backup = take_backup(query.store, Store.open(str(tmp_path / "backups")))
    out = Store.open(str(tmp_path / "out"))
    declared = [] if not kind else [(parse_sink(f"file:{out.location}" if kind == "file" else kind), out)]
    target = Store.open(str(tmp_path / "moved"))
    (found,) = effects_of_restore(target, declared, backup, fork=fork, trigger=trigger)
    assert found.effect == EFFECTS[kind][trigger == "realTime"]
