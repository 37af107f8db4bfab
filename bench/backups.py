"""Backups on a local disk: a full one against other ways to copy, and one of an unchanged checkpoint."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measuring import Row, require_rclone, run
from samples import write_state

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: A state of 1 GB in 20,000 files: so many partitions, each a chain of so many changes.
PARTITIONS, VERSIONS, FILE_BYTES = 100, 200, 50_000
ROUNDS = 3


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject."""
    require_rclone()
    checkpoint = write_state(directory / "stateful", PARTITIONS, VERSIONS, FILE_BYTES)
    yield from full_backup(checkpoint, directory / "copies")
    yield from unchanged_backup(checkpoint, directory / "backups")


def full_backup(checkpoint: Path, copies: Path) -> Iterator[Row]:
    """A full backup against ``cp -a`` and ``rclone copy``: each returns when what it wrote is on the disk.

    Only ours hashes every byte, and judges each state file unless it is a quick one. Nothing is deleted in between: for
    minutes after that ext4 searches free inodes among those that were just deleted, and every way to copy is
    several times slower.
    """
    ways: dict[str, Callable[[str], object]] = {
        "full backup": lambda to: take_backup(Store.open(str(checkpoint)), Store.open(to), full=True),
        "full quick backup": lambda to: take_backup(Store.open(str(checkpoint)), Store.open(to), full=True, quick=True),
        "cp -a; sync": lambda to: (run(["cp", "-a", str(checkpoint), to]), os.sync()),
        "rclone copy; sync": lambda to: (run(["rclone", "copy", str(checkpoint), to]), os.sync()),
    }
    require_space(copies.parent, ROUNDS * len(ways) * PARTITIONS * VERSIONS * FILE_BYTES)
    copies.mkdir()
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(ROUNDS):
        order = list(ways)[number % len(ways) :] + list(ways)[: number % len(ways)]
        for way in order:
            os.sync()
            started = time.perf_counter()
            ways[way](str(copies / f"{list(ways).index(way)}-{number}"))
            taken[way].append(time.perf_counter() - started)
    ours = {way: taken.pop(way) for way in ("full backup", "full quick backup")}
    for way, mine in ours.items():
        what = f"{way}, {PARTITIONS * VERSIONS:,} state files of {FILE_BYTES // 1000} KB"
        for other, theirs in taken.items():
            ratio = statistics.median(one / another for one, another in zip(mine, theirs, strict=True))
            times = (f"{statistics.median(seconds):.1f} s" for seconds in (mine, theirs))
            yield f"{what} / {other}", *times, f"{ratio:.2f}x", "<= 1.3x" if other.startswith("cp") else "< 1x"


def require_space(directory: Path, most_bytes: int) -> None:
    """End the benchmark when the copies would not fit."""
    if shutil.disk_usage(directory).free < 1.5 * most_bytes:
        raise SystemExit(f"{directory} needs {1.5 * most_bytes / 1e9:.0f} GB free; set TMPDIR to a larger disk.")


def unchanged_backup(checkpoint: Path, root: Path) -> Iterator[Row]:
    """What a second backup of an unchanged checkpoint moves and asks."""
    source, place = CountedStore.open(str(checkpoint)), CountedStore.open(str(root))
    source.listings, place.listings = [], []
    first_s, _ = timed_backup(source, place)
    source.listings.clear()
    place.listings.clear()
    seconds, again = timed_backup(source, place)
    moved = sum(
        item.size for item in again.objects if item.stored_at.startswith(f"{again.backup_id}/checkpoint/state/")
    )
    listed = [name for name in source.listings if name.startswith("state/0/")]
    referred = [name for name in place.listings if "/checkpoint/state/0/" in name]
    yield "unchanged second backup, bytes of state moved", str(moved), "-", "-", "0"
    yield "unchanged second backup, bytes of log entries moved", str(again.own_bytes - moved), "-", "-", "-"
    yield "unchanged second backup, listings a state directory", f"{len(listed) / PARTITIONS:g}", "-", "-", "1"
    yield "  and of what it refers to", f"{len(referred) / PARTITIONS:g}", "-", "-", "1"
    yield "unchanged second backup / first", f"{seconds:.1f} s", f"{first_s:.1f} s", f"{seconds / first_s:.2f}x", "-"


def timed_backup(source: Store, root: Store) -> tuple[float, Manifest]:
    """The seconds that a backup takes, and what it took."""
    started = time.perf_counter()
    taken = take_backup(source, root)
    return time.perf_counter() - started, taken


class CountedStore(Store):
    """Notes what is listed."""

    listings: list[str]

    def ls(self, directory: str = "", *, into_links: bool = True) -> tuple[dict[str, StoredObject], list[str]]:
        """As a store does it."""
        self.listings.append(directory)
        return super().ls(directory, into_links=into_links)
