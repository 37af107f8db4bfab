"""What the engines of both operators for Kubernetes share: which runs a SparkApplication and its pods are.

A run is a life of one object: its namespace, its name, its uid, and the token with which ckpt has started it. An object
is over when its state says so and no pod with its label may run, driver or executor; one that is gone, only without
such pods.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import fsspec

from airflow_provider_ckpt.engines.custom_resources import CustomResources
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.manifest import NAME, TOKEN, Manifest, parse_manifest
from airflow_provider_ckpt.engines.open_cluster import Cluster, open_cluster
from airflow_provider_ckpt.engines.open_engine import Connect
from airflow_provider_ckpt.engines.pods import may_run, name_of
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen, generation_of
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.engine import DeclaredEngine
from airflow_provider_ckpt.untrusted.limits import MIB

#: An object, and its fields.
Object = Mapping[str, Any]
#: Seconds for which a cluster that was opened is asked: a token of a cloud or of a pod holds for minutes.
FRESH_S = 120.0
_WORST = (Restarts.UNKNOWN, Restarts.ARMED, Restarts.SUSPENDED, Restarts.NONE)


class SparkApplicationEngine(ABC):
    """Runs of one SparkApplication.

    Args:
        declared: What the query file says of it.
        name: The query, or the group of queries of one application.
        connect: Gives the connection with an id.
    """

    #: Of the resource.
    api_version: ClassVar[str]
    #: Of each pod of an application; its value is the name of that.
    label: ClassVar[str]
    settle_s = 10.0
    submit_s: float | None = 0.0  # to start twice is to start once: the object is compared before it is set

    def __init__(self, declared: DeclaredEngine, name: str, connect: Connect) -> None:
        self._declared, self._name, self._connect = declared, name, connect
        self._opened: tuple[float, Cluster] | None = None

    def look(self, known: Sequence[str]) -> Seen:
        """The runs of the declared object, of each that has a token of the name, and of those with these ids."""
        namespace, name = self._place(self._manifest)
        places = {(namespace, name): None, **{place_of(each): None for each in known}}
        for other, token in self._objects.tokens(namespace).items():
            if generation_of(self._name, token) is not None:
                places[(namespace, other)] = None
        runs: dict[str, Run] = {}
        restarts = [Restarts.NONE]
        for place in places:
            there = self._objects.get(*place)
            pods = [pod for pod in self._objects.pods(place[0], self.label, place[1]) if may_run(pod)]
            if there is not None:
                run = self._run(place, there, pods)
                runs[run.id] = run
                restarts.append(self._restarts(there))
            for each in known:
                if place_of(each) == place and each not in runs:
                    runs[each] = self._gone(each, there, pods)
            if there is None and pods and not any(place_of(each) == place for each in runs):
                run_id = f"{place[0]}/{place[1]}/-/-"
                runs[run_id] = self._gone(run_id, there, pods)
        return Seen(tuple(runs.values()), min(restarts, key=_WORST.index), complete=True)

    # --- what an operator has of its own ---------------------------------------------------------------------------

    @abstractmethod
    def _presence(self, there: Object) -> Presence: ...

    @abstractmethod
    def _native(self, there: Object) -> str: ...

    @abstractmethod
    def _restarts(self, there: Object) -> Restarts: ...

    # --- what they share -------------------------------------------------------------------------------------------

    def _run(self, place: tuple[str, str], there: Object, pods: Sequence[Object]) -> Run:
        metadata = there["metadata"]
        token = token_in(there)
        presence, native = self._presence(there), self._native(there)
        if metadata.get("deletionTimestamp"):
            presence, native = Presence.LIVE, f"{native}, being deleted"
        elif presence is Presence.ENDED and pods:
            presence, native = Presence.LIVE, f"{native}, and its pod {name_of(pods[0])} is there"
        run_id = f"{place[0]}/{place[1]}/{metadata['uid']}/{token or '-'}"
        return Run(run_id, presence, native, generation_of(self._name, token), self._ui(there))

    def _ui(self, there: Object) -> str | None:
        return None

    def _gone(self, run_id: str, there: Object | None, pods: Sequence[Object]) -> Run:
        """A run that was: another one has its object now, or none has."""
        generation = generation_of(self._name, run_id.rpartition("/")[2])
        if there is not None:  # its pods, if any are left, are told of the run that has the object
            return Run(run_id, Presence.ENDED, "replaced by a later run", generation)
        if pods:
            return Run(run_id, Presence.LIVE, f"deleted, and its pod {name_of(pods[0])} is there", generation)
        return Run(run_id, Presence.ABSENT, "deleted", generation)

    def _place(self, manifest: Manifest) -> tuple[str, str]:
        return manifest.namespace or self._cluster.namespace, manifest.name

    def _started(self, application: Application) -> Manifest:
        """The manifest of what is to be started. Raises EngineError for an application of another engine."""
        if application.engine != self._declared.name:
            raise EngineError(
                f"the application is one of the engine {application.engine}, and {self._name} runs on "
                f"{self._declared.name} now.",
                hint="Nothing was started. Start it by hand, or declare the engine with which it ran.",
            )
        return parse_manifest(application.files["manifest"], self._name, self.api_version)

    @cached_property
    def _manifest(self) -> Manifest:
        place = str(self._declared.application["manifest"])
        try:
            with fsspec.open(place, "rb") if "://" in place else Path(place).open("rb") as file:
                text = file.read(MIB).decode()
        except (OSError, ValueError, ImportError) as error:
            raise EngineError(
                f"the manifest of {self._name} cannot be read: {error}.", hint="Nothing was done."
            ) from None
        return parse_manifest(text, self._name, self.api_version)

    @property
    def _cluster(self) -> Cluster:
        """The cluster, opened again before what proves who asks gets old."""
        opened = self._opened
        if opened is None or time.monotonic() - opened[0] > FRESH_S:
            connection = self._declared.connection
            opened = time.monotonic(), open_cluster(None if connection is None else self._connect(connection))
            self._opened = opened
        return opened[1]

    @property
    def _objects(self) -> CustomResources:
        return CustomResources(self._cluster.rest, self.api_version)


def place_of(run_id: str) -> tuple[str, str]:
    """The namespace and the name of the object of a run. Raises EngineError for what is no id of such a run."""
    namespace, _, rest = run_id.partition("/")
    name = rest.partition("/")[0]
    if NAME.fullmatch(namespace) is None or NAME.fullmatch(name) is None or rest.count("/") != 2:
        raise EngineError(
            f"the run {run_id:.80} is none of a SparkApplication.",
            hint="Nothing was done. It was started on another engine; see there that it has ended.",
        )
    return namespace, name


def token_in(there: Object) -> str:
    """The token of an object; empty for none."""
    return str((there["metadata"].get("annotations") or {}).get(TOKEN, ""))


def pointer(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
