"""The engine ``apache-operator`` beside its simulated operator: over a simulated API, and with ``CKPT_ENGINES=1`` over a real one."""

from __future__ import annotations

import copy
import json
import os
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.engines.apache_operator import ENDED, STATES, ApacheOperatorEngine
from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.open_cluster import Cluster
from airflow_provider_ckpt.engines.rest import Rest
from airflow_provider_ckpt.engines.run import Presence, Restarts
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.running.start_query import StartRequest, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from airflow_provider_ckpt.storage.store import Store
from tests.engines.apache_operator import FIELDS, MANIFEST, ApacheOperator, definition
from tests.engines.kubeflow_operator import Pod
from tests.engines.simulated_api import SimulatedApi
from tests.running.simulated import Driver, Killed, newest, patience, unit_of, with_batches

PATH = ("apis", "spark.apache.org", "v1", "namespaces", "spark", "sparkapplications")
APP = Application("apache-operator", {"manifest": "orders.yaml"}, {"manifest": json.dumps(MANIFEST)})


@pytest.fixture(scope="session")
def apache_server(tmp_path_factory):
    from tests.engines.real.kubernetes import ApiServer

    here: dict[str, ApacheOperator] = {}
    server = ApiServer(tmp_path_factory.mktemp("kubernetes"), lambda *asked: here["operator"].pods_of(*asked))
    server.here = here
    server.define(definition())
    yield server
    server.close()


@pytest.fixture(params=["simulated", *(["real"] if os.environ.get("CKPT_ENGINES") else [])])
def cluster(request):
    def begin(**said) -> ApacheOperator:
        operator = ApacheOperator(**said)
        if request.param == "simulated":
            operator.api = SimulatedApi(operator.pods_of, FIELDS)
            return operator
        server = request.getfixturevalue("apache_server")
        server.here["operator"] = operator
        operator.api, operator.step_s = Rest("Kubernetes", Connection("k", server.url), 80), 0.25
        for there in operator._objects():
            operator.api.ask("DELETE", *PATH, there["metadata"]["name"])
            operator._patch(there, [{"op": "add", "path": "/metadata/finalizers", "value": []}])
        return operator

    return begin


class Dying:
    """The API as the command asks it: killed after some call."""

    def __init__(self, api, dies_at) -> None:
        self.api, self.dies_at, self.count = api, dies_at, 0

    def ask(self, *what, **more):
        self.count += 1
        said = self.api.ask(*what, **more)
        if self.count == self.dies_at:
            raise Killed
        return said


def engine_of(operator, tmp_path, dies_at=None) -> ApacheOperatorEngine:
    (tmp_path / "orders.yaml").write_text(json.dumps(MANIFEST))
    declared = DeclaredEngine("apache-operator", application={"manifest": str(tmp_path / "orders.yaml")})
    engine = ApacheOperatorEngine(declared, "orders", lambda connection: pytest.fail(connection))
    engine._opened = float("inf"), Cluster(Dying(operator.api, dies_at), "spark")
    engine.sleep = operator.sleep
    return engine


def put(operator, state: str, policy: str = "Always") -> None:
    whole = copy.deepcopy(MANIFEST)
    whole["spec"]["applicationTolerations"]["restartConfig"]["restartPolicy"] = policy
    operator.api.ask("POST", *PATH, body=whole)
    if state:
        operator.write(operator.api.ask("GET", *PATH, "orders").document, state)


@pytest.fixture
def run(cluster, tmp_path, monkeypatch):
    """Starts orders on an operator; returns the unit, the operator and its store."""
    store = with_batches(Store.open(str(tmp_path / "orders")))
    operator = cluster(drivers_of=lambda spec: [Driver(store, 1.1)])
    monkeypatch.setattr(put_fence, "time", SimpleNamespace(sleep=operator.sleep, monotonic=operator.monotonic))
    unit = unit_of(store)
    start(unit, engine_of(operator, tmp_path), operator, query_is_stopped=True)
    return unit, operator, store


def start(unit, engine, operator, **said):
    receipt = start_query(unit, engine, APP, StartRequest(gate=False, **said), by="ann", patience=patience(operator))
    assert receipt.committed, receipt


def stop(unit, engine, operator, **said):
    request = StopRequest(**{"wait_for_batch": 10.0, **said})
    return stop_query(unit, engine, request, by="ann", settle_s=0.1, patience=patience(operator))


@pytest.mark.parametrize("state", [*STATES, "Odd", "Suspended"])
def test_each_state_is_mapped_and_another_one_is_unknown(cluster, tmp_path, state):
    operator = cluster()
    put(operator, state)
    (run,) = engine_of(operator, tmp_path).look(()).runs
    assert run.presence is STATES.get(state, Presence.UNKNOWN)
    assert (run.presence is Presence.ENDED) == (state in ENDED)


@pytest.mark.parametrize("state", ENDED)
def test_no_end_is_believed_while_a_pod_is_there(cluster, tmp_path, state):
    operator = cluster()
    put(operator, state)
    operator.pods.append(Pod("orders-exec-1", "spark", "orders"))
    assert engine_of(operator, tmp_path).look(()).runs[0].presence is Presence.LIVE


def test_the_restart_policy_is_set_and_set_back(cluster, tmp_path):
    operator = cluster()
    put(operator, "RunningHealthy", "OnFailure")
    engine = engine_of(operator, tmp_path)
    assert engine.look(()).restarts is Restarts.ARMED
    for _ in range(2):
        assert engine.disarm() and engine.look(()).restarts is Restarts.SUSPENDED
    spec = operator.api.ask("GET", *PATH, "orders").document["spec"]["applicationTolerations"]["restartConfig"]
    assert spec == {"restartPolicy": "Never", "maxRestartAttempts": 3}
    for _ in range(2):
        engine.arm()
        assert engine.look(()).restarts is Restarts.ARMED


def test_a_stop_and_a_start(run, tmp_path):
    unit, operator, store = run
    receipt = stop(unit, engine_of(operator, tmp_path), operator)
    before = newest(store, "commits")
    assert receipt.between_batches and receipt.disarmed and not operator.pods
    operator.sleep(60)
    assert newest(store, "commits") == before
    start(unit, engine_of(operator, tmp_path), operator)
    restart = operator.api.ask("GET", *PATH, "orders").document["spec"]["applicationTolerations"]["restartConfig"]
    assert restart["restartPolicy"] == "Always" and operator._runs == 2


def test_what_is_over_is_replaced_and_what_runs_is_not(cluster, tmp_path):
    operator = cluster()
    put(operator, "RunningHealthy")
    engine = engine_of(operator, tmp_path)
    with pytest.raises(
        EngineError, match="the SparkApplication orders of orders is RunningHealthy, and is not replaced"
    ):
        engine.start(APP, "orders-1")
    operator.write(operator.api.ask("GET", *PATH, "orders").document, "ResourceReleased")
    run = engine.start(APP, "orders-1")
    assert (engine.start(APP, "orders-1").id, run.generation) == (run.id, 1)


@pytest.mark.sweep
@pytest.mark.parametrize("at", range(1, 26))
@pytest.mark.parametrize("what", ["stop", "start"])
def test_killed_after_any_call_the_same_command_comes_to_the_same_end(run, tmp_path, at, what):
    unit, operator, store = run
    if what == "start":
        stop(unit, engine_of(operator, tmp_path), operator)
    does = stop if what == "stop" else start
    try:
        does(unit, engine_of(operator, tmp_path, at), operator)
    except Killed:
        operator.sleep(3)
        does(unit, engine_of(operator, tmp_path), operator)
    if what == "stop":
        before = newest(store, "offsets"), newest(store, "commits")
        operator.sleep(60)
        assert before == (newest(store, "offsets"), newest(store, "commits")) and not operator.pods
    assert operator._runs == (1 if what == "stop" else 2)
