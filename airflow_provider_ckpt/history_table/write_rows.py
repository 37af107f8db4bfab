"""Rows into Parquet files of unique names, which hold no rows of the table before a manifest names them."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from airflow_provider_ckpt.errors import ObjectExistsError
from airflow_provider_ckpt.history_table.manifest import DATA, DataFile
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

#: A file is closed when it has reached this size; so much is held in memory as well. Bytes.
MOST_BYTES = 32 << 20


def write_rows(table: Store, batches: Iterable[pa.RecordBatch], most_bytes: int = MOST_BYTES) -> Iterator[DataFile]:
    """Write batches of rows of one schema, and tell each file when it is there; nothing without rows."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    writer: pq.ParquetWriter | None = None
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        if writer is None:
            buffer = io.BytesIO()
            writer, rows = pq.ParquetWriter(buffer, batch.schema, compression="zstd"), 0
        writer.write_batch(batch)
        rows += batch.num_rows
        if buffer.tell() >= most_bytes:
            writer.close()
            writer = None
            yield _create(table, buffer.getvalue(), rows)
    if writer is not None:
        writer.close()
        yield _create(table, buffer.getvalue(), rows)


def _create(table: Store, data: bytes, rows: int) -> DataFile:
    name = f"{DATA}/{uuid.uuid4()}.parquet"
    try:
        table.create(name, data)
    except ObjectExistsError:  # nobody else has this name: the driver has asked twice, for the first answer was lost
        stored = table.stat(name)
        if stored is None or stored.size != len(data):
            raise
    return DataFile(name, rows, len(data))
