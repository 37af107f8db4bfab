"""A query into a table of each format, whose truth plain Python computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.sinks.worker import Worker
from tests.spark_lab import Lab, rows_of

#: Formats by the file of coordinates that has their jars.
FORMATS = {"delta": "lakes", "foreachBatch": "lakes", "iceberg": "lakes", "hudi": "hudi"}


@dataclass(slots=True)
class TableLab(Lab):
    """The stateless query of the lab into a table."""

    worker: Worker | None = None

    @property
    def table(self) -> str:
        """What Spark calls the table."""
        return "lake.db.orders" if self.config == "iceberg" else str(self.root / "output")

    @property
    def location(self) -> Path:
        """Where the table is."""
        assert self.worker
        return self.worker.warehouse / "db" / "orders" if self.config == "iceberg" else self.root / "output"

    @property
    def sink(self) -> str:
        """The sink as a user declares it."""
        if self.config == "foreachBatch":
            return f"delta:{self.location}#txnAppId=orders"
        return f"{self.config}:{self.location}"

    def create(self) -> None:
        """Create the table, where the format wants that."""
        assert self.worker
        if self.config == "iceberg":
            self.worker.sql("CREATE TABLE lake.db.orders (key string, value bigint) USING iceberg")

    def drain(self, checkpoint: Path | None = None, **options: str) -> None:
        """Run the query until its input is used up."""
        assert self.worker
        self.worker.ask(
            do="run",
            input=str(self.input),
            checkpoint=str(checkpoint or self.checkpoint),
            sink=self.config,
            to=self.table,
            options=options,
        )

    def rows(self) -> Counter[tuple[str, int]]:
        """The rows of the table, with how often each is there."""
        assert self.worker
        kind = "delta" if self.config == "foreachBatch" else self.config
        return Counter((key, value) for key, value in self.worker.ask(do="read", sink=kind, to=self.table))


def expected(letters: Mapping[int, str]) -> Counter[tuple[str, int]]:
    """The rows that files give, by number and letter."""
    return Counter(row for number, letter in letters.items() for row in rows_of(number, letter))
