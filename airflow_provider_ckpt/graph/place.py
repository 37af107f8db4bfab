"""A table or a directory that queries read and write, as it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.query.paths import plain_place
from airflow_provider_ckpt.query.spark_version import SparkVersion


@dataclass(frozen=True, slots=True)
class Written:
    """The newest batch of a query that a table records.

    Args:
        batch_id: The batch.
        proof: The commit that records it.
        is_sink: The commit is one of the table format's own sink; a ``foreachBatch`` may record a batch as well.
        spark: The Spark that wrote it; None when the commit does not say.
    """

    batch_id: int
    proof: Proof
    is_sink: bool
    spark: SparkVersion | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A table, or the output directory of a file sink.

    Args:
        type: ``delta``, ``iceberg`` or ``file``.
        location: Its URI.
        table_id: Of Delta the id, of Iceberg the UUID.
        version: Of Delta the newest version.
        snapshots: Of Iceberg the ids of the snapshots that it keeps.
        says_location: Where the table itself says that it is, as Iceberg does; empty where it does not.
        proof: The file that holds them.
        written: Newest batch by query id, of the queries that were asked about.
        entries_ms: Of a file sink when the entry of each batch was written, epoch milliseconds; None when not known.
    """

    type: str
    location: str
    table_id: str = ""
    version: int | None = None
    snapshots: frozenset[int] = frozenset()
    says_location: str = ""
    proof: Proof | None = None
    written: Mapping[str, Written] = field(default_factory=dict)
    entries_ms: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Its location in the one form in which two locations of the same place are equal."""
        return plain_place(self.location)

    @property
    def is_copy(self) -> bool:
        """True if the table says that it is elsewhere: somebody has copied its files."""
        return bool(self.says_location) and plain_place(self.says_location) != self.key

    @property
    def text(self) -> str:
        """As a source or a sink is declared."""
        return f"{self.type}:{self.location}"
