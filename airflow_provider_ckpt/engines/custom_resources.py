"""The SparkApplications of a cluster, and the pods that they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt.engines.manifest import TOKEN
from airflow_provider_ckpt.engines.rest import Rest, Said
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.visible import visible

#: Metadata alone, of each object of a list.
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_STRICT = {"fieldValidation": "Strict"}
#: Objects of a page, and pages that are read.
_PAGE, _MOST_PAGES = "500", 200


class CustomResources:
    """The SparkApplications of an operator.

    Args:
        rest: The API of the cluster.
        api_version: Of the resource, such as ``sparkoperator.k8s.io/v1beta2``.
    """

    def __init__(self, rest: Rest, api_version: str) -> None:
        self._rest, self._version = rest, api_version

    def get(self, namespace: str, name: str) -> dict[str, Any] | None:
        """An object; None where there is none. Raises EngineError where the cluster has no such resource."""
        answer = self._rest.ask("GET", *self._path(namespace, name), accepted=(404,))
        if answer.status == 404:
            self._require_status(answer)
            return None
        if not isinstance(answer.document.get("metadata"), dict) or not answer.document["metadata"].get("uid"):
            raise EngineUnknownError(
                f"Kubernetes answers for the SparkApplication {name} with no object.",
                hint="Nothing is known of the query.",
            )
        return dict(answer.document)

    def tokens(self, namespace: str) -> Mapping[str, str]:
        """Names of the objects with a token, and it."""
        return {
            str(item["metadata"]["name"]): str(item["metadata"]["annotations"][TOKEN])
            for item in self._list(self._path(namespace), {}, {"Accept": _METADATA})
            if TOKEN in (item["metadata"].get("annotations") or {})
        }

    def pods(self, namespace: str, label: str, name: str) -> Sequence[Mapping[str, Any]]:
        """The pods with a label."""
        return self._list(("api", "v1", "namespaces", namespace, "pods"), {"labelSelector": f"{label}={name}"})

    def create(self, namespace: str, whole: Mapping[str, Any]) -> Said:
        """Create an object; a 409 says that there is one of its name."""
        return self._rest.ask("POST", *self._path(namespace), params=_STRICT, body=whole, accepted=(409,))

    def patch(self, namespace: str, name: str, steps: Sequence[Mapping[str, Any]], *, dry: bool = False) -> Said:
        """Compare and set; a 400, 404, 409 or 422 says that nothing was done. A field that is unknown is refused."""
        return self._rest.ask(
            "PATCH",
            *self._path(namespace, name),
            params={**_STRICT, **({"dryRun": "All"} if dry else {})},
            body=list(steps),
            headers={"Content-Type": "application/json-patch+json"},
            accepted=(400, 404, 409, 422),
        )

    def delete(self, namespace: str, name: str, uid: str) -> None:
        """Ask for the end of one object and, before it, of all that it owns; none of its name but it."""
        body = {"propagationPolicy": "Foreground", "preconditions": {"uid": uid}}
        self._rest.ask("DELETE", *self._path(namespace, name), body=body, accepted=(404, 409))

    def _path(self, namespace: str, name: str | None = None) -> tuple[str, ...]:
        path = ("apis", *self._version.split("/"), "namespaces", namespace, "sparkapplications")
        return path if name is None else (*path, name)

    def _list(
        self, path: Sequence[str], params: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        more = ""
        for _ in range(_MOST_PAGES):
            asked = {**params, "limit": _PAGE, **({"continue": more} if more else {})}
            answer = self._rest.ask("GET", *path, params=asked, headers=headers, accepted=(404,))
            if answer.status == 404:
                self._require_status(answer)
            items = answer.document.get("items", "none")
            items = [] if items is None else items  # as Go writes an empty list
            if not isinstance(items, list) or not all(isinstance(each.get("metadata"), dict) for each in items):
                break
            found += items
            more = (answer.document.get("metadata") or {}).get("continue") or ""
            if not more:
                return found
        raise EngineUnknownError(
            f"Kubernetes answers with no whole list of {path[-1]}.", hint="Nothing is known of the query."
        )

    def _require_status(self, answer: Said) -> None:
        """Raise EngineError for a 404 that is not about an object: the cluster does not have the resource at all."""
        if not (answer.document.get("details") or {}).get("name"):
            raise EngineError(
                f"this cluster has no SparkApplication of {self._version}, or has no pods to be asked for.",
                hint="Nothing was done. See that the connection is that of the right cluster, and its operator.",
            )


def refusal(answer: Said) -> str:
    """What Kubernetes says of a refusal, for people: its end has the reason, behind the whole object."""
    said = visible(str(answer.document.get("message") or f"HTTP {answer.status}"))
    return said if len(said) <= 300 else f"…{said[-200:]}"
