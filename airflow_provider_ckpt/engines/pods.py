"""Pods, as Kubernetes tells of them: whether one may still run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def may_run(pod: Mapping[str, Any]) -> bool:
    """False for a pod that is over, and each container of which its node has seen end.

    A phase alone is no such proof: it is written as well for a pod whose node does not answer.
    """
    status = pod.get("status") or {}
    if status.get("phase") not in ("Succeeded", "Failed"):
        return True
    containers = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return any("terminated" not in (container.get("state") or {}) for container in containers)


def name_of(pod: Mapping[str, Any]) -> str:
    """Its name, for people."""
    return str((pod.get("metadata") or {}).get("name", "without a name"))
