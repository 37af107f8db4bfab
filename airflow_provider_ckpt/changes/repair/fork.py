"""A query that began as a fork: which batches it has not written itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.changes.repair.lacking import LogContents


@dataclass(frozen=True, slots=True)
class Fork:
    """The restore with which a fork began.

    Args:
        batch_id: The batch of its backup: the original query has written it and all before.
        at_ms: When it was begun, epoch milliseconds; 0 when its record does not say.
    """

    batch_id: int
    at_ms: int

    def wrote_nothing_before(self, contents: LogContents, free: Iterable[DataFile]) -> int:
        """The newest batch that cannot have a file in a directory, or -1.

        Args:
            contents: The log of the directory.
            free: Data files that no entry names.
        """
        singles = (files for batch, files in contents.singles.items() if batch <= self.batch_id)
        named = any(singles) or bool(contents.compacted <= self.batch_id and contents.base)
        earlier = any(file.modified_ms < self.at_ms or not self.at_ms for file in free)
        return -1 if named or earlier else self.batch_id
