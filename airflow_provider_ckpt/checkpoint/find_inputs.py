"""Checks that the input files of batches that run again still exist: a file source leaves out missing ones.

Mirrors ``FileStreamSource.getBatch``, which reads the files that its log names and does not check that they exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from airflow_provider_ckpt.checkpoint.input_files import Inputs
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.concurrency import in_parallel
from airflow_provider_ckpt.storage.schemes import storage_scheme
from airflow_provider_ckpt.storage.store import Store

#: How many files are asked for at most, and on how many threads.
MOST_INPUTS, THREADS = 10_000, 16


def find_inputs(store: Store, paths: Sequence[str]) -> Inputs:
    """Ask for files by their URIs as a source's log has them, on the file system of a store.

    A file is gone when its directory is there and has it not. A storage that refuses leaves all of them unseen.
    """
    names = list(dict.fromkeys(paths))
    own = [path for path in names[:MOST_INPUTS] if on_one_storage(store, path)]
    try:
        there = {folder for folder in map(_folder, own) if store.at(unquote(folder)).exists()}
        asked = [path for path in own if _folder(path) in there]
        found = in_parallel(lambda path: store.at(unquote(path)).exists(), asked, THREADS) if asked else []
    except CheckpointError:
        return Inputs(len(names), unseen=len(names))
    gone = tuple(path for path, is_there in zip(asked, found, strict=True) if not is_there)
    return Inputs(len(names), gone, len(names) - len(asked))


def on_one_storage(store: Store, path: str) -> bool:
    """True if a path, as a log has it, can be on the file system of a store."""
    return _scheme(path) == _scheme_of(store)


def _folder(path: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder.endswith((":", "/")) or not folder else folder


def _scheme(path: str) -> str:
    scheme, separator, _ = path.partition(":")
    return storage_scheme(scheme) if separator else "file"


def _scheme_of(store: Store) -> str:
    return "file" if store.is_local else _scheme(store.location)
