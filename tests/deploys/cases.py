"""The deploys: what is deployed, and where it must end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Case:
    """A deploy.

    Args:
        name: What it is called in the table.
        version: The new version (``tests.deploys.job``); what is before the colon is the old one.
        ends: The task that stops it; ``deployed`` when nothing does.
        answer: What the person says who is asked.
        params: Params of the run beyond those of every run.
        kill: The task in which the machine of the scheduler goes down.
        retyped: Columns whose type the new version changes; their values are compared as numbers.
    """

    name: str
    version: str
    ends: str = "deployed"
    answer: Literal["Approve", "Reject"] = "Approve"
    params: Mapping[str, Any] = field(default_factory=dict)
    kill: str = ""
    retyped: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        """The old version."""
        return self.version.partition(":")[0]


GOOD = (
    Case("the same code", "rate"),
    Case("refactored", "rate:refactored"),
    Case("columns in another order", "rate:reordered"),
    Case("a column more, declared", "rate:added", params={"added": ["fifth"]}),
    Case("the time of processing, ignored", "clock", params={"ignore": ["at"]}),
    Case("smaller files by a conf", "rate", params={"confs": {"spark.sql.files.maxRecordsPerFile": "3"}}),
    Case("duplicates dropped by state", "dedup"),
    Case("files as input", "files:refactored"),
    Case("Parquet, three batches compared", "parquet:refactored", params={"compare_batches": 3}),
    Case("a difference that a person accepts", "rate:schema", params={"on_difference": "report"}, retyped=("twice",)),
)
BAD = (
    Case("never commits", "rate:stuck", "shadow"),
    Case("a wrong factor", "rate:factor", "compare"),
    Case("rows are dropped", "rate:dropped", "compare"),
    Case("rows come twice", "rate:doubled", "compare"),
    Case("crashes at the start", "rate:crashes", "shadow"),
    Case("crashes after some batches", "rate:crashes_later", "shadow"),
    Case("another type of a column", "rate:schema", "compare"),
    Case("state of another schema", "dedup:state", "shadow"),
    Case("a shorter watermark", "dedup:watermark", "compare"),
    Case("one source more", "rate:sources", "gate", params={"sources": ["rate-micro-batch", "rate-micro-batch"]}),
    Case("writes to the live sink", "rate:live_sink", "compare"),
    Case("a sink that is not exact", "rate", "allowed", params={"sink": "kafka"}),
    Case("a good version, rejected", "rate:refactored", "approve", answer="Reject"),
)
#: With the stack to themselves: what runs elsewhere on that machine ends as well.
KILLED = (
    Case("the scheduler dies while a person is asked", "rate:refactored", kill="approve"),
    Case("the scheduler dies in the restart", "rate:refactored", kill="restart"),
)
