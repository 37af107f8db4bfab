"""Deploys and rollbacks of a query whose engine is declared, in a real Airflow on PostgreSQL: nobody stops or starts it.

The engine is ``local`` with real processes, which plan and commit batches as Spark does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import ROOT
from tests.airflow.dag_runs import Run, airflow_on_postgres
from tests.airflow_stack import AirflowStack
from tests.running.simulated import with_batches

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

FILE = """
format_version: 1
queries:
  orders:
    checkpoint: {place}/orders
    sink: noop
    spark_version: "4.3"
    backups: {place}/backups
    engine: local
    application: {{file: {version}, args: ["{place}/orders", "0.5"], spark_submit: {place}/submit}}
    start: {{commit_within: 20s}}
"""
DEPLOYS = """
from airflow_provider_ckpt.dags import deploy_dag
from airflow_provider_ckpt.hooks.query_file import queries

for query in queries():
    deploy_dag(query)
"""
_CKPT = "from airflow_provider_ckpt.cli import cli; cli()"
WAY_BACK = ("went_wrong", "stop_again", "rollback_plan", "ask", "approve", "rollback", "start_previous")


class Orders:
    """The query."""

    def __init__(self, place: Path) -> None:
        self.place, self.store = place, Store.open(str(place / "orders"))

    def declare(self, version: str) -> None:
        (self.place / "ckpt.yaml").write_text(FILE.format(place=self.place, version=version))

    def ckpt(self, *words: str) -> str:
        command = [sys.executable, "-c", _CKPT, *words, "--file", str(self.place / "ckpt.yaml")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def newest(self) -> int:
        found = observe(self.store).latest_committed
        assert found is not None
        return found

    def runs(self) -> list[str]:
        """The versions that run."""
        found = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()
        return [line.split()[-3] for line in found if line.endswith(f"{self.place}/orders 0.5")]


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orders]:
    place = tmp_path_factory.mktemp("lake")
    (place / "submit").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tests.running.driver "$@"\n')
    (place / "submit").chmod(0o755)
    made = Orders(place)
    with_batches(made.store)
    made.declare("good-1")
    made.ckpt("start", "orders", "--execute", "--i-know-it-is-stopped")
    yield made
    made.ckpt("stop", "orders", "--execute", "--interrupt-batch")


@pytest.fixture(scope="module")
def stack(orders: Orders, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    dags = tmp_path_factory.mktemp("dags")
    (dags / "deploys.py").write_text(DEPLOYS)
    (dags / "back.py").symlink_to(ROOT / "dags/checkpoint_rollback.py")
    env = {"AIRFLOW__CKPT__FILE": str(orders.place / "ckpt.yaml")}
    with airflow_on_postgres(tmp_path_factory.mktemp("stack") / "home", dags, env) as stack:
        yield stack


def test_a_good_deploy_asks_nobody(orders, stack):
    orders.declare("good-2")
    assert Run(stack, "deploy_orders").states() == {
        **dict.fromkeys(("gate", "backup", "stop", "start", "wait", "continuity", "deployed"), "success"),
        **dict.fromkeys(("blocked", *WAY_BACK), "skipped"),
    }
    assert orders.runs() == ["good-2"]


def test_a_bad_one_goes_back_to_the_version_before_when_a_person_approves(orders, stack):
    orders.declare("bad-3")
    run = Run(stack, "deploy_orders")
    run.answer("approve", "Approve")
    states = run.states()
    assert {states[step] for step in ("gate", "backup", "stop", *WAY_BACK)} == {"success"}
    assert (states["start"], states["deployed"]) == ("failed", "upstream_failed")
    stopped = stack.returned("deploy_orders", run.run_id, "stop")
    change = (
        history(orders.store)[-2] if history(orders.store)[-1].plan.kind != "rollback" else history(orders.store)[-1]
    )
    assert (change.plan.kind, change.plan.batch_id, change.approved_by) == ("rollback", stopped["batch_id"], "admin")
    assert orders.runs() == ["good-2"] and orders.newest() > stopped["batch_id"]


def test_a_rollback_stops_and_starts_what_the_file_declares(orders, stack):
    orders.declare("good-2")
    run = Run(stack, "checkpoint_rollback", query="orders", to_batch=3)
    run.answer("approve", "Approve")
    states = run.states()
    assert {states[step] for step in ("stop", "plan", "approve", "rollback", "start")} == {"success"}
    assert {states[step] for step in ("restart", "wait")} == {"skipped"}
    assert orders.runs() == ["good-2"] and orders.newest() > 3
