"""The data files of some batches, in the log of a file sink.

An entry of one batch names its files; a compacted entry names those of all batches up to its own. The files of some
batches are what the log had at the end of the last, without what it had before the first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_provider_ckpt.codec.layout import SinkLogEntry
from airflow_provider_ckpt.codec.source_log import key_of


def entries_up_to(entries: Collection[SinkLogEntry], batch_id: int) -> tuple[SinkLogEntry, ...]:
    """The entries that name all files of the batches up to one, inclusive: a compacted one, and those after it.

    Raises ValueError when the log does not go back so far: Spark has compacted it and deleted the rest.
    """
    compacted = max((entry.batch_id for entry in entries if entry.compact and entry.batch_id <= batch_id), default=-1)
    single = {
        entry.batch_id: entry for entry in entries if not entry.compact and compacted < entry.batch_id <= batch_id
    }
    if len(single) < batch_id - compacted and any(entry.compact and entry.batch_id > batch_id for entry in entries):
        raise ValueError(f"entries before batch {batch_id + 1} were compacted and deleted")
    whole = [entry for entry in entries if entry.compact and entry.batch_id == compacted]
    return (*whole, *(single[number] for number in sorted(single)))


def files_between(paths: Mapping[SinkLogEntry, Collection[str]], first_batch: int, last_batch: int) -> tuple[str, ...]:
    """Paths of the files that the batches from ``first_batch`` to ``last_batch`` (inclusive) have added, in order.

    Args:
        paths: The paths that an entry names, by entry.
        first_batch: The first batch.
        last_batch: The last batch.

    Raises ValueError when the log does not tell these batches from others any more.
    """
    before = {path for entry in entries_up_to(paths, first_batch - 1) for path in paths[entry]}
    after = (path for entry in entries_up_to(paths, last_batch) for path in paths[entry])
    return tuple(dict.fromkeys(path for path in after if path not in before))


def name_in(path: str, root: str) -> str:
    """The name of a file below the output directory whose root is ``root``. Raises ValueError for one elsewhere."""
    key, below = key_of(path), f"{root.strip('/')}/".lstrip("/")
    if not key.startswith(below):
        raise ValueError(f"the log names {path}, which is not below the output directory")
    return key[len(below) :]


def partition_values(name: str) -> dict[str, str]:
    """Columns that are in the name of a file: ``day=2026-01-01/part-0.parquet``, as text."""
    folders = (folder.partition("=") for folder in name.split("/")[:-1])
    return {column: value for column, sign, value in folders if sign}
