"""The operator that repartitions: a plan that is shown, approved and carried out; and a retry that goes on."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.operators.checkpoint import CheckpointRepartitionOperator
from tests.changes.repartition.forged_spark import (
    BATCH,
    GOLDEN,
    PARTITIONS,
    Case,
    Forged,
    before_and_batch,
    put_in_place,
)
from tests.operators.task import Task

pytestmark = pytest.mark.airflow


@pytest.fixture
def case(golden_home) -> Case:
    return Case(*before_and_batch(golden_home(GOLDEN)))


def execute(case: Case, task: Task, **arguments):
    given = {"query_is_stopped": True, "quiet_period": 0, "sink": f"file:{case.output}", **arguments}
    operator = CheckpointRepartitionOperator(task_id=task.task_id, checkpoint=str(case.checkpoint), **given)
    return operator.execute({"ti": task})


def test_the_plan_is_shown_approved_and_carried_out(case, monkeypatch):
    spark, task = put_in_place(monkeypatch, Forged(case.checkpoint, case.batch)), Task()
    planned = execute(case, task, partitions="4", plan_only=True)
    assert (planned["kind"], planned["receipt"], spark.requests) == ("repartition", None, [])
    done = execute(
        case, task, sink=None, plan=task.pushed["plan"], confs={"spark.driver.memory": "1g"}, approved_by="ben"
    )
    assert (done["receipt"]["status"], done["batch_id"]) == ("applied", BATCH)
    assert spark.requests[0]["confs"]["spark.driver.memory"] == "1g"


def test_a_retry_goes_on(case, monkeypatch):
    """A Spark that has ended half-way fails the try and no more: Airflow tries again, with the same arguments."""
    put_in_place(monkeypatch, Forged(case.checkpoint, case.batch, 3))
    with pytest.raises(AirflowException) as raised:
        execute(case, Task(), partitions=PARTITIONS)
    assert not isinstance(raised.value, AirflowFailException)
    put_in_place(monkeypatch, Forged(case.checkpoint, case.batch))
    assert execute(case, Task(), partitions=PARTITIONS)["receipt"]["status"] == "applied"
    (record,) = history(case.stores.checkpoint)
    assert (record.state, record.by) == ("applied", "scale/monday/repartition")


@pytest.mark.parametrize("partitions", [None, "many", True, 4.5, 0, 10_001])
def test_what_is_no_number_of_partitions_fails(case, partitions):
    with pytest.raises(AirflowFailException):
        execute(case, Task(), partitions=partitions)


def test_confs_are_texts_by_text(case):
    with pytest.raises(AirflowFailException, match="confs must be a mapping"):
        execute(case, Task(), partitions=4, confs=["spark.driver.memory=1g"])
