"""A checkpoint that commits when a test says so, and what must hold for every backup root."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.storage.store import Store


class Query:
    """A stopped query whose batches of a golden checkpoint are committed again, one after the other."""

    def __init__(self, golden: Path, checkpoint: Path) -> None:
        self._golden = golden
        self.checkpoint = checkpoint
        shutil.copytree(golden, checkpoint)

    @property
    def store(self) -> Store:
        return Store.open(str(self.checkpoint))

    def drop_checksums(self) -> None:
        """As on an object store, where Hadoop writes none."""
        for path in self.checkpoint.rglob(".*.crc"):
            path.unlink()

    def commit_up_to(self, batch_id: int) -> None:
        for log in ("offsets", "commits"):
            for entry in (self._golden / log).iterdir():
                there, wanted = self.checkpoint / log / entry.name, int(entry.name.strip(".rc")) <= batch_id
                if wanted and not there.exists():
                    shutil.copy(entry, there)
                elif not wanted:
                    there.unlink(missing_ok=True)

    def back_up(self, root: Store, batch_id: int | None = None, **options: object) -> Manifest:
        if batch_id is not None:
            self.commit_up_to(batch_id)
        taken = take_backup(self.store, root, threads=1, **options)
        time.sleep(0.002)  # ids tell milliseconds
        return taken


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def make_older(directory: Path, days: float) -> None:
    """As if everything there had been written so long ago."""
    for path in directory.rglob("*"):
        if path.is_file():
            at = path.stat().st_mtime - days * 86_400
            os.utime(path, (at, at))


def assert_whole(root: Store) -> tuple[Manifest, ...]:
    """Every manifest that is there names only objects that are there, with the content that it says."""
    backups = list_backups(root)
    for stored_at, (size, sha256) in {
        item.stored_at: (item.size, item.sha256) for backup in backups for item in backup.objects
    }.items():
        data = root.read(stored_at)
        assert (len(data), hashlib.sha256(data).hexdigest()) == (size, sha256), stored_at
    return backups


def unnamed(root: Store) -> set[str]:
    """Objects below the root that no backup names, but for manifests."""
    named = {item.stored_at for backup in list_backups(root) for item in backup.objects}
    return {name for name in root.find() if name not in named and not name.endswith("/manifest.json")}
