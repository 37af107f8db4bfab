"""The operator that moves positions: each way to say where to, and a plan that is shown, approved and carried out."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.operators.checkpoint import CheckpointResetOffsetsOperator
from airflow_provider_ckpt.sources.kafka import resolve_goal
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.fake_query import read_all
from tests.operators.task import Task

pytestmark = pytest.mark.airflow
LAST = 3


@pytest.fixture
def query(tmp_path, monkeypatch) -> KafkaQuery:
    """Batches 0 to 3, all committed; each of two partitions is at 40 and holds 5 to 100."""
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(LAST + 1):
        query.commit(batch_id)
    broker = broker_of(query)
    broker.spans["orders"] = {0: (5, 100), 1: (5, 100)}
    broker.found = {("orders", 0): 20}
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda servers, config: broker)
    return query


def execute(query: KafkaQuery, task: Task | None = None, **arguments: Any) -> Any:
    given = {"source": "0=kafka:forged:9092", "sink": "noop", "query_is_stopped": True, "quiet_period": 0, **arguments}
    operator = CheckpointResetOffsetsOperator(task_id="reset", checkpoint=query.store.location, **given)
    return operator.execute({"ti": task or Task(task_id="reset")})


def positions(query: KafkaQuery) -> list[int]:
    return list(offsets_of(observe(query.store).offset_seq(LAST).offset("0")).values())


@pytest.mark.parametrize(
    ("arguments", "moved"),
    [
        ({"to_earliest": True}, [5, 5]),
        ({"to_earliest": "False", "to_latest": "True"}, [100, 100]),
        ({"to_current": True}, [40, 40]),
        ({"to_datetime": "2026-11-22T10:00:00Z"}, [20, 100]),
        ({"to_datetime": "now-2h"}, [20, 100]),
        ({"by_duration": timedelta(hours=1), "topics": "orders:0"}, [20, 40]),
        ({"by_duration": "1h", "topics": ["orders:1"]}, [40, 100]),
        ({"shift_by": "-10"}, [30, 30]),
        ({"shift_by": 10, "to_offsets": "None", "to_datetime": ""}, [50, 50]),
        ({"to_offsets": 7}, [7, 7]),
        ({"to_offsets": '{"orders": {"0": -2}}'}, [5, 40]),
        ({"to_offsets": {"orders": {"1": 9}}}, [40, 9]),
        ({"from_csv": "orders,0,8\n"}, [8, 40]),
    ],
)
def test_where_to_is_said_as_a_template_leaves_it(query, arguments, moved):
    done = execute(query, **arguments)
    assert (done["kind"], positions(query)) == ("reset", moved)


def test_the_broker_comes_from_a_connection_of_airflow(query, monkeypatch):
    asked: list[Any] = []
    broker = broker_of(query)
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda *given: asked.append(given) or broker)
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": "h:9092", "security.protocol": "SSL"}}
    monkeypatch.setenv("AIRFLOW_CONN_OURS", json.dumps(connection))
    execute(query, source="0=kafka", kafka_conn_id="ours", to_latest=True)
    assert asked == [("", connection["extra"])] and positions(query) == [100, 100]


def test_the_plan_is_shown_approved_and_carried_out(query):
    task = Task(task_id="reset")
    planned = execute(query, task, to_earliest=True, sink="kafka", plan_only=True)
    assert (planned["accept_sink"], planned["receipt"], read_all(query.store)) == (["duplicated"], None, query.files)
    done = execute(
        query, source=None, sink=None, plan=task.pushed["plan"], accept_sink=["duplicated"], approved_by="ben"
    )
    assert (done["receipt"]["status"], positions(query)) == ("applied", [5, 5])
    (change,) = history(query.store)
    assert (change.approved_by, change.plan.kind) == ("ben", "reset")


REFUSED = {
    "no goal": ({}, "give exactly one of"),
    "two goals": ({"to_earliest": True, "shift_by": 1}, "given: to_earliest and shift_by"),
    "no source": ({"source": None, "to_earliest": True}, "give --source ID=TYPE:PLACE .in a DAG: source."),
    "a flag that is none": ({"to_earliest": "soon"}, "to_earliest must be True or False"),
    "a shift that is none": ({"shift_by": "many"}, "shift_by must be a whole number"),
    "a time that is none": ({"to_datetime": "soon"}, "is not a time"),
    "a topic that is none": ({"to_earliest": True, "topics": "a b"}, "is not a topic"),
    "lines of which a template has made a tuple": ({"from_csv": ("orders", 0, 8)}, "from_csv must be lines"),
    "a file source": ({"source": "0=file:/data/in", "to_earliest": True}, "no position that could be moved"),
}


@pytest.mark.parametrize(("arguments", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_fails_and_changes_nothing(query, arguments, problem):
    with pytest.raises(AirflowFailException, match=problem):
        execute(query, **arguments)
    assert read_all(query.store) == query.files
