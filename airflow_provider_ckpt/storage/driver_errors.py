"""Turns the exceptions of a driver into our errors."""

from __future__ import annotations

import errno
from typing import Any

from airflow_provider_ckpt.errors import (
    CheckpointError,
    CheckpointNotFoundError,
    ObjectExistsError,
    ObjectNotFoundError,
    StoreError,
    StoreUnavailableError,
    TooLargeError,
)
from airflow_provider_ckpt.storage.opening import options_refused
from airflow_provider_ckpt.untrusted.limits import is_any_size, size_text

_TRANSIENT = {
    getattr(errno, name)
    for name in (
        *("EAGAIN", "EBUSY", "EIO", "ETIMEDOUT", "ESTALE", "EINTR", "ECONNRESET", "ECONNREFUSED", "EHOSTUNREACH"),
        *("ENOSPC", "EDQUOT"),  # somebody may make room
    )
}


def typed_error(error: Exception, said: str, place: dict[str, Any], *, is_local: bool) -> CheckpointError:
    """Return our error for an exception of a driver.

    Args:
        error: The exception of the driver.
        said: Its text, without secrets.
        place: Location and name, for the error.
        is_local: True if the storage is a disk of this machine.
    """
    match error:
        case FileNotFoundError():
            return (ObjectNotFoundError if place["name"] else CheckpointNotFoundError)("not found", **place)
        case FileExistsError():
            return ObjectExistsError("exists already", **place)
        case PermissionError():
            hint = "Check the permissions of the user, or the credentials of the connection."
            return StoreError("permission denied", **place, hint=hint)
        case OSError() if _is_there_already(error):
            return ObjectExistsError("exists already", **place)
        case OSError():
            if is_local and error.errno not in _TRANSIENT:
                return StoreError(said or type(error).__name__, **place)
            return StoreUnavailableError(said or type(error).__name__, **place)
        case TypeError():
            return options_refused(said, place)
    if "Credentials" in type(error).__name__:  # each driver has a family of errors of its own
        return StoreError(f"no credentials: {said}", **place)
    return StoreUnavailableError(f"storage failed: {said}", **place)


def _is_there_already(error: OSError) -> bool:
    """True if an S3 server refused to create an object because it exists: no other write here has a condition.

    AWS also says which condition failed, and s3fs waits for that; other servers give the code alone.
    """
    response = getattr(error.__cause__, "response", None) or {}
    return response.get("Error", {}).get("Code") in ("PreconditionFailed", "412")


def too_large(location: str, name: str, most: int) -> TooLargeError:
    """The error for a file of more bytes than are read."""
    smaller = "Spark writes smaller files. Restore it from a backup: ckpt rollback LOCATION --to-backup ROOT/ID"
    return TooLargeError(
        f"the file is larger than {size_text(most)}, so it was not read.",
        location=location,
        name=name,
        hint="" if is_any_size(name) else smaller,
    )
