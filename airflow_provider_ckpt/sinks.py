"""What sinks remember of the batches that they have seen. So far: the file sink."""

from __future__ import annotations

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.store import Store


def parse_sink(text: str) -> str:
    """The location in a declaration such as ``file:/data/out`` or ``file:s3://bucket/out``. Raises StoreError."""
    kind, _, location = text.partition(":")
    if kind != "file" or not location:
        raise StoreError(f"cannot read a sink {text!r}", hint="Declare it as file:URI, for example file:/data/out.")
    return f"file:{location}" if location.startswith("//") else location


def read_file_sink(store: Store, *, trim: bool = False) -> SinkLog:
    """List the ``_spark_metadata`` of a file sink's output directory."""
    objects, _ = store.ls(layout.SINK_LOG)
    return SinkLog(store.location, objects, trim)
