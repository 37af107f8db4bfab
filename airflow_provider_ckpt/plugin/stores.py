"""Opening what a page shows: below the configured roots, with the connection of its root, links on a disk held in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.storage.held import hold
from airflow_provider_ckpt.storage.patience import without_patience
from airflow_provider_ckpt.storage.roots import Root, Roots, normalised
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.secrets import scrub


def open_below(roots: Roots, location: str) -> Store:
    """The store of a location that somebody asked for. Nothing is read yet.

    Raises:
        OutsideRootsError: It is not below the roots.
        StoreError: The connection of its root cannot open it.
    """
    root, normal = roots.root_of(location)
    return _open(root, normal, roots)


def open_root(root: Root) -> Store:
    """The store of a root itself."""
    return _open(root, normalised(root.url), Roots((root,)))


def open_records(file: QueryFile | None, location: str) -> Store | None:
    """Where the query file says that the records of the changes of a checkpoint are; None where it does not.

    Whoever has configured the file has named the place, and of it nothing but the records of this checkpoint is read.
    Raises StoreError when its connection cannot open it.
    """
    query = None if file is None else file.find(location)
    if file is None or query is None or query.undo is None:
        return None
    return open_root(Root(query.undo, file.storage.conn_id, file.storage.options))


def open_connected(location: str, conn_id: str | None, options: Mapping[str, Any] | None = None) -> Store:
    """The store of a location that an administrator has configured.

    Raises StoreError when its connection cannot open it.
    """
    with connected(conn_id, location):
        return without_patience(CheckpointHook(conn_id, options).store(location))


def _open(root: Root, normal: str, roots: Roots) -> Store:
    """Who writes checkpoints may make links, so of a disk nothing outside of the roots is read."""
    if normal.startswith("/"):
        return hold(Store.open(normal), roots.limits(UNDO_DIRECTORY))
    return open_connected(normal, root.conn_id, root.options)


@contextmanager
def connected(conn_id: str | None, location: str) -> Iterator[None]:
    """Whatever a connection of Airflow is asked for: what it cannot give is a StoreError that names the connection.

    Args:
        conn_id: The connection; None for none.
        location: The location that was asked for.
    """
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:  # Airflow, secrets backends and storage providers raise what has no class in common
        if conn_id is None:
            raise
        raise StoreError(
            f"the Airflow connection {conn_id!r} cannot open this: {scrub(str(error)):.300}.",
            location=scrub(location),
            hint=f"See whether `airflow connections get {conn_id}` knows it on the host of the API server, and whether "
            "conn= in the section [ckpt] of Airflow's configuration names the one that was meant.",
        ) from error
