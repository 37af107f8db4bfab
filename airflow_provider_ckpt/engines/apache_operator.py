"""The engine ``apache-operator``: a SparkApplication of Apache's operator for Kubernetes, ``spark.apache.org/v1``.

It has no way to suspend. Its restart policy is read when a driver has ended, so that ``Never`` keeps it from starting
again; a run ends when its object is deleted, with all that it owns, and a start creates the object anew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from airflow_provider_ckpt.engines.custom_resources import refusal
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.manifest import TOKEN
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run
from airflow_provider_ckpt.engines.spark_application import (
    Object,
    SparkApplicationEngine,
    place_of,
    token_in,
)
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError

#: In these the operator does nothing more; in each other one that is known here it runs, stops or is about to restart.
ENDED = ("ResourceReleased", "TerminatedWithoutReleaseResources")
LIVE = (
    "",
    "Submitted",
    "ScheduledToRestart",
    "DriverRequested",
    "DriverStarted",
    "DriverReady",
    "InitializedBelowThresholdExecutors",
    "RunningHealthy",
    "RunningWithPartialCapacity",
    "RunningWithBelowThresholdExecutors",
    "DriverStartTimedOut",
    "ExecutorsStartTimedOut",
    "DriverReadyTimedOut",
    "Succeeded",
    "Failed",
    "SchedulingFailure",
    "DriverEvicted",
)
STATES = {**dict.fromkeys(ENDED, Presence.ENDED), **dict.fromkeys(LIVE, Presence.LIVE)}
RESTARTS = {
    "Never": Restarts.NONE,
    **dict.fromkeys(("Always", "OnFailure", "OnInfrastructureFailure"), Restarts.ARMED),
}
#: The annotation that has the restart policy as it was before a stop.
POLICY = "airflow-provider-ckpt/restart-policy"
#: Seconds within which an object that was deleted has to be gone, before another one of its name is created.
GONE_S = 60.0


class ApacheOperatorEngine(SparkApplicationEngine):
    """Runs of a SparkApplication of Apache's operator."""

    api_version = "spark.apache.org/v1"
    label = "spark.operator/spark-app-name"
    sleep = staticmethod(time.sleep)

    def disarm(self) -> bool:
        """Set the restart policy to Never, and remember what it was."""
        policy, there = self._policy()
        if there is not None and policy != "Never":
            self._set(there, "Never", {POLICY: policy})
        return True

    def arm(self) -> None:
        """Set the restart policy to what it was."""
        _, there = self._policy()
        before = None if there is None else (there["metadata"].get("annotations") or {}).get(POLICY)
        if there is not None and before:
            self._set(there, before, {POLICY: ""})

    def end(self, run: Run) -> None:
        """Delete the object, unless another run has it by now."""
        place = place_of(run.id)
        there = self._objects.get(*place)
        if there is not None and self._run(place, there, ()).id == run.id:
            self._delete(place, there)

    def start(self, application: Application, token: str) -> Run:
        """Create the object, in the place of one that is over; unless the token has it."""
        manifest = self._started(application)
        place = self._place(manifest)
        there = self._objects.get(*place)
        if there is not None and token_in(there) == token:
            return self._run(place, there, ())
        for run in self.look(()).runs:
            if place_of(run.id) == place and run.presence is not Presence.ENDED and not _is_going(there):
                raise EngineError(
                    f"the SparkApplication {place[1]} of {self._name} is {run.native}, and is not replaced.",
                    hint="Nothing was started. Stop it first.",
                )
        if there is not None:
            self._delete(place, there)
            self._wait_until_gone(place)
        metadata = {**manifest.whole["metadata"], "annotations": {**manifest.annotations, TOKEN: token}}
        answer = self._objects.create(place[0], {**manifest.whole, "metadata": metadata})
        if answer.status == 409:
            raise EngineUnknownError(
                f"a SparkApplication {place[1]} was created by somebody else meanwhile.",
                hint="See in the cluster what runs, and run the same command again.",
            )
        return self._run(place, answer.document, ())

    def _presence(self, there: Object) -> Presence:
        return STATES.get(_state(there), Presence.UNKNOWN)

    def _native(self, there: Object) -> str:
        return _state(there) or "new"

    def _restarts(self, there: Object) -> Restarts:
        policy = _policy_of(there)
        was_armed = (there["metadata"].get("annotations") or {}).get(POLICY)
        return Restarts.SUSPENDED if policy == "Never" and was_armed else RESTARTS.get(policy, Restarts.UNKNOWN)

    def _policy(self) -> tuple[str, Object | None]:
        there = self._objects.get(*self._place(self._manifest))
        return ("Never" if there is None else _policy_of(there)), there

    def _set(self, there: Object, policy: str, annotations: Mapping[str, str]) -> None:
        place = self._place(self._manifest)
        tolerations = there["spec"].get("applicationTolerations") or {}
        config = {**(tolerations.get("restartConfig") or {}), "restartPolicy": policy}
        kept = there["metadata"].get("annotations") or {}
        steps = [
            {"op": "test", "path": "/metadata/uid", "value": there["metadata"]["uid"]},
            {"op": "test", "path": "/spec", "value": there["spec"]},
            {"op": "add", "path": "/metadata/annotations", "value": {**kept, **annotations}},
            {"op": "add", "path": "/spec/applicationTolerations", "value": {**tolerations, "restartConfig": config}},
        ]
        answer = self._objects.patch(*place, steps)
        if answer.status >= 300:
            raise EngineUnknownError(
                f"Kubernetes does not change the restart policy of {place[1]}: {refusal(answer)}.",
                hint="Nothing was changed. Run the same command again.",
            )
        if _policy_of(answer.document) != policy:
            raise EngineError(
                f"Kubernetes answers that the restart policy of {place[1]} is {policy}, and it is not.",
                hint="Its custom resource definition is another one: install that of the operator that runs.",
            )

    def _delete(self, place: tuple[str, str], there: Object) -> None:
        if not _is_going(there):
            self._objects.delete(*place, there["metadata"]["uid"])

    def _wait_until_gone(self, place: tuple[str, str]) -> None:
        for _ in range(int(GONE_S)):
            if self._objects.get(*place) is None:
                return
            self.sleep(1.0)
        raise EngineUnknownError(
            f"the SparkApplication {place[1]} that is over is not yet deleted.",
            hint="Nothing was started. Run the same command again.",
        )


def _state(there: Object) -> str:
    return str(((there.get("status") or {}).get("currentState") or {}).get("currentStateSummary") or "")


def _policy_of(there: Object) -> str:
    tolerations = (there.get("spec") or {}).get("applicationTolerations") or {}
    return str((tolerations.get("restartConfig") or {}).get("restartPolicy") or "Never")


def _is_going(there: Object | None) -> bool:
    return there is not None and bool(there["metadata"].get("deletionTimestamp"))
