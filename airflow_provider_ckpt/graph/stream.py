"""A query, as its checkpoint tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.input_files import above_partitions
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.graph.proven_types import Proof, ProvenType
from airflow_provider_ckpt.query.spark_version import SparkVersion


@dataclass(frozen=True, slots=True)
class Taken:
    """The files that the log of a file source names.

    Args:
        directories: The directories that they are in.
        times_ms: When each file was written, epoch milliseconds, as the log has it, by its path.
    """

    directories: frozenset[str]
    times_ms: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many."""
        return len(self.times_ms)

    @property
    def directory(self) -> str | None:
        """The directory that a source reads whose files these are; None when they do not say which it is.

        That of all files, or the one above several directories of partitions, such as ``day=2026-11-01``.
        """
        above = {above_partitions(directory) for directory in self.directories}
        is_one = len(above) == 1 and (len(self.directories) > 1 or above == self.directories)
        return next(iter(above)) if is_one else None


@dataclass(frozen=True, slots=True)
class StreamSource:
    """One source of a query.

    Args:
        id: Its position, or its name.
        offset: Its newest offset; None when it has none yet.
        file: The file that holds it.
        proven: Its type, where the checkpoint alone proves it.
        taken: The files of a file source; None when they were not read.
        passed_over: Files that were in the directory before the newest batch, although the log does not name them;
            None when the directory was not read.
    """

    id: str
    offset: SourceOffset | None = None
    file: str = ""
    proven: ProvenType | None = None
    taken: Taken | None = None
    passed_over: int | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """A query.

    Args:
        location: URI of its checkpoint.
        query_id: Its id; None when that cannot be read.
        latest_committed: Its newest committed batch.
        sources: Its sources; None when no entry of the offset log can be read.
        planned_ms: When the newest batches began, epoch milliseconds, by batch.
        committed_ms: When they were committed, epoch milliseconds by the clock of the storage, by batch.
        confs_of: The versions of Spark that persist the confs of its newest entry.
        confs_proof: That entry.
        error: Why it cannot be read; the rest is then empty.
    """

    location: str
    query_id: str | None = None
    latest_committed: int | None = None
    sources: tuple[StreamSource, ...] | None = None
    planned_ms: Mapping[int, int] = field(default_factory=dict)
    committed_ms: Mapping[int, int] = field(default_factory=dict)
    confs_of: tuple[SparkVersion, ...] = ()
    confs_proof: Proof | None = None
    error: str = ""
