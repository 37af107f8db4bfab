"""Reading a checkpoint whose query runs: Spark removes old files after each batch, also those that were just listed.

Whoever lists first and reads then begins again when a file has gone in between. After a few tries that is an error of
its own: nothing is missing, but the query goes on faster than it can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from airflow_provider_ckpt.errors import CheckpointMovedError, ObjectNotFoundError
from airflow_provider_ckpt.storage.store import Store

Result = TypeVar("Result")
#: How often a checkpoint is read when Spark purges what was just listed.
MOST_TRIES = 4


def read_unmoved(read: Callable[[], Result], *places: Store | None) -> Result:
    """The result of what lists and reads, done again while a listed file is gone when it is read.

    Args:
        read: Does both; it changes nothing.
        places: The places that it reads: the checkpoint, and the sink of its query.

    Raises:
        CheckpointMovedError: A file had gone at every try.
    """
    for left in reversed(range(MOST_TRIES)):
        try:
            return read()
        except ObjectNotFoundError as error:
            if not is_gone_from(error, *places):
                raise
            if not left:
                raise _moved(error) from None
    raise AssertionError


def is_gone_from(error: ObjectNotFoundError, *places: Store | None) -> bool:
    """True if a file was removed from one of these places; a link that leads nowhere was not."""
    return any(
        place is not None and error.location == place.location and not place.is_link(error.name or "")
        for place in places
    )


def _moved(error: ObjectNotFoundError) -> CheckpointMovedError:
    return CheckpointMovedError(
        f"a query is running, or another process removes files: at {MOST_TRIES} tries in a row a file that was listed, "
        "as this one, was gone when it was read.",
        location=error.location,
        name=error.name,
        hint="Nothing was done. Run the same command again; before a change, stop the query and everything that "
        "restarts it.",
    )
