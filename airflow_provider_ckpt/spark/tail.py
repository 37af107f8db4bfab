"""``spark.readStream.format("checkpoint")``: the batches of a fleet as they are committed (from Spark 4.2 on).

The contract is that of Spark's ``MicroBatchStream``: the initial offset is a constant, the rows between two offsets are
the same whenever they are read, and an offset is all that a restart needs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from airflow_provider_ckpt.batches.arrow import record_batches
from airflow_provider_ckpt.batches.columns import BATCHES, Column, named
from airflow_provider_ckpt.batches.follow import RangeReading, Rhythm, Tail, read_range
from airflow_provider_ckpt.batches.positions import BatchRange, divided_evenly, ranges_between
from airflow_provider_ckpt.batches.read_rows import THREADS, read_with
from airflow_provider_ckpt.batches.rows import BatchRow
from airflow_provider_ckpt.codec import checkpoint_offset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.spark.discovery import LOCATIONS_A_PARTITION, discover
from airflow_provider_ckpt.spark.options import StreamOptions
from airflow_provider_ckpt.storage.shared_drivers import SharedDrivers

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

#: A partition costs what some hundred rows cost, so it has so many batches if there are.
BATCHES_A_PARTITION = 3_000


class Ranges(InputPartition):
    """Batches of some checkpoints."""

    value: tuple[BatchRange, ...]


class TailReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One instance plans for the time of a query run; copies of it read on executors."""

    def __init__(self, options: StreamOptions, columns: Sequence[Column]) -> None:
        self.options = options
        self.names = tuple(column.name for column in columns)
        self._tail: Tail | None = None
        #: Of ``Trigger.AvailableNow``: whether what is there is still to be found, or was; None for any other trigger.
        self._to_find_all: bool | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Executors need no more than what was declared."""
        return {**self.__dict__, "_tail": None}

    def initialOffset(self) -> dict[str, Any]:
        """No checkpoint has been read. Spark asks again when it plans the first batch anew."""
        return checkpoint_offset.encode({})

    def getDefaultReadLimit(self) -> ReadLimit:
        """``maxBatchesPerTrigger``."""
        return ReadMaxRows(self.options.max_batches)

    def prepareForTriggerAvailableNow(self) -> None:
        """Limit this run to the rows that are there when the first batch is planned."""
        self._to_find_all = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far the next micro-batch reads: ``start`` itself when there is nothing new."""
        positions = checkpoint_offset.decode(start)
        tail = self._tail = self._tail or self._new_tail()
        moved = {}
        if self._to_find_all is not False:
            moved = tail.poll_due(positions, everywhere=bool(self._to_find_all))
        if self._to_find_all:
            self._to_find_all = False
        taken = tail.take(limit.max_rows if isinstance(limit, ReadMaxRows) else None)
        if not moved and not taken:
            return start
        return checkpoint_offset.encode({**positions, **moved, **taken})

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Divide what lies between two offsets."""
        first, last = checkpoint_offset.decode(start), checkpoint_offset.decode(end)
        ranges = list(ranges_between(first, last))
        most = max(2 * (os.cpu_count() or 1), -(-len(ranges) // LOCATIONS_A_PARTITION))
        return [Ranges(part) for part in divided_evenly(ranges, BATCHES_A_PARTITION, most)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        return record_batches(self._rows(partition.value), named(BATCHES, self.names))

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is to be done: checkpoints are not ours to clean."""

    def stop(self) -> None:
        """Nothing is held but memory."""

    def _rows(self, ranges: Sequence[BatchRange]) -> Iterator[BatchRow]:
        drivers = SharedDrivers(self.options.places.storage_options)
        with ThreadPoolExecutor(THREADS) as pool:
            for item in ranges:
                store = drivers.open(item.location)
                reading = RangeReading(self.options.declared.of(item.location), self.options.fails_on_data_loss)
                yield from read_range(store, item, reading, read_with(store, pool))

    def _new_tail(self) -> Tail:
        options = self.options
        rhythm = Rhythm(options.discover_ms, options.poll_ms, options.quiet_ms)
        return Tail(self._discover, SharedDrivers(options.places.storage_options).open, rhythm)

    def _discover(self, known: Collection[str]) -> list[str]:
        found, others = discover(self.options.places, known)
        errors = [row.error for row in others if row.error]
        for error in errors:
            log.warning("A directory cannot be searched for checkpoints, and is searched again later: %s", error)
        if errors and not found and not known:
            raise CheckpointError(errors[0])
        return [location for location in found if location not in known]
