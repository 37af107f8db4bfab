"""Apache's operator for Spark on Kubernetes, simulated: it reads the restart policy when a driver has ended."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from tests.engines.kubeflow_operator import KubeflowOperator, crd

VERSION, LABEL = "spark.apache.org/v1", "spark.operator/spark-app-name"
FIELDS = [
    "pyFiles",
    "mainClass",
    "jars",
    "files",
    "sparkConf",
    "driverArgs",
    "driverSpec",
    "executorSpec",
    "runtimeVersions",
    "applicationTolerations",
    "deploymentMode",
]
MANIFEST = {
    "apiVersion": VERSION,
    "kind": "SparkApplication",
    "metadata": {"name": "orders", "namespace": "spark"},
    "spec": {
        "pyFiles": "local:///app/orders.py",
        "sparkConf": {"spark.executor.instances": "1"},
        "applicationTolerations": {"restartConfig": {"restartPolicy": "Always", "maxRestartAttempts": 3}},
    },
}


def definition() -> dict[str, Any]:
    """Its custom resource definition, with these fields of a spec."""
    made = copy.deepcopy(crd(FIELDS))
    made["metadata"] = {"name": "sparkapplications.spark.apache.org"}
    made["spec"]["group"], made["spec"]["versions"][0]["name"] = VERSION.split("/")
    fields = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    fields |= {
        "applicationTolerations": anything,
        "driverSpec": anything,
        "executorSpec": anything,
        "runtimeVersions": anything,
    }
    return made


@dataclass
class ApacheOperator(KubeflowOperator):
    """The operator, with its cluster's pods and its time."""

    def write(self, there: dict[str, Any], state: str, **more: Any) -> None:
        status = {"currentState": {"currentStateSummary": state}}
        self._patch(there, [{"op": "add", "path": "/status", "value": status}], "status")

    def _reconcile(self, there: dict[str, Any]) -> None:
        uid = there["metadata"]["uid"]
        state = there.get("status", {}).get("currentState", {}).get("currentStateSummary", "")
        if there["metadata"].get("deletionTimestamp"):
            self._delete_pods(there)
            if not self._pods(there):
                self._patch(there, [{"op": "add", "path": "/metadata/finalizers", "value": []}])
            return
        running = [pod for pod in self._pods(there) if pod.drivers]
        if state in ("", "ScheduledToRestart") and self.now >= self._due.get(uid, 0.0):
            self._on_new(there, uid)
            self.write(there, "DriverRequested")
        elif state == "DriverRequested":
            self.write(there, "RunningHealthy")
        elif state == "RunningHealthy" and all(driver.has_died for pod in running for driver in pod.drivers):
            self._delete_pods(there)
            self.write(there, "Failed")
        elif state == "Failed" and not self._pods(there):
            policy = there["spec"]["applicationTolerations"]["restartConfig"]["restartPolicy"]
            self._due[uid] = self.now + self.restart_s
            self.write(there, "ScheduledToRestart" if policy != "Never" else "ResourceReleased")

    def _path(self) -> tuple[str, ...]:
        return ("apis", *VERSION.split("/"), "namespaces", "spark", "sparkapplications")
