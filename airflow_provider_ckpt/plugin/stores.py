"""Opening what a page shows: below the configured roots, with the connection of its root, links on a disk held in."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.storage.held import hold
from airflow_provider_ckpt.storage.roots import Root, Roots, normalised
from airflow_provider_ckpt.storage.store import Store


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


def _open(root: Root, normal: str, roots: Roots) -> Store:
    """Who writes checkpoints may make links, so of a disk nothing outside of the roots is read."""
    if normal.startswith("/"):
        return hold(Store.open(normal), roots.limits(UNDO_DIRECTORY))
    return CheckpointHook(root.conn_id).store(normal)
