"""A table of ``checkpoint_history`` as a DataFrame: manifests are read here, the rows by Spark's own reader."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.history_table.manifest import merged_schema
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.spark.options import absolute
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

#: Where Hadoop calls the driver of a storage otherwise than fsspec.
_HADOOP_SCHEMES = {"s3": "s3a", "gcs": "gs", "az": "abfs"}
#: Files that one task reads, where Python reads them.
_FILES_A_TASK = 8


def history(session: Any, path: str, **storage_options: Any) -> Any:
    """The rows of all epochs that were committed before the call, as a DataFrame.

    Spark's own Parquet reader reads them, so that columns and filters are pushed down. Where its Hadoop has no driver
    of the storage (``s3a`` needs ``hadoop-aws``), Python workers read them through fsspec.

    Args:
        session: A live Spark session.
        path: Target of the stream.
        storage_options: For the fsspec driver.

    Raises:
        CheckpointNotFoundError: No epoch was committed there.
        StoreError: A column has changed its type between epochs.
    """
    table = Store.open(path, **storage_options)
    found = read_table(table)
    schema = _struct(merged_schema(found.schemas, table.location))
    names = [file.name for file in found.files]
    if not names:
        return session.createDataFrame([], schema)
    base = hadoop_url(session, table)
    if base is not None:
        return session.read.schema(schema).parquet(*(f"{plain(base)}/{name}" for name in names))
    parts = session.createDataFrame([(name,) for name in names], "name string")
    parts = parts.repartition(-(-len(names) // _FILES_A_TASK))
    return parts.mapInArrow(_Reader(absolute(path, storage_options), storage_options, schema), schema)


def _struct(schema: dict[str, Any]) -> Any:
    from pyspark.sql.types import StructType

    return StructType.fromJson(schema)


def hadoop_url(session: Any, store: Store) -> str | None:
    """A location as the JVM of a session calls it; None when its Hadoop cannot open it. A Connect server can."""
    base = f"file://{store.root}" if store.is_local else store.location
    scheme, _, place = base.partition("://")
    url = f"{_HADOOP_SCHEMES.get(scheme, scheme)}://{place}"
    jvm = getattr(session, "_jvm", None)
    if jvm is None:
        return url
    from py4j.protocol import Py4JError

    try:
        configuration = session._jsc.hadoopConfiguration()  # noqa: SLF001  # PySpark shows the Hadoop configuration nowhere else
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(url.partition("://")[0], configuration)
    except Py4JError:
        return None
    return url


def plain(url: str) -> str:
    """A location that Spark's readers do not take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", url)


class _Reader:
    """Work of a Python worker on the names of files."""

    def __init__(self, path: str, storage_options: dict[str, Any], schema: Any) -> None:
        self.path, self.storage_options, self.schema = path, storage_options, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyspark.sql.pandas.types import to_arrow_schema

        wanted = to_arrow_schema(self.schema, timezone="UTC")
        table = Store.open(self.path, **self.storage_options)
        for batch in batches:
            for name in batch.column("name").to_pylist():
                for rows in pq.ParquetFile(io.BytesIO(table.read(name))).iter_batches():
                    columns = [
                        rows.column(field.name).cast(field.type)
                        if field.name in rows.schema.names
                        else pa.nulls(rows.num_rows, field.type)
                        for field in wanted
                    ]
                    yield pa.RecordBatch.from_arrays(columns, schema=wanted)
