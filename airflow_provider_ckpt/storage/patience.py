"""How long a storage may take when somebody waits in front of a screen."""

from __future__ import annotations

from airflow_provider_ckpt.storage.drivers import protocols
from airflow_provider_ckpt.storage.store import Store

#: Seconds until S3 must have accepted a connection, and until it must have sent something of its answer.
CONNECT_S, READ_S = 3, 8


def without_patience(store: Store) -> Store:
    """The same store, whose calls fail soon when S3 does not answer; other drivers keep their own limits.

    By default the driver of S3 waits 15 seconds for an answer and asks 25 times.
    """
    if not store.is_local and "s3" in protocols(store.fs):
        store.fs.connect_timeout, store.fs.read_timeout, store.fs.retries = CONNECT_S, READ_S, 1
        store.fs.config_kwargs = {**store.fs.config_kwargs, "retries": {"total_max_attempts": 1}}
    return store
