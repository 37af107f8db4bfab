"""Take the newest epochs of a query out of a table, so that its stream may write them anew after a rollback."""

from __future__ import annotations

from contextlib import suppress

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.errors import CheckpointNotFoundError, ObjectExistsError, StoreError
from airflow_provider_ckpt.history_table.manifest import EPOCHS, UNDONE, Place, parse_place, visible
from airflow_provider_ckpt.storage.store import Store


def rewind(table: Store, query_id: str, epoch: int, now_ms: int | None = None) -> tuple[Place, ...]:
    """Take every epoch of a query after one out of its table, the newest first, while the query is stopped.

    Whatever it is stopped at, the table is as it was after some epoch, and a second call goes on. The manifests are
    kept as ``undone/<epoch milliseconds>/epochs/<query id>/<N>``, and with them their files: delete that directory when
    nobody needs the rows any more.

    Args:
        table: The directory of the table.
        query_id: Id of the streaming query.
        epoch: The last epoch that stays: the batch to which the checkpoint of the query was rolled back.
        now_ms: Epoch milliseconds; now by default.

    Returns:
        What was taken out.

    Raises:
        CheckpointNotFoundError: The table has no epoch of the query.
        StoreError: Epochs after that one are merged with those before.
    """
    objects = table.find(f"{EPOCHS}/{query_id}")
    places = visible(place for place in map(parse_place, objects) if place is not None)
    if not places:
        raise CheckpointNotFoundError(
            f"the table has no epoch of query {query_id}.",
            location=table.location,
            hint="The id of the query is in the metadata file of its checkpoint.",
        )
    later = [place for place in places if place.epoch > epoch]
    merged = max((place.epoch for place in later if place.compact), default=None)
    if merged is not None:
        raise StoreError(
            f"epochs up to {merged} of query {query_id} are merged, so the table cannot go back to epoch {epoch}.",
            location=table.location,
            batch_id=epoch,
            hint=f"Go back to epoch {merged} or a later one; or let the stream begin with a new checkpoint.",
        )
    kept = f"{UNDONE}/{now_ms if now_ms is not None else clock.now_ms()}"
    for place in reversed(later):
        with suppress(ObjectExistsError):
            table.create(f"{kept}/{place.name}", table.read(place.name))
        table.delete_if(place.name, objects[place.name].identity)  # another one may be there, should the query run
    return tuple(later)
