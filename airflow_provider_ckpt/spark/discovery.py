"""Finding the checkpoints that a query is about, on the driver."""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.spark.options import Places
from airflow_provider_ckpt.storage.shared_drivers import SharedDrivers

#: A partition holds at most so many checkpoints.
LOCATIONS_A_PARTITION = 500


def discover(places: Places, known: Collection[str] = ()) -> tuple[list[str], list[FleetRow]]:
    """The checkpoints below some roots, and rows of what is not to be read: replaced, or not to be listed.

    Args:
        places: Where to search.
        known: Checkpoints that are not read again, nor returned unless they are roots.

    Raises:
        CheckpointError: A root is not there, or cannot be listed.
    """
    drivers = SharedDrivers(places.storage_options)
    roots = [drivers.open(root) for root in places.roots]
    if places.depth == 0:
        return list(dict.fromkeys(root.location for root in roots)), []
    found = list(find_checkpoints(roots, depth=places.depth, known=known))
    locations = [item.location for item in found if not isinstance(item, FleetRow)]
    return list(dict.fromkeys(locations)), [item for item in found if isinstance(item, FleetRow)]
