"""The engine ``kubeflow``: a SparkApplication of the Kubeflow operator for Spark, ``sparkoperator.k8s.io/v1beta2``.

``suspend`` ends a run, and no other change does: each one besides, that of the restart policy included, kills the
driver and starts it again. The operator writes SUSPENDED when it asks for the end of the driver's pod, so pods are
asked for.
"""

from __future__ import annotations

from typing import Any

from airflow_provider_ckpt.engines.custom_resources import refusal
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.manifest import TOKEN, Manifest
from airflow_provider_ckpt.engines.pods import may_run
from airflow_provider_ckpt.engines.rest import Said
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run
from airflow_provider_ckpt.engines.spark_application import (
    Object,
    SparkApplicationEngine,
    place_of,
    pointer,
    token_in,
)
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError

#: What the states mean that the operator writes; any other one is unknown, and so is its own UNKNOWN.
STATES = {
    **dict.fromkeys(("COMPLETED", "FAILED", "SUSPENDED"), Presence.ENDED),
    **dict.fromkeys(
        (
            "",
            "SUBMITTED",
            "RUNNING",
            "SUBMISSION_FAILED",
            "PENDING_RERUN",
            "INVALIDATING",
            "SUCCEEDING",
            "FAILING",
            "SUSPENDING",
            "RESUMING",
        ),
        Presence.LIVE,
    ),
    "UNKNOWN": Presence.UNKNOWN,
}
#: Restart policies.
RESTARTS = {"Never": Restarts.NONE, "OnFailure": Restarts.ARMED, "Always": Restarts.ARMED}
#: The annotation that has the end of the run before: a state that is older than the start says nothing of it.
BEFORE = "airflow-provider-ckpt/before"
_DROPPED = "it answers that this is done, and it is not"


class KubeflowEngine(SparkApplicationEngine):
    """Runs of a SparkApplication of the Kubeflow operator."""

    api_version = "sparkoperator.k8s.io/v1beta2"
    label = "sparkoperator.k8s.io/app-name"

    def disarm(self) -> bool:
        """Change nothing, as that would kill the driver; but see, before a fence is put, that it can be suspended."""
        place = self._place(self._manifest)
        there = self._objects.get(*place)
        if there is not None and not _is_suspended(there):
            self._require_suspended(place, self._objects.patch(*place, _suspend(there), dry=True), there)
        return False

    def arm(self) -> None:
        """Nothing was disarmed."""

    def end(self, run: Run) -> None:
        """Suspend the object, unless another run has it by now."""
        place = place_of(run.id)
        there = self._objects.get(*place)
        if there is None or self._run(place, there, ()).id != run.id or there["metadata"].get("deletionTimestamp"):
            return
        if not _is_suspended(there):
            self._require_suspended(place, self._objects.patch(*place, _suspend(there)), there)
            found = self._objects.get(*place)
            if found is not None and found["metadata"]["uid"] == there["metadata"]["uid"] and not _is_suspended(found):
                raise _no_suspend(place, _DROPPED)

    def start(self, application: Application, token: str) -> Run:
        """Create the object, or put what is declared into it and resume it; unless the token has it."""
        manifest = self._started(application)
        place = self._place(manifest)
        there: Object | None = self._objects.get(*place)
        if there is None:
            return self._created(place, manifest, token)
        if token_in(there) == token:
            return self._run(place, there, ())
        seen = next(run for run in self.look(()).runs if place_of(run.id) == place)
        if seen.presence is not Presence.ENDED:
            raise EngineError(
                f"the SparkApplication {place[1]} of {self._name} is {seen.native}, and is not replaced.",
                hint="Nothing was started. Stop it first.",
            )
        if _driver_token(there["spec"]) != token:
            there = self._changed(place, there, self._replaced(there, manifest, token), suspended=True)
        there = self._changed(place, there, self._resumed(there, token), suspended=False)
        return self._run(place, there, ())

    # --- states ----------------------------------------------------------------------------------------------------

    def _native(self, there: Object) -> str:
        return _state(there) or "NEW"

    def _presence(self, there: Object) -> Presence:
        presence = STATES.get(_state(there), Presence.UNKNOWN)
        if presence is not Presence.ENDED or _is_suspended(there):
            return presence
        is_of_before = (there["metadata"].get("annotations") or {}).get(BEFORE) == _end_of(there)
        return Presence.LIVE if _state(there) == "SUSPENDED" or is_of_before else presence

    def _restarts(self, there: Object) -> Restarts:
        if _is_suspended(there):
            return Restarts.SUSPENDED
        return RESTARTS.get((there["spec"].get("restartPolicy") or {}).get("type") or "Never", Restarts.UNKNOWN)

    def _ui(self, there: Object) -> str | None:
        driver = (there.get("status") or {}).get("driverInfo") or {}
        address = driver.get("webUIIngressAddress") or driver.get("webUIAddress")
        return None if not address else str(address) if "://" in str(address) else f"http://{address}"

    # --- steps -----------------------------------------------------------------------------------------------------

    def _created(self, place: tuple[str, str], manifest: Manifest, token: str) -> Run:
        if any(map(may_run, self._objects.pods(place[0], self.label, place[1]))):
            raise EngineUnknownError(
                f"there is no SparkApplication {place[1]}, and pods of one of its name are there.",
                hint="Nothing was started. Wait until they are gone, or delete them.",
            )
        spec = {**_marked(manifest.spec, token)}
        spec.pop("suspend", None)
        metadata = {**manifest.whole["metadata"], "annotations": {**manifest.annotations, TOKEN: token}}
        answer = self._objects.create(place[0], {**manifest.whole, "metadata": metadata, "spec": spec})
        if answer.status == 409:
            raise _moved(place)
        return self._run(place, answer.document, ())

    def _replaced(self, there: Object, manifest: Manifest, token: str) -> list[dict[str, Any]]:
        """What is declared now, still suspended: safe from any state, and the object stays."""
        kept = there["metadata"].get("annotations") or {}
        annotations = {**kept, **manifest.annotations, BEFORE: _end_of(there)}
        labels = {**(there["metadata"].get("labels") or {}), **manifest.labels}
        return [
            *_tests(there),
            {"op": "add", "path": "/metadata/annotations", "value": annotations},
            {"op": "add", "path": "/metadata/labels", "value": labels},
            {"op": "add", "path": "/spec", "value": {**_marked(manifest.spec, token), "suspend": True}},
        ]

    def _resumed(self, there: Object, token: str) -> list[dict[str, Any]]:
        return [
            *_tests(there),
            {"op": "test", "path": "/spec/suspend", "value": True},
            {"op": "add", "path": f"/metadata/annotations/{pointer(TOKEN)}", "value": token},
            {"op": "add", "path": "/spec/suspend", "value": False},
        ]

    def _changed(
        self, place: tuple[str, str], there: Object, steps: list[dict[str, Any]], *, suspended: bool
    ) -> Object:
        """The object after a change. Raises EngineError where it is refused or dropped."""
        for _ in range(20):
            answer = self._objects.patch(*place, steps)
            if answer.status < 300:
                if _is_suspended(answer.document) is not suspended:
                    raise _no_suspend(place, _DROPPED)
                return answer.document
            now = self._objects.get(*place)
            if "unknown field" in refusal(answer):
                raise _no_suspend(place, refusal(answer))
            if now is None or now["metadata"]["uid"] != there["metadata"]["uid"] or now["spec"] != there["spec"]:
                raise _moved(place)
            if now["metadata"]["resourceVersion"] == there["metadata"]["resourceVersion"]:
                break
            there = now  # the operator has written a state meanwhile
            steps = [*_tests(there), *steps[2:]]
        raise EngineError(
            f"Kubernetes refuses the SparkApplication {place[1]}: {refusal(answer)}.",
            hint="Nothing was started.",
        )

    def _require_suspended(self, place: tuple[str, str], answer: Said, there: Object) -> None:
        if answer.status < 300 and _is_suspended(answer.document):
            return
        if answer.status < 300 or "unknown field" in refusal(answer):
            raise _no_suspend(place, refusal(answer) if answer.status >= 300 else _DROPPED)
        now = self._objects.get(*place)
        if now is not None and now["metadata"]["uid"] == there["metadata"]["uid"] and token_in(now) == token_in(there):
            raise EngineUnknownError(
                f"Kubernetes does not suspend the SparkApplication {place[1]}: {refusal(answer)}.",
                hint="It goes on. Run the same command again.",
            )


def _state(there: Object) -> str:
    return str(((there.get("status") or {}).get("applicationState") or {}).get("state") or "")


def _is_suspended(there: Object) -> bool:
    return (there.get("spec") or {}).get("suspend") is True


def _end_of(there: Object) -> str:
    """What tells one end from a later one; empty before any."""
    status = there.get("status") or {}
    said = (status.get("submissionID"), status.get("terminationTime"), status.get("executionAttempts"))
    return "" if not _state(there) else " ".join(str(each) for each in said)


def _marked(spec: Any, token: str) -> dict[str, Any]:
    """A spec whose driver has the token: so it differs from each earlier one, and the operator begins anew."""
    driver = dict(spec.get("driver") or {})
    return {**spec, "driver": {**driver, "annotations": {**(driver.get("annotations") or {}), TOKEN: token}}}


def _driver_token(spec: Any) -> str:
    return str(((spec.get("driver") or {}).get("annotations") or {}).get(TOKEN, ""))


def _tests(there: Object) -> list[dict[str, Any]]:
    """This object, as it was seen."""
    return [
        {"op": "test", "path": f"/metadata/{key}", "value": there["metadata"][key]}
        for key in ("uid", "resourceVersion")
    ]


def _suspend(there: Object) -> list[dict[str, Any]]:
    """Of this object, whatever state the operator has written meanwhile, unless another start has it."""
    steps: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": there["metadata"]["uid"]}]
    if token := token_in(there):
        steps.append({"op": "test", "path": f"/metadata/annotations/{pointer(TOKEN)}", "value": token})
    return [*steps, {"op": "add", "path": "/spec/suspend", "value": True}]


def _no_suspend(place: tuple[str, str], said: str) -> EngineError:
    return EngineError(
        f"the SparkApplication {place[1]} cannot be suspended on this cluster: {said}.",
        hint="It was not ended, and so it is not stopped. Its custom resource definition is older than version 2.4 "
        "of the operator: install that of the operator that runs, which Helm does not replace by itself.",
    )


def _moved(place: tuple[str, str]) -> EngineUnknownError:
    return EngineUnknownError(
        f"the SparkApplication {place[1]} was changed by somebody else meanwhile.",
        hint="See in the cluster what runs, and run the same command again.",
    )
