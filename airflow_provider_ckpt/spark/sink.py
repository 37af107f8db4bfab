"""``writeStream.format("checkpoint_history")``: rows of a stream into a table, each once; any rows, on any storage.

The contract is that of Spark's ``StreamingWrite``: tasks write files and send messages, ``commit`` of an epoch makes
them rows of the table, a second ``commit`` of it is nothing, ``abort`` gives files up. All of it is in
``history_table/``.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.history_table import publish
from airflow_provider_ckpt.history_table.manifest import Written
from airflow_provider_ckpt.history_table.write_rows import write_rows
from airflow_provider_ckpt.spark.options import absolute, storage_options
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

#: What Spark tells a task of the query and the epoch that it belongs to (``StreamExecution.QUERY_ID_KEY``,
#: ``MicroBatchExecution.BATCH_ID_KEY``).
_QUERY_ID, _EPOCH = "sql.streaming.queryId", "streaming.sql.batchId"


class CheckpointHistory(DataSource):
    """The sink. Options: ``path``, and ``storage.KEY`` for the options of the fsspec driver."""

    @classmethod
    def name(cls) -> str:
        """Name for ``format()``."""
        return "checkpoint_history"

    def streamWriter(self, schema: StructType, overwrite: bool) -> HistoryWriter:
        """The writer. Raises ValueError for options that it cannot follow."""
        if overwrite:
            raise ValueError("checkpoint_history does not support outputMode('complete'); use 'append' or 'update'.")
        if not self.options.get("path"):
            raise ValueError("checkpoint_history needs the option path, the location of the table.")
        options = storage_options(self.options)
        path = absolute(self.options["path"], options)
        return HistoryWriter(path, options, schema.json(), self.options.get("checkpointLocation"))


@dataclass
class Message(WriterCommitMessage):
    """Message of a task to the committer of the epoch."""

    written: Written


@dataclass
class HistoryWriter(DataSourceStreamArrowWriter):
    """Writes one epoch; Spark makes another one for each, so it remembers nothing.

    Args:
        path: Where the table is.
        options: Options of the driver of the storage.
        schema: Spark's ``StructType`` of the rows, as JSON text.
        checkpoint: The checkpoint of the stream itself; None when it was not given as an option.
    """

    path: str
    options: Mapping[str, Any]
    schema: str
    checkpoint: str | None = None

    def table(self) -> Store:
        """The table."""
        return Store.open(self.path, **self.options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        """A task's rows, into files that nobody reads yet."""
        since_ms, task, plan = now_ms(), task_of_this_process(), None
        if task.partition == 0:  # one of them is enough, and it is a request
            with suppress(CheckpointError):  # an executor need not reach it; whoever commits says so if it does not
                plan = self._read_plan(task.epoch)
        files = tuple(write_rows(self.table(), iterator))
        return Message(Written(task.query_id, files, since_ms, plan))

    def commit(self, messages: Sequence[Message | None], batchId: int) -> None:
        """All files of an epoch become rows of the table, unless others are already."""
        written = [message.written for message in messages if message is not None]
        publish.commit(self.table(), batchId, written, self.schema, now_ms(), self.plan_of(batchId))

    def plan_of(self, epoch: int) -> str | None:
        """A digest of the offset entry of an epoch: equal when Spark runs it again, another when it plans it anew."""
        try:
            return self._read_plan(epoch)
        except CheckpointError as error:
            log.warning(
                "The checkpoint of the stream cannot be read, so its rollback by one batch is not told from a restart "
                "where the rows are as many: %s",
                error,
            )
            return None

    def _read_plan(self, epoch: int) -> str:
        if not self.checkpoint:
            raise StoreError("the option checkpointLocation is not set on the writer.")
        store = Store.open(self.checkpoint, **self.options)
        return hashlib.sha256(store.read(layout.offset_entry(epoch))).hexdigest()

    def abort(self, messages: Sequence[Message | None], batchId: int) -> None:
        """The epoch has failed, or its commit seems to have."""
        publish.abort(self.table(), batchId, [message.written if message else None for message in messages])


class StreamTask(NamedTuple):
    """A task of a streaming query."""

    query_id: str
    epoch: int
    partition: int


def task_of_this_process() -> StreamTask:
    """The task that runs here, as Spark tells it. Raises StoreError when it does not belong to a streaming query."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    query_id, epoch = (context and context.getLocalProperty(key) for key in (_QUERY_ID, _EPOCH))
    if not query_id or not epoch:
        raise StoreError("only a streaming query can write checkpoint_history, and this task does not belong to one.")
    return StreamTask(str(query_id), int(epoch), context.partitionId())
