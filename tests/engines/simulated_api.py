"""The API of Kubernetes as far as the engines ask it, in memory: custom resources with compare-and-set, and pods."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from airflow_provider_ckpt.engines.rest import Said
from airflow_provider_ckpt.errors import EngineError

Pods = Callable[[str, str], list[dict[str, Any]]]


class SimulatedApi:
    """Answers as ``Rest`` does.

    Args:
        pods: Gives the pods of a namespace with a label.
        fields: The fields that a spec may have; others are dropped, or refused where that is asked for.
    """

    def __init__(self, pods: Pods, fields: Collection[str]) -> None:
        self._pods, self._fields = pods, set(fields)
        self._numbers = itertools.count(1)
        self.objects: dict[tuple[str, ...], dict[str, Any]] = {}
        self.ignores_strict = False

    def ask(
        self,
        method: str,
        *path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        accepted: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Said:
        """The answer to a question."""
        status, document = self._answer(method, path, dict(params or {}), copy.deepcopy(body))
        if status >= 300 and status not in accepted:
            raise EngineError(f"Kubernetes answers with HTTP {status}: {document.get('message')}")
        return Said(status, json.loads(json.dumps(document)))

    def _answer(self, method: str, path: tuple[str, ...], params: dict[str, str], body: Any) -> tuple[int, Any]:
        if path[-1] == "pods":
            return 200, {"metadata": {}, "items": self._pods(path[3], params["labelSelector"])}
        if path[-1] == "sparkapplications":
            if method == "GET":
                found = [each for key, each in self.objects.items() if key[:-1] == path]
                return 200, {"metadata": {}, "items": found}
            return self._post(path, params, body)
        key = path[:-1] if path[-1] == "status" else path
        there = self.objects.get(key)
        if there is None:
            return 404, {"reason": "NotFound", "message": "not found", "details": {"name": key[-1]}}
        if method == "GET":
            return 200, there
        if method == "DELETE":
            return self._delete(there, body)
        return self._patch(key, there, params, body, is_status=path != key)

    def _post(self, path: tuple[str, ...], params: dict[str, str], body: Any) -> tuple[int, Any]:
        key = (*path, body["metadata"]["name"])
        if key in self.objects:
            return 409, {"message": "already exists"}
        if problem := self._unknown(body, params):
            return 400, {"message": problem}
        body.pop("status", None)
        body["metadata"] |= {"uid": f"uid-{next(self._numbers)}", "resourceVersion": str(next(self._numbers))}
        self.objects[key] = body
        return 201, body

    def _delete(self, there: dict[str, Any], body: Any) -> tuple[int, Any]:
        if body["preconditions"]["uid"] != there["metadata"]["uid"]:
            return 409, {"message": "the uid in the precondition differs"}
        there["metadata"] |= {"deletionTimestamp": "now", "finalizers": ["foregroundDeletion"]}
        there["metadata"]["resourceVersion"] = str(next(self._numbers))
        return 200, there

    def _patch(
        self, key: tuple[str, ...], there: dict[str, Any], params: dict[str, str], steps: Any, *, is_status: bool
    ) -> tuple[int, Any]:
        changed = copy.deepcopy(there)
        for step in steps:
            *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
            place = changed
            for parent in parents:
                if parent not in place:
                    return 422, {"message": "the server rejected our request due to an error in our request"}
                place = place[parent]
            if step["op"] == "test":
                if place.get(last) != step["value"]:
                    return 422, {"message": "the server rejected our request due to an error in our request"}
            else:
                place[last] = step["value"]
        if problem := self._unknown(changed, params):
            return 422, {"message": problem}
        kept = there if is_status else changed
        changed = {**kept, "status": (changed if is_status else there).get("status", {})}
        if "dryRun" not in params:
            changed["metadata"]["resourceVersion"] = str(next(self._numbers))
            self.objects[key] = changed
            if changed["metadata"].get("deletionTimestamp") and not changed["metadata"].get("finalizers"):
                del self.objects[key]
        return 200, changed

    def _unknown(self, body: dict[str, Any], params: dict[str, str]) -> str | None:
        unknown = sorted(body["spec"].keys() - self._fields)
        for field in unknown:
            del body["spec"][field]
        is_strict = params.get("fieldValidation") == "Strict" and not self.ignores_strict
        return f'strict decoding error: unknown field "spec.{unknown[0]}"' if unknown and is_strict else None
