"""The data files of a file sink's output directory, as their names and their listing tell them.

Spark gives each file the number of the task that wrote it, a UUID of its own, and a counter of the task's files
(``ManifestFileCommitProtocol.newTaskTempFile``). Neither the batch nor the attempt is in the name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import quote

from airflow_provider_ckpt.codec.source_log import SinkFileStatus, key_of
from airflow_provider_ckpt.storage.stored_object import StoredObject

_NAME = re.compile(r"part-([0-9]{5,9})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-c([0-9]{3,9}))?(?:\.[^/]*)?")
#: Characters that ``java.net.URI`` leaves as they are in a path.
_PLAIN = "/-_.~!$&'()*+,;=:@"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a task of Spark has written.

    Args:
        name: Relative to the output directory.
        size: Bytes.
        modified_ms: When it was written, epoch milliseconds.
        task: The number of the task.
        counter: Number of the file among the task's files, from 0.
    """

    name: str
    size: int
    modified_ms: int
    task: int
    counter: int

    @property
    def directory(self) -> str:
        """Directory in a partitioned table, such as ``day=1``; empty at the top."""
        return self.name.rpartition("/")[0]

    @property
    def role(self) -> tuple[str, int, int]:
        """Key of a file that is the same for two attempts of a batch with the same tasks."""
        return self.directory, self.task, self.counter


def data_file_of(stored: StoredObject) -> DataFile | None:
    """A listed object as a data file; None when a reader of the table would not read it."""
    directory, _, base = stored.name.rpartition("/")
    match = _NAME.fullmatch(base)
    hidden = any(part.startswith(("_", ".")) and "=" not in part for part in directory.split("/"))
    if match is None or hidden or stored.modified_ms is None or stored.is_link:
        return None
    return DataFile(stored.name, stored.size, stored.modified_ms, int(match[1]), int(match[2] or 0))


def unlisted(objects: Iterable[StoredObject], named: Collection[str]) -> tuple[DataFile, ...]:
    """The data files that no entry names, in the order in which they were written.

    Args:
        objects: Objects in the output directory.
        named: Names that entries name, relative to it.
    """
    files = (data_file_of(stored) for stored in objects if stored.name not in named)
    return tuple(sorted((file for file in files if file is not None), key=lambda file: (file.modified_ms, file.name)))


def newest_of_each_role(files: Iterable[DataFile]) -> tuple[DataFile, ...]:
    """The last of the files that a task wrote at each attempt; in the order of their names."""
    newest: dict[tuple[str, int, int], DataFile] = {}
    for file in sorted(files, key=lambda file: (file.modified_ms, file.name)):
        newest[file.role] = file
    return tuple(sorted(newest.values(), key=lambda file: file.name))


def same_role(files: Iterable[DataFile]) -> tuple[DataFile, DataFile] | None:
    """Two files with one role, of which an attempt writes only one; None when no role has two."""
    seen: dict[tuple[str, int, int], DataFile] = {}
    for file in files:
        if file.role in seen:
            return seen[file.role], file
        seen[file.role] = file
    return None


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the log spells the files of its directory.

    Args:
        directory: URI of the output directory, with a slash at its end.
        block_replication: Replication of each file, as the file system said.
        block_size: Block size of each file, bytes.
    """

    directory: str
    block_replication: int = 1
    block_size: int = 32 << 20

    def status(self, file: DataFile) -> SinkFileStatus:
        """The line of a file."""
        path = f"{self.directory}{quote(file.name, safe=_PLAIN)}"
        return SinkFileStatus(path, file.size, False, file.modified_ms, self.block_replication, self.block_size, "add")


def spelling_of(statuses: Iterable[SinkFileStatus], root: str, location: str) -> Spelling:
    """Spelling of the location: that of the other entries, else Hadoop's.

    Args:
        statuses: Files that entries name.
        root: The output directory as the storage calls it: BUCKET/NAME.
        location: The output directory as the user calls it.
    """
    for status in statuses:
        if (name := name_below(root, status)) is not None:
            depth = name.count("/") + 1
            directory = status.path.rsplit("/", depth)[0]
            return Spelling(f"{directory}/", status.block_replication, status.block_size)
    uri = f"file://{quote(location, safe=_PLAIN)}" if location.startswith("/") else location
    return Spelling(f"{uri.rstrip('/')}/")


def name_below(root: str, status: SinkFileStatus) -> str | None:
    """The name of a file relative to the output directory; None when it is elsewhere."""
    key, place = key_of(status.path), f"{root.strip('/')}/"
    return key.removeprefix(place) if key.startswith(place) else None
