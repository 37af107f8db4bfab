"""The file that keeps where a query was before a deploy: ``ckpt gate`` writes it, ``ckpt rollback`` goes back to it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.cli.files import named_by, read_text, require_outside
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError, StoreError, located
from airflow_provider_ckpt.restart import bookmark
from airflow_provider_ckpt.restart.bookmark import Bookmark, take_bookmark
from airflow_provider_ckpt.storage.local import publish, require_regular
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import BOOKMARK_BYTES


def write_bookmark(option: str, path: Path, store: Store, view: CheckpointView) -> None:
    """Write where a query is, in the place of an earlier bookmark.

    Raises:
        CheckpointError: The newest committed entry cannot be read, so there is no bookmark; the file stays as it was.
        click.BadParameter: The file cannot be written, would be inside a checkpoint, has something else than a
            bookmark, or is a named pipe, a socket or a device.
    """
    require_outside(option, path, [store])
    data = f"{json.dumps(take_bookmark(view).to_dict(), indent=2)}\n".encode()
    with named_by(option, path):
        real = path.resolve()
        if real.exists():
            require_regular(str(real))
            _require_bookmark(option, real)
        publish(str(real), lambda file: file.write(data), replace=True)


def _require_bookmark(option: str, path: Path) -> None:
    """Raise click.BadParameter for a file that has something else; an empty one has nothing."""
    try:
        if path.stat().st_size:
            bookmark.read_bookmark(read_text(path, BOOKMARK_BYTES))
    except (CheckpointError, ValueError):
        raise click.BadParameter(
            f"{path} is there and has no bookmark; name another file, or remove it first", param_hint=option
        ) from None


def read_bookmark(path: Path) -> Bookmark:
    """The bookmark in a file. Raises CheckpointError for a file without a bookmark."""
    try:
        text = read_text(path, BOOKMARK_BYTES)
    except FileNotFoundError:
        raise CheckpointNotFoundError(
            "not found",
            location=str(path),
            hint="Give the file that ckpt gate --bookmark has written before the deploy.",
        ) from None
    except (OSError, ValueError) as error:
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"the bookmark cannot be read: {problem}.", location=str(path)) from None
    with located(str(path)):
        return bookmark.read_bookmark(text)
