"""A custom resource of Kubernetes, as the user's file has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_provider_ckpt.errors import EngineError

#: The annotation that has the token of a run.
TOKEN = "airflow-provider-ckpt/token"
#: A name that Kubernetes gives to an object or a namespace.
NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A custom resource.

    Args:
        name: Its name.
        namespace: Its namespace; None where the file says none.
        labels: Its labels.
        annotations: Its annotations.
        spec: What it is to be.
        whole: All of it.
    """

    name: str
    namespace: str | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    whole: Mapping[str, Any]


def parse_manifest(text: str, query: str, api_version: str) -> Manifest:
    """The SparkApplication of a manifest.

    Args:
        text: The file.
        query: Who runs by it, for messages.
        api_version: What it has to be, such as ``sparkoperator.k8s.io/v1beta2``.

    Raises:
        EngineError: It is no such one; the message says why.
    """
    try:
        said = load_yaml(text)
    except ValueError as error:
        raise _refused(query, f"cannot be read: {error}") from None
    whole = said if isinstance(said, dict) else {}
    kind, version = whole.get("kind"), whole.get("apiVersion")
    if kind == "ScheduledSparkApplication":
        raise _refused(query, "is a ScheduledSparkApplication, which begins runs of its own at its times")
    if kind != "SparkApplication" or version != api_version:
        raise _refused(query, f"is the kind {kind!s:.60} of {version!s:.60}, and no SparkApplication of {api_version}")
    metadata, spec = whole.get("metadata"), whole.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict) or not spec:
        raise _refused(query, "has no metadata or no spec")
    if "generateName" in metadata:
        raise _refused(query, "has generateName, so that each start would be another application")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    for key, value in (("name", name), ("namespace", namespace if namespace is not None else "default")):
        if not isinstance(value, str) or NAME.fullmatch(value) is None:
            raise _refused(query, f"has the {key} {value!r:.60}, which is none of Kubernetes")
    assert isinstance(name, str)
    return Manifest(name, namespace, _texts(metadata.get("labels")), _texts(metadata.get("annotations")), spec, whole)


def load_yaml(text: str) -> Any:
    """The value of one document of YAML, as Kubernetes reads it: a date is a text.

    Raises:
        ValueError: It is none; the message says why.
    """
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
        yaml_implicit_resolvers: ClassVar = {
            first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ValueError(f"line {line} is not one document of YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"it is not YAML: {error}") from None


def _texts(said: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in said.items()} if isinstance(said, dict) else {}


def _refused(query: str, problem: str) -> EngineError:
    return EngineError(
        f"the manifest of {query} {problem}.",
        hint="Nothing was done. The key manifest of application names the file of one SparkApplication.",
    )
