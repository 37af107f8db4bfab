"""The Kubeflow operator for Spark, simulated: its fourteen states, the pods that it makes, and what it says too early.

What it does is that of its source of version 2.4: ``suspend`` deletes the driver's pod and SUSPENDED is written at once, any other
change of the spec kills and begins anew, COMPLETED and FAILED pay no attention to ``suspend``. Time passes when it is told to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.running.simulated import Driver

VERSION, LABEL = "sparkoperator.k8s.io/v1beta2", "sparkoperator.k8s.io/app-name"
#: The documented fields of its spec; ``suspend`` came with version 2.4.
OLD_FIELDS = [
    "type",
    "mode",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "sparkConf",
    "hadoopConf",
    "sparkVersion",
    "mainClass",
    "mainApplicationFile",
    "arguments",
    "driver",
    "executor",
    "restartPolicy",
    "timeToLiveSeconds",
    "deps",
    "volumes",
    "batchScheduler",
    "monitoring",
    "dynamicAllocation",
]
FIELDS = [*OLD_FIELDS, "suspend"]
STATES = [
    "SUBMITTED",
    "RUNNING",
    "COMPLETED",
    "FAILED",
    "SUBMISSION_FAILED",
    "PENDING_RERUN",
    "INVALIDATING",
    "SUCCEEDING",
    "FAILING",
    "UNKNOWN",
    "SUSPENDING",
    "SUSPENDED",
    "RESUMING",
]
MANIFEST = {
    "apiVersion": VERSION,
    "kind": "SparkApplication",
    "metadata": {"name": "orders", "namespace": "spark"},
    "spec": {
        "type": "Python",
        "mode": "cluster",
        "image": "shop/orders:1",
        "mainApplicationFile": "local:///app/orders.py",
        "sparkVersion": "4.0.0",
        "restartPolicy": {"type": "Never"},
        "driver": {"cores": 1, "memory": "512m"},
        "executor": {"cores": 1, "instances": 1, "memory": "512m"},
    },
}


@dataclass
class Pod:
    """A pod; its drivers go on until it is gone, whatever the operator says meanwhile."""

    name: str
    namespace: str
    app: str
    drivers: list[Driver] = field(default_factory=list)
    phase: str = "Running"
    gone_at: float = float("inf")

    def document(self, label: str) -> dict[str, Any]:
        """As Kubernetes shows it."""
        state = {"running": {}} if self.phase == "Running" else {"terminated": {"exitCode": 1}}
        return {
            "metadata": {"name": self.name, "labels": {label: self.app}},
            "status": {"phase": self.phase, "containerStatuses": [{"name": "spark", "state": state}]},
        }


@dataclass
class KubeflowOperator:
    """The operator, with its cluster's pods and its time.

    Args:
        drivers_of: Makes the drivers of a run by the spec of its application.
        end_s: How long a pod needs to be gone.
        restart_s: After so long a run is begun again.
        restarts: How often.
    """

    drivers_of: Callable[[dict[str, Any]], list[Driver]] = lambda spec: []
    end_s: float = 3.0
    restart_s: float = 1.0
    restarts: int = 99
    step_s: float = 0.1
    now: float = 0.0
    api: Any = None
    pods: list[Pod] = field(default_factory=list)
    is_down: bool = False
    _specs: dict[str, dict[str, Any]] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)
    _runs: int = 0

    def pods_of(self, namespace: str, selector: str) -> list[dict[str, Any]]:
        """What Kubernetes lists."""
        label, _, app = selector.partition("=")
        return [pod.document(label) for pod in self.pods if (pod.namespace, pod.app) == (namespace, app)]

    def sleep(self, seconds: float) -> None:
        """Time goes on."""
        until = self.now + max(seconds, self.step_s)
        while self.now < until:
            self.now = min(until, self.now + self.step_s)
            for pod in self.pods:
                for driver in pod.drivers if pod.phase == "Running" else ():
                    driver.go_on(self.now)
            self.pods = [pod for pod in self.pods if pod.gone_at > self.now]
            for there in () if self.is_down else self._objects():
                self._reconcile(there)

    def monotonic(self) -> float:
        """The clock, of which each reading takes a moment."""
        self.now += 0.001
        return self.now

    def write(self, there: dict[str, Any], state: str, **more: Any) -> None:
        """Write a state."""
        status = {**there.get("status", {}), "applicationState": {"state": state}, **more}
        steps = [{"op": "add", "path": "/status", "value": status}]
        self._patch(there, steps, "status")

    def _reconcile(self, there: dict[str, Any]) -> None:
        spec = {key: value for key, value in there["spec"].items() if key != "suspend"}
        uid, state = there["metadata"]["uid"], there.get("status", {}).get("applicationState", {}).get("state", "")
        is_changed = self._specs.setdefault(uid, spec) != spec
        self._specs[uid] = spec
        if there["metadata"].get("deletionTimestamp"):
            self._delete_pods(there)
            if not self._pods(there):
                self._patch(there, [{"op": "add", "path": "/metadata/finalizers", "value": []}])
            return
        if is_changed:
            self.write(there, "INVALIDATING")
            return
        is_suspended = there["spec"].get("suspend") is True
        if is_suspended and state not in ("COMPLETED", "FAILED", "SUSPENDED", "SUSPENDING"):
            self.write(there, "SUSPENDING")
            return
        step = getattr(self, f"_on_{(state or 'new').lower()}", None)
        if step is not None:
            step(there, uid)

    def _on_new(self, there: dict[str, Any], uid: str) -> None:
        self._runs += 1
        drivers = self.drivers_of(there["spec"])
        for driver in drivers:
            driver.begin(self.now)
        app, namespace = there["metadata"]["name"], there["metadata"]["namespace"]
        self.pods.append(Pod(f"{app}-driver-{self._runs}", namespace, app, drivers))
        self.pods.append(Pod(f"{app}-exec-{self._runs}", namespace, app))
        self.write(there, "SUBMITTED", submissionID=f"run-{self._runs}")

    def _on_submitted(self, there: dict[str, Any], uid: str) -> None:
        self.write(there, "RUNNING")

    def _on_running(self, there: dict[str, Any], uid: str) -> None:
        running = [pod for pod in self._pods(there) if pod.drivers and pod.gone_at == float("inf")]
        if not running:
            self.write(there, "FAILING")
        elif all(driver.has_died for pod in running for driver in pod.drivers):
            for pod in self._pods(there):
                pod.phase = "Failed"
            self.write(there, "FAILING")

    def _on_failing(self, there: dict[str, Any], uid: str) -> None:
        if there["spec"].get("restartPolicy", {}).get("type", "Never") != "Never" and self.restarts:
            self.restarts -= 1
            self._delete_pods(there)
            self._due[uid] = self.now + self.restart_s
            self.write(there, "PENDING_RERUN")
        else:
            self.write(there, "FAILED", terminationTime=f"{self.now}")

    def _on_pending_rerun(self, there: dict[str, Any], uid: str) -> None:
        if self.now >= self._due.get(uid, 0.0):
            self._on_new(there, uid)

    def _on_invalidating(self, there: dict[str, Any], uid: str) -> None:
        self._delete_pods(there)
        self._due[uid] = self.now + self.restart_s
        self.write(there, "PENDING_RERUN")

    def _on_suspending(self, there: dict[str, Any], uid: str) -> None:
        self._delete_pods(there)
        self.write(there, "SUSPENDED")  # when the deletion is requested: the pods are still there

    def _on_suspended(self, there: dict[str, Any], uid: str) -> None:
        if there["spec"].get("suspend") is not True:
            self.write(there, "RESUMING")

    def _on_resuming(self, there: dict[str, Any], uid: str) -> None:
        self._on_new(there, uid)

    def _pods(self, there: dict[str, Any]) -> list[Pod]:
        return [pod for pod in self.pods if pod.app == there["metadata"]["name"]]

    def _delete_pods(self, there: dict[str, Any]) -> None:
        for pod in self._pods(there):
            pod.gone_at = min(pod.gone_at, self.now + self.end_s)

    def _objects(self) -> list[dict[str, Any]]:
        if (objects := getattr(self.api, "objects", None)) is not None:
            return list(objects.values())
        return self.api.ask("GET", *self._path()).document["items"] or []

    def _path(self) -> tuple[str, ...]:
        return ("apis", *VERSION.split("/"), "namespaces", "spark", "sparkapplications")

    def _patch(self, there: dict[str, Any], steps: list[dict[str, Any]], *where: str) -> None:
        self.api.ask(
            "PATCH",
            *self._path(),
            there["metadata"]["name"],
            *where,
            body=steps,
            headers={"Content-Type": "application/json-patch+json"},
            accepted=(404, 409, 422),
        )


def again(drivers: list[Driver]) -> list[Driver]:
    """The drivers of a later run."""
    return [replace(driver, has_died=False) for driver in drivers]


def crd(fields: list[str] = FIELDS) -> dict[str, Any]:
    """A custom resource definition with these fields of a spec."""
    texts = {"type": "string"}
    known = {
        "suspend": {"type": "boolean"},
        "arguments": {"type": "array", "items": texts},
        "sparkConf": {"type": "object", "additionalProperties": texts},
        "hadoopConf": {"type": "object", "additionalProperties": texts},
        "timeToLiveSeconds": {"type": "integer"},
    }
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    named = {"driver", "executor", "restartPolicy", "deps", "monitoring", "dynamicAllocation"}
    spec = {name: known.get(name, anything if name in named else texts) for name in fields}
    for name in ("volumes", "imagePullSecrets"):
        spec[name] = {"type": "array", "items": {**anything}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": anything}}
    group, _, version = VERSION.partition("/")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"sparkapplications.{group}",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubeflow/spark-operator/pull/1298"},
        },
        "spec": {
            "group": group,
            "names": {
                "kind": "SparkApplication",
                "listKind": "SparkApplicationList",
                "plural": "sparkapplications",
                "singular": "sparkapplication",
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
