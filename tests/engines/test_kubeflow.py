"""The engine ``kubeflow`` beside the simulated operator: over a simulated API, and with ``CKPT_ENGINES=1`` over a real one."""

from __future__ import annotations

import copy
import json
import os
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.kubeflow import STATES, KubeflowEngine
from airflow_provider_ckpt.engines.manifest import TOKEN
from airflow_provider_ckpt.engines.open_cluster import Cluster
from airflow_provider_ckpt.engines.rest import Rest
from airflow_provider_ckpt.engines.run import Presence, Restarts
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.running.find_unit import Unit
from airflow_provider_ckpt.running.receipt import StopReceipt
from airflow_provider_ckpt.running.start_query import StartRequest, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from airflow_provider_ckpt.storage.store import Store
from tests.engines import kubeflow_operator
from tests.engines.kubeflow_operator import FIELDS, MANIFEST, OLD_FIELDS, KubeflowOperator, crd
from tests.engines.simulated_api import SimulatedApi
from tests.running.simulated import Driver, Killed, newest, patience, unit_of, with_batches

REAL = os.environ.get("CKPT_ENGINES")
PATH = ("apis", "sparkoperator.k8s.io", "v1beta2", "namespaces", "spark", "sparkapplications")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    from tests.engines.real.kubernetes import ApiServer

    here: dict[str, KubeflowOperator] = {}
    server = ApiServer(tmp_path_factory.mktemp("kubernetes"), lambda *asked: here["operator"].pods_of(*asked))
    server.here = here
    yield server
    server.close()


@pytest.fixture(params=["simulated", *(["real"] if REAL else [])])
def cluster(request):
    """Makes a cluster whose resource has these fields; returns its operator."""

    def begin(fields=FIELDS, **said) -> KubeflowOperator:
        operator = KubeflowOperator(**said)
        if request.param == "simulated":
            operator.api = SimulatedApi(operator.pods_of, fields)
        else:
            server = request.getfixturevalue("server")
            server.here["operator"] = operator
            if server.here.get("fields") != fields:
                server.define(crd(list(fields)))
                server.here["fields"] = fields
            operator.api, operator.step_s = Rest("Kubernetes", Connection("k", server.url), 80), 0.25
            for there in operator._objects():
                operator.api.ask("DELETE", *PATH, there["metadata"]["name"])
        return operator

    return begin


class Calls:
    """The API as the command asks it: killed after some call."""

    def __init__(self, api, dies_at=None) -> None:
        self.api, self.dies_at, self.count, self.log = api, dies_at, 0, []

    def ask(self, method, *path, **more):
        self.count += 1
        self.log.append(method)
        said = self.api.ask(method, *path, **more)
        if self.count == self.dies_at:
            raise Killed
        return said


def engine_of(operator, tmp_path, manifest=MANIFEST, dies_at=None) -> KubeflowEngine:
    (tmp_path / "orders.yaml").write_text(json.dumps(manifest))
    declared = DeclaredEngine("kubeflow", application={"manifest": str(tmp_path / "orders.yaml")})
    engine = KubeflowEngine(declared, "orders", lambda connection: pytest.fail(connection))
    engine._opened = float("inf"), Cluster(Calls(operator.api, dies_at), "spark")
    return engine


def application(manifest=MANIFEST, **spec) -> Application:
    whole = copy.deepcopy(manifest)
    whole["spec"] |= spec
    return Application("kubeflow", {"manifest": "orders.yaml"}, {"manifest": json.dumps(whole)})


def put(operator, state: str = "", *, suspend: bool | None = None, policy: str = "Never") -> dict:
    whole = copy.deepcopy(MANIFEST)
    whole["spec"] |= {"restartPolicy": {"type": policy}} | ({} if suspend is None else {"suspend": suspend})
    operator.api.ask("POST", *PATH, body=whole)
    there = operator.api.ask("GET", *PATH, "orders").document
    if state:
        operator.write(there, state, submissionID="run-0")
    return there


@pytest.fixture
def run(cluster, tmp_path, monkeypatch):
    """Starts orders by the engine on an operator; returns the unit, the operator and its store."""

    def begin(**said):
        store = with_batches(Store.open(str(tmp_path / "orders")))
        policy, batch_s, drivers = said.pop("policy", "OnFailure"), said.pop("batch_s", 2.0), said.pop("drivers", None)
        operator = cluster(drivers_of=drivers or (lambda spec: [Driver(store, batch_s)]), **said)
        monkeypatch.setattr(put_fence, "time", SimpleNamespace(sleep=operator.sleep, monotonic=operator.monotonic))
        unit = unit_of(store)
        unit = Unit("orders", unit.declared, unit.members)
        operator.application = application(restartPolicy={"type": policy})
        start(unit, engine_of(operator, tmp_path), operator)
        return unit, operator, store

    return begin


def start(unit, engine, operator, app=None, **said):
    request = StartRequest(**{"query_is_stopped": True, "gate": False, **said})
    receipt = start_query(unit, engine, app or operator.application, request, by="ann", patience=patience(operator))
    assert receipt.committed, receipt
    return receipt


def stop(unit, engine, operator, **said) -> StopReceipt:
    request = StopRequest(**{"wait_for_batch": 10.0, **said})
    return stop_query(unit, engine, request, by="ann", settle_s=0.1, patience=patience(operator))


def assert_stopped(unit, operator, store, receipt, tmp_path):
    before = newest(store, "offsets"), newest(store, "commits")
    assert receipt.between_batches and receipt.queries[0].batch_id == before[1]
    assert not [pod for pod in operator.pods if pod.phase == "Running"]
    operator.sleep(60)
    assert before == (newest(store, "offsets"), newest(store, "commits"))
    assert not engine_of(operator, tmp_path).look(()).of(Presence.LIVE)


# --- what is seen ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["", *kubeflow_operator.STATES, "ODD"])
def test_each_state_is_mapped_and_another_one_is_unknown(cluster, tmp_path, state):
    operator = cluster()
    put(operator, state, suspend=True if state == "SUSPENDED" else None)
    (run,) = engine_of(operator, tmp_path).look(()).runs
    assert run.presence is STATES.get(state, Presence.UNKNOWN)
    assert run.native == (state or "NEW")
    ended = ("COMPLETED", "FAILED", "SUSPENDED")
    assert (run.presence is Presence.ENDED) == (state in ended)


def test_the_states_are_the_fourteen_of_the_operator():
    assert sorted(STATES) == sorted(["", *kubeflow_operator.STATES]) and len(STATES) == 14


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "SUSPENDED"])
@pytest.mark.parametrize("which", ["driver", "exec"])
def test_no_end_is_believed_while_a_pod_is_there(cluster, tmp_path, state, which):
    operator = cluster()
    put(operator, state, suspend=True)
    operator.pods.append(kubeflow_operator.Pod(f"orders-{which}-1", "spark", "orders"))
    (run,) = engine_of(operator, tmp_path).look(()).runs
    assert run.presence is Presence.LIVE and f"its pod orders-{which}-1 is there" in run.native


def test_a_pod_that_is_over_is_none_and_one_whose_node_does_not_answer_is_one(cluster, tmp_path):
    operator = cluster()
    put(operator, "FAILED")
    pod = kubeflow_operator.Pod("orders-driver", "spark", "orders", phase="Failed")
    operator.pods.append(pod)
    assert engine_of(operator, tmp_path).look(()).runs[0].presence is Presence.ENDED
    document = pod.document(kubeflow_operator.LABEL)
    document["status"]["containerStatuses"][0]["state"] = {"running": {}}  # PodGC writes the phase alone
    pod.document = lambda label: document
    assert engine_of(operator, tmp_path).look(()).runs[0].presence is Presence.LIVE


def test_suspended_that_is_to_go_on_is_live(cluster, tmp_path):
    operator = cluster()
    put(operator, "SUSPENDED", suspend=False)
    assert engine_of(operator, tmp_path).look(()).runs[0].presence is Presence.LIVE


@pytest.mark.parametrize(
    ("policy", "suspend", "restarts"),
    [
        ("Never", None, "none"),
        ("OnFailure", None, "armed"),
        ("Always", False, "armed"),
        ("Odd", None, "unknown"),
        ("Always", True, "suspended"),
    ],
)
def test_restarts_are_those_of_the_policy(cluster, tmp_path, policy, suspend, restarts):
    operator = cluster()
    put(operator, "RUNNING", policy=policy, suspend=suspend)
    assert engine_of(operator, tmp_path).look(()).restarts is Restarts(restarts)


def test_an_object_that_is_gone_is_absent_only_without_pods(cluster, tmp_path):
    operator = cluster()
    engine = engine_of(operator, tmp_path)
    assert engine.look(()).runs == ()
    run_id = "spark/orders/uid/orders-3"
    seen = engine.look((run_id,))
    assert seen.complete and [(run.presence, run.generation) for run in seen.runs] == [(Presence.ABSENT, 3)]
    operator.pods.append(kubeflow_operator.Pod("orders-exec-1", "spark", "orders"))
    assert [run.presence for run in engine.look((run_id,)).runs] == [Presence.LIVE]
    assert [run.presence for run in engine.look(()).runs] == [Presence.LIVE]


def test_another_object_with_a_token_of_the_query_is_seen(cluster, tmp_path):
    operator = cluster()
    other = copy.deepcopy(MANIFEST)
    other["metadata"] |= {"name": "orders-old", "annotations": {TOKEN: "orders-2"}}
    operator.api.ask("POST", *PATH, body=other)
    put(operator)
    assert sorted(run.id.split("/")[1] for run in engine_of(operator, tmp_path).look(()).runs) == [
        "orders",
        "orders-old",
    ]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"kind": "ScheduledSparkApplication"}, "is a ScheduledSparkApplication, which begins runs of its own"),
        ({"kind": "Deployment"}, "is the kind Deployment"),
        ({"apiVersion": "spark.apache.org/v1"}, "no SparkApplication of sparkoperator.k8s.io/v1beta2"),
        ({"metadata": {"generateName": "orders-"}}, "has generateName"),
        ({"metadata": {"name": "Orders!"}}, "has the name 'Orders!'"),
        ({"spec": None}, "has no metadata or no spec"),
    ],
)
def test_what_is_no_such_manifest_is_refused_with_nothing_asked(cluster, tmp_path, changed, problem):
    operator = cluster()
    engine = engine_of(operator, tmp_path, MANIFEST | changed)
    with pytest.raises(EngineError, match=problem):
        engine.look(())
    with pytest.raises(EngineError, match=problem):
        engine.start(
            application(MANIFEST | changed)
            if changed.get("spec", {}) is not None
            else Application("kubeflow", {}, {"manifest": json.dumps(MANIFEST | changed)}),
            "orders-1",
        )
    assert engine._cluster.rest.count == 0


# --- suspend -----------------------------------------------------------------------------------------------------------


def test_an_older_resource_that_drops_suspend_is_told_before_a_fence_is_put(run, tmp_path):
    """What it drops it refuses where that is asked for, and the application goes on."""
    unit, operator, store = run(fields=OLD_FIELDS)
    with pytest.raises(EngineError, match="cannot be suspended on this cluster: .*unknown field"):
        stop(unit, engine_of(operator, tmp_path), operator)
    before = newest(store, "commits")
    operator.sleep(20)
    assert newest(store, "commits") > before + 2


def test_what_is_patched_and_dropped_is_read_back(cluster, tmp_path):
    """A server that says 200 and does nothing: an older one without strict validation."""
    operator = cluster()
    if not isinstance(operator.api, SimulatedApi):
        pytest.skip("a server that is no older one refuses it")
    operator.api._fields, operator.api.ignores_strict = set(OLD_FIELDS), True
    put(operator, "RUNNING", policy="Always")
    engine = engine_of(operator, tmp_path)
    (run,) = engine.look(()).runs
    for does in (engine.disarm, lambda: engine.end(run)):
        with pytest.raises(EngineError, match="it answers that this is done, and it is not"):
            does()


def test_the_restart_policy_is_never_changed(run, tmp_path):
    unit, operator, _store = run()
    stop(unit, engine_of(operator, tmp_path), operator)
    spec = operator.api.ask("GET", *PATH, "orders").document["spec"]
    assert spec["restartPolicy"] == {"type": "OnFailure"} and spec["suspend"] is True


def test_the_end_of_a_run_that_another_one_has_replaced_does_nothing(run, tmp_path):
    _unit, operator, _ = run()
    engine = engine_of(operator, tmp_path)
    (now,) = engine.look(()).runs
    for other in (now.id.replace("orders-1", "orders-0"), now.id.replace("/orders/", "/other/")):
        engine.end(type(now)(other, Presence.LIVE))
    assert operator.api.ask("GET", *PATH, "orders").document["spec"].get("suspend") is not True


# --- stops and starts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always"])
@pytest.mark.parametrize("batch_s", [0.5, 2.0, 7.0])
@pytest.mark.parametrize("end_s", [0.5, 8.0])
def test_a_stop_falls_between_two_batches(run, tmp_path, policy, batch_s, end_s):
    unit, operator, store = run(policy=policy, batch_s=batch_s, end_s=end_s)
    receipt = stop(unit, engine_of(operator, tmp_path), operator)
    assert_stopped(unit, operator, store, receipt, tmp_path)


def test_a_stop_an_upgrade_and_a_start_keep_the_object(run, tmp_path):
    unit, operator, _store = run()
    uid = operator.api.ask("GET", *PATH, "orders").document["metadata"]["uid"]
    stop(unit, engine_of(operator, tmp_path), operator)
    app = application(image="shop/orders:2", restartPolicy={"type": "OnFailure"})
    receipt = start(unit, engine_of(operator, tmp_path), operator, app, query_is_stopped=False)
    there = operator.api.ask("GET", *PATH, "orders").document
    assert (there["metadata"]["uid"], there["spec"]["image"]) == (uid, "shop/orders:2")
    assert (receipt.token, there["metadata"]["annotations"][TOKEN]) == ("orders-2", "orders-2")
    assert receipt.run.id == f"spark/orders/{uid}/orders-2" and operator._runs == 2


def test_a_start_after_a_failure_is_not_taken_for_that_failure(run, tmp_path):
    """The state is still that of the run before until the operator comes to it."""
    unit, operator, _store = run(policy="Never")
    operator.pods[0].drivers[0].has_died = True
    operator.sleep(5)
    receipt = stop(unit, engine_of(operator, tmp_path), operator)
    assert receipt.runs[0].native == "FAILED"
    operator.is_down = True
    engine = engine_of(operator, tmp_path)
    started = engine.start(operator.application, "orders-2")
    operator.sleep(20)
    (now,) = [each for each in engine.look(()).runs if each.id == started.id]
    assert (now.presence, now.native) == (Presence.LIVE, "FAILED")
    operator.is_down = False
    operator.sleep(20)
    assert engine.look(()).runs[0].native == "RUNNING" and operator._runs == 2


def test_what_runs_is_not_started_again(run, tmp_path):
    _unit, operator, _ = run()
    engine = engine_of(operator, tmp_path)
    assert engine.start(operator.application, "orders-1").generation == 1
    with pytest.raises(EngineError, match="the SparkApplication orders of orders is RUNNING, and is not replaced"):
        engine.start(operator.application, "orders-2")
    assert operator._runs == 1


def test_an_application_of_another_engine_is_not_started(cluster, tmp_path):
    with pytest.raises(EngineError, match="is one of the engine yarn, and orders runs on kubeflow now"):
        engine_of(cluster(), tmp_path).start(Application("yarn"), "orders-1")
    with pytest.raises(EngineError, match="the run app-7 is none of a SparkApplication"):
        engine_of(cluster(), tmp_path).look(("app-7",))


@pytest.mark.sweep
@pytest.mark.parametrize("at", range(1, 26))
def test_killed_after_any_call_the_same_stop_comes_to_the_same_end(run, tmp_path, at):
    unit, operator, store = run(batch_s=1.1)
    try:
        receipt = stop(unit, engine_of(operator, tmp_path, dies_at=at), operator)
    except Killed:
        operator.sleep(3)
        receipt = stop(unit, engine_of(operator, tmp_path), operator)
    assert_stopped(unit, operator, store, receipt, tmp_path)
    assert operator._runs <= 2


@pytest.mark.sweep
@pytest.mark.parametrize("at", range(1, 31))
def test_killed_after_any_call_the_same_start_begins_one_run(run, tmp_path, at):
    unit, operator, _store = run(batch_s=1.1)
    stop(unit, engine_of(operator, tmp_path), operator)
    app = application(image="shop/orders:2", restartPolicy={"type": "OnFailure"})
    try:
        start(unit, engine_of(operator, tmp_path, dies_at=at), operator, app, query_is_stopped=False)
    except Killed:
        operator.sleep(1)
        start(unit, engine_of(operator, tmp_path), operator, app, query_is_stopped=False)
    assert operator._runs == 2
    assert len([pod for pod in operator.pods if pod.phase == "Running" and pod.drivers]) == 1


def test_a_cluster_without_the_resource_is_told(cluster, tmp_path):
    operator = cluster()
    engine = engine_of(operator, tmp_path)
    if isinstance(operator.api, SimulatedApi):
        pytest.skip("its API is made of the resource")
    type(engine).api_version, kept = "sparkoperator.k8s.io/v9", type(engine).api_version
    try:
        with pytest.raises((EngineError, EngineUnknownError)):
            engine_of(operator, tmp_path, MANIFEST | {"apiVersion": "sparkoperator.k8s.io/v9"}).look(())
    finally:
        type(engine).api_version = kept
