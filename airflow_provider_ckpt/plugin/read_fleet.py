"""Rows that the fleet page may show: those of the index that are below the configured roots."""

from __future__ import annotations

from threading import Lock

from airflow_provider_ckpt.fleet.index import FleetIndex, IndexRow
from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.plugin.settings import Settings
from airflow_provider_ckpt.plugin.stores import open_connected
from airflow_provider_ckpt.storage.roots import Roots


class FleetReader:
    """Reads the index for many requests: one listing each, and the file when there is a newer one."""

    def __init__(self) -> None:
        self._reader = IndexReader()
        self._kept: tuple[FleetIndex, Roots, tuple[IndexRow, ...]] | None = None
        self._lock = Lock()

    def read(self, settings: Settings) -> tuple[FleetIndex, tuple[IndexRow, ...]] | None:
        """The newest index and those of its rows that may be shown; None when no index was written yet.

        Raises CheckpointError when it cannot be read.
        """
        assert settings.index is not None
        index = self._reader.read(open_connected(settings.index, settings.index_conn_id))
        if index is None:
            return None
        with self._lock:
            if self._kept is None or self._kept[0] is not index or self._kept[1] != settings.roots:
                held = set(settings.roots.those_held(row.location for row in index.rows))
                self._kept = (index, settings.roots, tuple(row for row in index.rows if row.location in held))
            return index, self._kept[2]


#: Of the API server's process.
FLEET = FleetReader()
