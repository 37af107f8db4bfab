"""Opening many locations with one driver for each storage: to make one costs more than to read a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from airflow_provider_ckpt.storage.store import Store


@dataclass(slots=True)
class SharedDrivers:
    """Opens locations, on any thread; those of one bucket, account or disk share a driver.

    Args:
        storage_options: For every driver.
    """

    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _opened: dict[tuple[str, str], Store] = field(default_factory=dict, repr=False)

    def open(self, location: str) -> Store:
        """The store of a location. Raises as :meth:`Store.open`."""
        url = urlsplit(location)
        known = self._opened.get((url.scheme, url.netloc))
        if known is not None and "::" not in location:
            return known.at(location)
        store = Store.open(location, **self.storage_options)
        self._opened.setdefault((url.scheme, url.netloc), store)  # another thread may have opened one meanwhile
        return store
