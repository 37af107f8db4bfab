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
    locations: dict[str, None] = {}
    not_read: list[FleetRow] = []
    for item in find_checkpoints(roots, depth=places.depth, known=known):
        if isinstance(item, FleetRow):
            not_read.append(item)
        else:
            locations[item.location] = None  # its listing, which may be long, is not kept
    return list(locations), not_read
