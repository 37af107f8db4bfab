"""The stream ``checkpoint`` with faults at each step of its reader, as ``history_faults`` has them for the sink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_provider_ckpt.spark.table import CheckpointSource
from airflow_provider_ckpt.spark.tail import TailReader
from tests.spark.history_faults import fire

STEPS = (
    *("initialOffset-before", "initialOffset-after"),
    *("prepareForTriggerAvailableNow-before", "prepareForTriggerAvailableNow-after"),
    *("latestOffset-before", "latestOffset-after"),
    *("partitions-before", "partitions-after"),
    *("read-before", "read-between", "read-after"),
)


class FaultyTail(TailReader):
    """The reader of the stream; ``faults`` is the root of faults."""

    faults = ""

    def initialOffset(self) -> dict[str, Any]:
        return self._around("initialOffset")

    def prepareForTriggerAvailableNow(self) -> None:
        self._around("prepareForTriggerAvailableNow")

    def latestOffset(self, start: Any, limit: Any) -> dict[str, Any]:
        return self._around("latestOffset", start, limit)

    def partitions(self, start: Any, end: Any) -> Any:
        return self._around("partitions", start, end)

    def read(self, partition: Any) -> Iterator[Any]:
        fire(self.faults, "read-before")
        for rows in super().read(partition):
            yield rows
            fire(self.faults, "read-between")
        fire(self.faults, "read-after")

    def _around(self, step: str, *arguments: Any) -> Any:
        fire(self.faults, f"{step}-before")
        answer = getattr(TailReader, step)(self, *arguments)
        fire(self.faults, f"{step}-after")
        return answer


class FaultyCheckpoints(CheckpointSource):
    """The stream; the root of faults is an option of its storage, which a disk takes no notice of."""

    @classmethod
    def name(cls) -> str:
        return "faulty_checkpoint"

    def streamReader(self, schema: Any) -> FaultyTail:
        plain = super().streamReader(schema)
        reader = FaultyTail.__new__(FaultyTail)
        reader.__dict__ |= vars(plain)
        reader.faults = self.options["storage.faults"]
        return reader
