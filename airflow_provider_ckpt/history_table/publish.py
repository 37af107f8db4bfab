"""Make the files of an epoch rows of the table, once; or give them up. The contract of Spark's ``StreamingWrite``.

Whoever commits may be killed at any moment, may be told that the storage failed when it had not, and may be asked again
for an epoch that is committed, with other files that hold the same rows. The manifest that was created first decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from airflow_provider_ckpt.errors import CheckpointNotFoundError, ObjectExistsError, StoreError
from airflow_provider_ckpt.history_table.manifest import (
    COMMIT_WITHIN_MS,
    DataFile,
    Manifest,
    Place,
    Written,
    newest_of,
    rewinding,
)
from airflow_provider_ckpt.history_table.read import list_places, read_manifest, undone_places
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store


def commit(
    table: Store, epoch: int, written: Sequence[Written], schema: str, now_ms: int, plan: str | None = None
) -> bool:
    """Create the manifest of an epoch.

    Args:
        table: The directory of the table.
        epoch: Spark's batch id.
        written: Files that each task wrote.
        schema: Spark's ``StructType`` of the rows, as JSON text.
        now_ms: Epoch milliseconds.
        plan: Digest of the plan of the rows: equal when Spark runs the epoch again, another one when the stream has
            gone back and planned it anew. None when nobody can tell; then what the tasks say, else the number of rows.

    Returns:
        Whether these files are rows of the table now. When the epoch was committed before, with other files, they are
        not, and are deleted.

    Raises:
        StoreError: The files are too old, or gone: a vacuum took them for garbage. Spark runs the batch again. Or the
            stream has gone back behind the table, which holds other rows of this epoch, or later epochs; or the table
            was taken back further than the stream; or the epoch was planned anew while it was written.
        StoreUnavailableError: The manifest may be there or not; :func:`abort` finds out.
    """
    if not written:  # Spark runs one task at least, so there is nothing that an epoch could be of
        return False
    place = Place(written[0].query_id, epoch)
    files = tuple(file for task in written for file in task.files)
    _require_files(table, place, files, now_ms - min(task.since_ms for task in written))
    manifest = Manifest(place, files, schema, now_ms, _the_plan(table, place, written, plan))
    newest = newest_of(list_places(table, place.query_id), place.query_id)
    last = -1 if newest is None else newest.epoch
    if newest is not None and last >= epoch:
        return _commit_again(table, manifest, newest)
    if last < epoch - 1:
        _require_none_undone(table, place, last)
    try:
        table.create(place.name, manifest.encode())
    except ObjectExistsError:  # of somebody else, right now; or it is this one, and the answer got lost
        return _commit_again(table, manifest, place)
    return True


def _the_plan(table: Store, place: Place, written: Sequence[Written], plan: str | None) -> str | None:
    """Digest of the plan that the rows belong to. Raises StoreError when the epoch is now planned differently."""
    plans = {task.plan for task in written if task.plan is not None} | ({plan} - {None})
    if len(plans) > 1:
        raise StoreError(
            f"epoch {place.epoch} of query {place.query_id} was planned anew while its files were written, so it was "
            "not committed: the checkpoint of the stream was rolled back or restored meanwhile, and another driver "
            "runs the query.",
            location=table.location,
            name=place.name,
            batch_id=place.epoch,
            hint="End this driver; the other one writes the epoch.",
        )
    return plans.pop() if plans else None


def _require_files(table: Store, place: Place, files: Sequence[DataFile], age_ms: int) -> None:
    """Raise StoreError when a vacuum may have taken the files for garbage, or has, by a clock that is wrong."""
    if age_ms > COMMIT_WITHIN_MS:
        what = f"were begun more than {COMMIT_WITHIN_MS // 3_600_000} hours ago, so they may be deleted already"
    elif None in in_parallel(table.stat, [file.name for file in files], THREADS):
        what = "are deleted in part"
    else:
        return
    if place.compact:
        said = f"the merged files of epochs up to {place.epoch} {what}, and the epochs were not merged."
        hint = "Run it again; it then merges them again."
    else:
        said = f"the files of epoch {place.epoch} {what}, and the epoch was not committed."
        hint = "Start the query again; it then writes the epoch again."
    raise StoreError(said, location=table.location, name=place.name, batch_id=place.epoch, hint=hint)


def _require_none_undone(table: Store, place: Place, last: int) -> None:
    """Raise StoreError when the table was taken back further than the checkpoint of its stream."""
    places = undone_places(table, place.query_id).values()
    undone = [found.epoch for found in places if last < found.epoch < place.epoch]
    if undone:
        raise StoreError(
            f"epochs {min(undone)} to {max(undone)} of query {place.query_id} were taken out of the table, and its "
            f"stream goes on with epoch {place.epoch}: they would be lost, so it was not committed.",
            location=table.location,
            name=place.name,
            batch_id=place.epoch,
            hint=f"Put their manifests back from undone/<time>/epochs/{place.query_id}/ into epochs/{place.query_id}/, "
            f"or roll the checkpoint of the stream back to batch {min(undone) - 1}.",
        )


def _commit_again(table: Store, manifest: Manifest, newest: Place) -> bool:
    """Nothing is to be done for an epoch that Spark runs again; one that it has planned anew is refused."""
    held = read_manifest(table, newest)
    if newest.epoch > manifest.place.epoch or not held.is_of_the_plan_of(manifest):
        raise _gone_back(table, manifest.place, newest)
    named = {file.name for file in held.files}
    _delete(table, manifest.files, but=named)
    return not held.place.compact and named == {file.name for file in manifest.files}


def _gone_back(table: Store, place: Place, newest: Place) -> StoreError:
    command = rewinding(table.location, place.query_id, place.epoch - 1)
    return StoreError(
        f"the table has epochs {place.epoch} to {newest.epoch} of query {place.query_id} already, with other rows than "
        f"those of epoch {place.epoch} now, so it was not committed. The checkpoint of the stream was rolled back or "
        "restored behind its table, or another driver runs the query.",
        location=table.location,
        name=place.name,
        batch_id=place.epoch,
        hint=f"Let the table go back as well, while the query is stopped: {command}; then start it again. Or go on "
        "with a new checkpoint, which reads again what is there.",
    )


def abort(table: Store, epoch: int, written: Sequence[Written | None]) -> None:
    """Delete the files of an epoch that failed, as far as it is sure that they can never become rows.

    Spark aborts with the messages of all tasks after a commit that failed: the manifest may be there, or the request
    that creates it may still be on its way. Then nothing is deleted; what stays is a vacuum's.

    Args:
        table: The directory of the table.
        epoch: Spark's batch id.
        written: Files that each task wrote; None for one that did not finish.
    """
    finished = [task for task in written if task is not None]
    files = [file for task in finished for file in task.files]
    if not files:
        return
    named = _named(table, Place(finished[0].query_id, epoch))
    was_never_committed = len(finished) < len(written)  # Spark commits when every task has finished
    if named is not None or was_never_committed:
        _delete(table, files, but=named or frozenset())


def publish(table: Store, manifest: Manifest, new: Sequence[DataFile], age_ms: int) -> bool:
    """Create a manifest; when there is one, delete what is new and not named by it.

    Args:
        table: The directory of the table.
        manifest: The manifest.
        new: Those of its files that no manifest names yet.
        age_ms: How long ago the first of them was begun, milliseconds.

    Returns:
        Whether the manifest that is there now is this one.

    Raises:
        StoreError: The new files are too old, or gone: a vacuum took them for garbage.
    """
    _require_files(table, manifest.place, new, age_ms)
    try:
        table.create(manifest.place.name, manifest.encode())
    except ObjectExistsError:
        named = _named(table, manifest.place)
        if named is None:
            raise
        _delete(table, new, but=named)
        return named == {file.name for file in manifest.files}
    return True


def _named(table: Store, place: Place) -> frozenset[str] | None:
    """The files that the manifest of a place names; None when there is none."""
    try:
        return frozenset(file.name for file in read_manifest(table, place).files)
    except CheckpointNotFoundError:
        return None


def _delete(table: Store, files: Iterable[DataFile], but: Collection[str]) -> None:
    for file in files:
        if file.name not in but:
            with suppress(StoreError):  # what stays is a vacuum's; the epoch is decided
                table.delete(file.name)
