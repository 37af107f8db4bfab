"""A batch that is in flight after an undo runs again: the effect of the undo on the sink is that of this batch too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Close, Copy, Delete, Open
from airflow_provider_ckpt.change.undo.flight import Flight, flight_after, sink_log_after
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.views import sink_of, view_of

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0}
NOW = view_of("offsets/1", "commits/1", "offsets/2", "commits/2").objects
BACK = Copy("offsets/3", size=1, sha256="x", source="checkpoint/offsets/3")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), None),
        ((BACK,), Flight(3, comes_back=True)),
        ((BACK, Copy("commits/3", size=1, sha256="x", source="checkpoint/commits/3")), None),
        ((Close("offsets/9"), BACK, Open("offsets/9")), Flight(3, comes_back=True)),
        ((Delete("commits/2", size=1, identity="i"),), Flight(2, comes_back=False)),
        ((Copy("_spark_metadata/3", "sink", 1, "x", "sink/_spark_metadata/3"),), None),
    ],
)
def test_a_batch_is_in_flight_when_its_offsets_are_there_and_its_commit_is_not(steps, expected):
    assert flight_after(NOW, steps) == expected


def test_the_log_of_a_sink_has_what_comes_back_and_lacks_what_goes():
    back = Copy("_spark_metadata/3", "sink", 1, "x", "sink/_spark_metadata/3")
    log = sink_of("1", "2")
    assert sink_log_after(log, (Delete("_spark_metadata/2", "sink", 1, "i"), back, BACK)).objects.keys() == {
        "_spark_metadata/1",
        "_spark_metadata/3",
    }


@pytest.fixture
def crashed(golden) -> Path:
    """A query with state whose batch 7 was planned and written to its file sink, and not committed."""
    checkpoint: Path = golden("agg-hdfs")
    for name in ("7", ".7.crc"):
        (checkpoint / "commits" / name).unlink()
    log = checkpoint.parent / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in range(8):
        (log / str(batch)).write_text("v1")
    return checkpoint


def rolled_back(checkpoint: Path, sink: str, **said: Any) -> Stores:
    parsed = parse_sink(sink)
    opened = Store.open(parsed.directory) if parsed.directory else None
    stores = Stores(Store.open(str(checkpoint)), sink=opened)
    plan = make_rollback(stores, 5, sink=parsed, **said)
    apply(plan, stores, accept_sink=plan.sink_effect, **STOPPED)
    return stores


@pytest.mark.parametrize(
    ("sink", "effect"), [("kafka", "duplicated"), ("foreachBatch", "unknown"), ("console", "exact")]
)
def test_a_sink_without_memory_gets_the_rows_of_the_batch_again(crashed, sink, effect):
    stores = rolled_back(crashed, sink)
    plan = make_undo(stores)
    assert plan.sink_effect == effect
    assert any("Batch 7 comes back in flight" in text and "before the rollback" in text for text in plan.warnings)
    if effect != "exact":
        with pytest.raises(PlanError, match="batch 7, which comes back in flight"):
            apply(plan, stores, **STOPPED)


@pytest.mark.parametrize("trims", [True, False])
@pytest.mark.parametrize("has_state", [True, False])
def test_a_file_sink_skips_the_batch_and_the_query_stops_where_its_state_is_not_there(crashed, trims, has_state):
    for file in () if has_state else list(crashed.glob("state/0/*/*8.*")):
        file.unlink()
    stores = rolled_back(crashed, f"file:{crashed.parent / 'out'}", trim_sink_log=trims)
    (effect,) = make_undo(stores).effects
    assert effect.effect == ("exact" if has_state else "stops")
    told = "batch 7, which comes back in flight, and skips it" if has_state else "the query stops after that batch"
    assert told in effect.reason
    assert has_state or "--to-batch 6 --sink" in effect.remedy


def test_the_undo_of_a_rollback_that_dropped_no_batch_in_flight_says_nothing_of_one(golden):
    stores = rolled_back(golden("agg-hdfs"), "kafka")
    plan = make_undo(stores)
    assert (plan.sink_effect, len(plan.warnings)) == ("exact", 1)
