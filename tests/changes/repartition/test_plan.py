"""The planner of repartitions alone: its steps, what they require, and what it says of the sink."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.plan.actions import Create, Repartition
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.changes.repartition.plan import plan_repartition
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.change_effects import repartition_effect
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

EXACT = SinkEffect("kafka", "exact", "why")


@pytest.fixture
def view(goldens):
    """Batches 0 to 7, all committed, of two partitions."""
    return observe(Store.open(str(goldens["4.3.0/agg-rocksdb"] / "checkpoint")), deep=True)


def sink_log(*entries: str) -> SinkLog:
    return SinkLog(
        "out", {f"_spark_metadata/{name}": StoredObject(f"_spark_metadata/{name}", 1, 1, name) for name in entries}
    )


def test_one_step_and_what_it_requires(view):
    plan = plan_repartition(view, 5, 1, EXACT)
    assert plan.actions == (Repartition("commits/8", partitions=5),)
    assert {item.kind for item in plan.requirements} == {
        "query_id", "latest_committed", "latest_planned", "kept_objects", "writer_stopped",
    }  # fmt: skip
    assert "partitions instead of 2" in plan.notes[0]


def test_it_is_read_back_from_its_json(view):
    plan = plan_repartition(view, 5, 1, EXACT, sink_log("7"))
    assert plan_from_dict(plan.to_dict()) == plan
    assert plan.actions[1] == Create("_spark_metadata/8", "sink", "v1")


@pytest.mark.parametrize("value", ["0", "-1", "five", "", "1000000000", "٣"])
def test_a_plan_with_another_number_is_none(view, value):
    fields = plan_repartition(view, 5, 1, EXACT).to_dict()
    fields["actions"][0]["data"] = value
    with pytest.raises(PlanError, match="number of partitions"):
        plan_from_dict(fields)


def test_what_a_repartition_does_not_do_is_no_step_of_it(view):
    fields = plan_repartition(view, 5, 1, EXACT).to_dict()
    fields["kind"] = "rollback"
    with pytest.raises(PlanError):
        plan_from_dict(fields)


def test_a_batch_at_which_the_sink_compacts_is_refused(view):
    """Each third entry of this log is compacted, so that of batch 8 would be."""
    with pytest.raises(PlanError, match="run one more batch"):
        plan_repartition(view, 5, 1, EXACT, sink_log("2.compact", "5.compact", "6", "7"))


@pytest.mark.parametrize(
    ("kind", "effect"),
    [("", "unknown"), ("file", "exact"), ("kafka", "exact"), ("delta", "exact"), ("foreachBatch", "exact")],
)
def test_the_effect_on_the_sink(kind, effect):
    assert repartition_effect(SinkMarker(kind), 8).effect == effect
