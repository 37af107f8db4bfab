"""What a bookmark or a file name says is an argument of a mapped task as it is, and never a template of Airflow."""

from __future__ import annotations

import json
import runpy
from types import SimpleNamespace
from typing import Any

import pytest

from tests.airflow.conftest import ROOT

pytestmark = pytest.mark.airflow

HOSTILE = (
    *("{{ 7 * 7 }}", "{% raw %}", "{{ params }}", "a\"b'c\\d", "[1, 2]", '{"a": null}', "49", "007", "1e10", "None"),
    *("\U0001f600 \u202e", "<b>&", "script.sql", ""),
)


class Ti:
    """The task instance, as far as templates ask it."""

    def __init__(self, map_index: int, left: dict[tuple[str, str], Any]) -> None:
        self.map_index, self._left = map_index, left

    def xcom_pull(self, *, task_ids: str, key: str = "return_value", map_indexes: Any = None) -> Any:
        return json.loads(json.dumps(self._left.get((task_ids, key)))) if map_indexes is None else {"plan_id": "p"}


def rendered(dag_id: str, task_id: str, map_index: int, left: dict[tuple[str, str], Any]) -> Any:
    """The task that Airflow makes of a mapped one, with its templates rendered."""
    module = runpy.run_path(str(ROOT / "dags/checkpoint_fleet_rollback.py"))
    dag = {dag.dag_id: dag for dag in (module["rollback_dag"], module["undo_dag"])}[dag_id]
    mapped = dag.task_dict[task_id]
    context = {
        "dag": dag,
        "ti": Ti(map_index, left),
        "params": {"checkpoint_conn_id": None},
        "dag_run": SimpleNamespace(conf={"run_id": "r"}),
    }
    expands = next(iter(mapped.expand_input.value.values()))
    expands.resolve = lambda _: [item["checkpoint"] for item in left[expands.operator.task_id, "rows"]]
    mapped.render_template_fields(context)
    return context["task"]


def test_no_argument_of_a_mapped_task_is_a_template():
    queries = [
        {
            **dict.fromkeys(("checkpoint", "sink", "trigger", "backup_root"), text),
            "to_before_deploy": {"query_id": text, "offsets": {"0": text}},
            "sources": {"0": text},
            "trim_sink_log": False,
        }
        for text in HOSTILE
    ]
    for index, query in enumerate(queries):
        left = {("find", "queries"): queries, ("find", "rows"): queries}
        task = rendered("checkpoint_fleet_rollback", "plan", index, left)
        assert {name: getattr(task, name) for name in query} == query


def test_nor_one_of_a_plan_that_is_carried_out():
    plans = [{"checkpoint": text, "accept_sink": ["unknown", "skipped"], "index": 0} for text in HOSTILE]
    for dag_id, task_id in (("checkpoint_fleet_rollback", "rollback"), ("checkpoint_fleet_undo", "undo")):
        for index, plan in enumerate(plans):
            left = {("weigh", "plans"): plans, ("weigh", "rows"): plans}
            task = rendered(dag_id, task_id, index, left)
            assert (task.checkpoint, task.accept_sink) == (plan["checkpoint"], ["unknown", "skipped"])
            assert task.plan == {"plan_id": "p"}


def test_the_id_of_a_plan_that_looks_like_a_number_stays_a_text():
    queries = [
        {"checkpoint": "/q", "undoes": text} for text in ("45123456789012e1", "0123456789012345", "1234567890123456")
    ]
    for index, query in enumerate(queries):
        left = {("find", "queries"): queries, ("find", "rows"): queries}
        assert rendered("checkpoint_fleet_undo", "plan", index, left).undoes == query["undoes"]
