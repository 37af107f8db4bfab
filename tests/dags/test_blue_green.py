"""The DAG of a blue-green deploy, as it is made; ``make deploys`` runs it."""

from __future__ import annotations

from copy import copy
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_provider_ckpt.dags import blue_green_dag
from airflow_provider_ckpt.dags.blue_green import APPROVAL, went_wrong

pytestmark = pytest.mark.airflow


def run_of(**left: object) -> SimpleNamespace:
    """A task instance in a run whose tasks have left these values."""
    return SimpleNamespace(xcom_pull=lambda task_ids: left.get(task_ids))


def test_the_stop_is_the_users():
    dag = blue_green_dag("mine", stop_old=stop)
    stop_old = dag.get_task("stop_old")
    assert stop_old.python_callable is stop and stop_old.op_kwargs["checkpoint"] == "{{ params.checkpoint }}"
    assert stop_old.upstream_task_ids == {"answered"} and stop_old.downstream_task_ids == {"stopped"}


def stop(checkpoint: str) -> None:
    """The step of a user."""


def test_a_switch_that_went_wrong_tells_the_ways_back():
    with pytest.raises(AirflowFailException, match="has failed since"):
        went_wrong(run_of(continuity={"status": "continued"}))
    with pytest.raises(AirflowSkipException, match="The switch was not made"):
        went_wrong(run_of())
    with pytest.raises(AirflowFailException, match="had stopped.\nckpt restore"):
        went_wrong(run_of(still_stopped={"way_back": ["ckpt restore"]}))


FILE = """\
format_version: 1
storage: {options: {auto_mkdir: false}}
queries:
  orders: {checkpoint: live, sink: "file:out", backups: "backups/{query}"}
"""


def test_a_fork_takes_all_from_the_query_but_the_sink(tmp_path, monkeypatch):
    """On the fork the new version declares the shadow sink alone, which the approval says."""
    (tmp_path / "ckpt.yaml").write_text(FILE)
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(tmp_path / "ckpt.yaml"))
    dag = blue_green_dag("mine")
    names = ("checkpoint", "checkpoint_conn_id", "backup_root", "sink", "accept_sink", "compare_batches")
    given = {name: dag.params[name] for name in names} | {"query": "orders", "fork": "/fork"}
    assert given["backup_root"] is None
    assert "`{{ params.shadow_sink }}` is the only sink" in APPROVAL
    taken = {}
    for name in ("fork", "caught_up", "backup", "allowed"):
        made = copy(dag.get_task(name))
        made.render_template_fields({"params": given, "ti": Left()})
        made.declare()
        assert made.hook.storage_options == {"auto_mkdir": False}, name
        taken[name] = made
    assert [taken[name].checkpoint for name in ("fork", "caught_up", "backup")] == [
        "/fork",
        "/fork",
        f"{tmp_path}/live",
    ]
    assert {taken[name].backup_root for name in ("fork", "backup", "allowed")} == {f"{tmp_path}/backups/orders"}
    assert (taken["fork"].sinks, taken["allowed"].sinks) == ((), (f"file:{tmp_path}/out",))


class Left:
    """A task instance whose tasks have left a backup and a range."""

    def xcom_pull(self, task_ids: str) -> dict[str, object]:
        return {"backup_id": "b", "batch_id": 3, "first_batch": 4}
