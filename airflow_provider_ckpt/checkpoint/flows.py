"""Flows of Spark Declarative Pipelines, by where their checkpoints are; nothing in a checkpoint names a pipeline.

Below the storage of a pipeline are ``_checkpoints/<catalog>/<database>/<table>/<flow>/<version>``, and of a sink
``_checkpoints/<sink>/<flow>/<version>``. Each full refresh begins a version; Spark runs the highest number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog

#: The directory of all checkpoints of a pipeline.
CHECKPOINTS = "_checkpoints"
#: So many levels are below it: catalog, database, table, flow, version.
LEVELS = 5


@dataclass(frozen=True, slots=True)
class Flow:
    """One version of one flow.

    Args:
        storage: URI of the storage of the pipeline.
        parts: Names of the target: catalog, database and table, or a sink.
        name: Name of the flow.
        version: Its number.
    """

    storage: str
    parts: tuple[str, ...]
    name: str
    version: int

    @property
    def target(self) -> str:
        """URI of the directory of what the flow writes to, a table or a sink, with its flows in it."""
        return "/".join((self.storage, CHECKPOINTS, *self.parts))

    @property
    def wrote(self) -> str:
        """The target of the flow, for a sentence."""
        return ".".join(self.parts)

    @property
    def directory(self) -> str:
        """URI of the directory of the flow, with its versions in it."""
        return f"{self.target}/{self.name}"

    @property
    def called(self) -> str:
        """The flow in a sentence."""
        return f"flow {self.name} of {self.wrote}"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The version that runs of another flow into the same table or sink.

    Args:
        name: Name of the flow.
        location: URI of its checkpoint.
        committed: The newest batch in its commit log; None when nothing is committed.
    """

    name: str
    location: str
    committed: int | None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The table and the flows beside the checkpoint of a flow.

    Args:
        flow: The flow.
        newest: Its highest version.
        neighbours: The other flows into the same table or sink.
        log: The log of the files of the table, where it was found.
        is_delta: True if the table was found and is a Delta table.
    """

    flow: Flow
    newest: int
    neighbours: tuple[Neighbour, ...] = ()
    log: SinkLog | None = None
    is_delta: bool = False

    @property
    def replaced_by(self) -> str | None:
        """URI of the version that Spark runs; None when it is this one."""
        return f"{self.flow.directory}/{self.newest}" if self.newest > self.flow.version else None


def flow_of(location: str) -> Flow | None:
    """The flow whose checkpoint is at a location; None for any other checkpoint."""
    above, name = _divided(location)
    if name is None or len(above) < 2 or _number(name) is None:
        return None
    *parts, flow = above
    below = "/".join((CHECKPOINTS, *above, name))
    return Flow(location.rstrip("/").removesuffix(below).rstrip("/"), tuple(parts), flow, int(name))


def may_be_flow(location: str) -> bool:
    """True if a location can be the directory of a flow, which holds its versions."""
    above, name = _divided(location)
    return name is not None and len(above) >= 1


def _divided(location: str) -> tuple[list[str], str | None]:
    """The names between the directory of all checkpoints and the last part of a location, and that part."""
    parts = location.rstrip("/").split("/")
    if CHECKPOINTS not in parts[:-1]:
        return [], None
    first = len(parts) - 1 - parts[::-1].index(CHECKPOINTS)
    return parts[first + 1 : -1], parts[-1] if parts[-1] != CHECKPOINTS else None


def newest_version(names: Iterable[str]) -> str | None:
    """The directory of the version that runs, among the directories of a flow; None when there is no version."""
    return max((name for name in names if _number(name) is not None), key=int, default=None)


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdecimal() and len(name) < 19 else None
