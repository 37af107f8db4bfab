"""A stream with watermarks of one's own choice, without Spark."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import parse_time_ms
from tests.fake_query import FakeQuery


class Stream:
    """Commits batches; each says which watermark it ran with."""

    def __init__(self, location: Path | str) -> None:
        self.location = str(location)
        self.watermarks_ms: list[int] = []
        self.query = FakeQuery(Store.open(self.location))
        self.query.watermark_ms = lambda batch_id: self.watermarks_ms[min(batch_id, len(self.watermarks_ms) - 1)]

    def commit(self, watermark: str) -> int:
        """Commit a batch that ran with a watermark; its id."""
        self.watermarks_ms.append(parse_time_ms(watermark))
        self.query.commit(len(self.watermarks_ms) - 1)
        return len(self.watermarks_ms) - 1
