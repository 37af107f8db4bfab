"""``spark.read.format("checkpoint")``: the logs of a fleet as a table (a data source in Python, from Spark 4.0 on).

The driver finds the checkpoints and divides them; executors list and read them and return Arrow record batches. All
that an executor needs is in its partition, since Spark reads with another instance than it plans with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from airflow_provider_ckpt.batches.arrow import record_batches
from airflow_provider_ckpt.batches.columns import TABLES, Column, ddl, named
from airflow_provider_ckpt.batches.read_rows import THREADS, Reading, read_rows, read_with
from airflow_provider_ckpt.batches.rows import BatchRow
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.spark.discovery import LOCATIONS_A_PARTITION, discover
from airflow_provider_ckpt.spark.filters import Admitted
from airflow_provider_ckpt.spark.options import StreamOptions, TableOptions
from airflow_provider_ckpt.storage.shared_drivers import SharedDrivers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamReader, Filter
    from pyspark.sql.types import StructType


class CheckpointSource(DataSource):
    """The data source ``checkpoint``; its options are in docs/pipeline.md."""

    @classmethod
    def name(cls) -> str:
        """Name for ``format``."""
        return "checkpoint"

    def schema(self) -> str:
        """Every column; name fewer with ``.schema()``, and what they alone need is not read."""
        rows = self.options.get("rows", "batches")
        return ddl(TABLES.get(rows.lower(), TABLES["batches"]))

    def reader(self, schema: StructType) -> DataSourceReader:
        """For ``spark.read``."""
        options = TableOptions.parse(self.options)
        return TableReader(options, columns_of(schema, TABLES[options.rows]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For ``spark.readStream``. Raises CheckpointError before Spark 4.2, whose streams know no read limit."""
        try:
            from airflow_provider_ckpt.spark.tail import TailReader
        except ImportError as error:
            message = f"a stream of checkpoints needs Spark 4.2 or later; this is Spark {pyspark.__version__}."
            raise CheckpointError(message) from error
        return TailReader(StreamOptions.parse(self.options), columns_of(schema, TABLES["batches"]))


class FilteredCheckpointSource(CheckpointSource):
    """The same with filters pushed down, for sessions that allow that (Spark 4.1 and later)."""

    def reader(self, schema: StructType) -> DataSourceReader:
        """For ``spark.read``."""
        options = TableOptions.parse(self.options)
        return FilteredTableReader(options, columns_of(schema, TABLES[options.rows]))


def columns_of(schema: StructType, known: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that a schema asks for. Raises ValueError for one that is unknown, or has another type."""
    columns = named(known, schema.fieldNames())
    for asked, column in zip(schema, columns, strict=True):
        if asked.dataType.simpleString() != column.type or not asked.nullable:
            asked_type = asked.dataType.simpleString() + ("" if asked.nullable else " not null")
            raise ValueError(
                f"the column {column.name} has the type {column.type} and may be null, but the given schema says "
                f"{asked_type}"
            )
    return columns


class Locations(InputPartition):
    """Some checkpoints, and what the driver has found that is not to be read: rows that say why."""

    def __init__(self, locations: tuple[str, ...], not_read: tuple[FleetRow, ...] = ()) -> None:
        super().__init__(locations)
        self.not_read = not_read


class TableReader(DataSourceReader):
    """Reads rows of batches, or of checkpoints."""

    def __init__(self, options: TableOptions, columns: tuple[Column, ...]) -> None:
        self.options = options
        self.names = tuple(column.name for column in columns)
        self.admitted = Admitted()

    def partitions(self) -> list[InputPartition]:
        """Find the checkpoints, and divide them. Raises CheckpointError for a root that is not there."""
        locations, not_read = discover(self.options.places)
        errors = [row.error for row in not_read if row.error]
        if self.options.fails_fast and errors:
            raise CheckpointError(errors[0])
        locations = [location for location in locations if self.admitted.admits_location(location)]
        parts = divided(locations, self.options.partitions)
        return [Locations(part, () if number else tuple(not_read)) for number, part in enumerate(parts or [()])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        assert isinstance(partition, Locations)
        columns = named(TABLES[self.options.rows], self.names)
        rows = self._checkpoints(partition) if self.options.rows == "checkpoints" else self._batches(partition)
        return record_batches(rows, columns)

    def _checkpoints(self, partition: Locations) -> Iterator[FleetRow]:
        from airflow_provider_ckpt.batches.read_checkpoints import read_checkpoints  # all rules; rows need none

        yield from partition.not_read
        stores = map(SharedDrivers(self.options.places.storage_options).open, partition.value)
        options = self.options
        yield from read_checkpoints(stores, deep=options.deep, fails_fast=options.fails_fast, threads=THREADS)

    def _batches(self, partition: Locations) -> Iterator[BatchRow]:
        yield from (BatchRow(row.location, problem=row.error) for row in partition.not_read if row.error)
        drivers, reading = SharedDrivers(self.options.places.storage_options), self._reading()
        with ThreadPoolExecutor(THREADS) as pool:
            for location in partition.value:
                store = drivers.open(location)
                yield from read_rows(store, reading, read_with(store, pool))

    def _reading(self) -> Reading:
        options, every = self.options, "problem" in self.names or self.options.fails_fast
        return Reading(
            options.selection.within(self.admitted.selection),
            options.declared,
            options.fails_fast,
            commits=every or bool({"commit_log_version", "next_watermark"} & {*self.names}),
            query_ids=every or "query_id" in self.names,
        )


class FilteredTableReader(TableReader):
    """Spark refuses a reader that has ``pushFilters`` unless the session allows pushing down."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take what saves reading. Spark applies every filter again, since none is applied to the last row here."""
        self.admitted = Admitted.by(filters)
        return filters


def divided(items: Sequence[Any], wanted: int | None) -> list[tuple[Any, ...]]:
    """Parts of nearly one size: as many as are wanted, else enough for the cores of this host, none too large."""
    needed = max(2 * (os.cpu_count() or 1), -(-len(items) // LOCATIONS_A_PARTITION))
    count = min(len(items), wanted or needed)
    return [tuple(items[len(items) * part // count : len(items) * (part + 1) // count]) for part in range(count)]
