"""Checkpoints for the pages: some that are well, one that is damaged, some with hostile names, and one outside of the roots."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.index import FleetIndex, IndexRow
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.row import BatchRate
from airflow_provider_ckpt.fleet.write_index import IndexWriter, put_index
from airflow_provider_ckpt.storage.store import Store
from tests.fleets import damage

#: Names of queries that would do harm if a page took them for markup, for a script or for a path.
HOSTILE = (
    "<script>window.hurt=1</script>",
    '"><img src=x onerror="window.hurt=1">',
    "{{ 7 * 7 }}",
    "javascript:window.hurt=1",
    "%2e%2e%2fsecret",
    "a\u202eb'&amp;",
)
CASE = "4.3.0/agg-hdfs"


@dataclass(frozen=True)
class Lake:
    """What the pages show.

    Args:
        place: A directory; ``roots/`` is what is configured and in the index, ``own/`` is configured as well and has what
            single tests change, ``secret/`` is not configured.
        source: A checkpoint that real Spark has written.
    """

    place: Path
    source: Path

    @property
    def roots(self) -> Path:
        """The root of the checkpoints."""
        return self.place / "roots"

    @property
    def own(self) -> Path:
        """The root of the checkpoints that single tests change; no index has it, so no other test sees it."""
        return self.place / "own"

    @property
    def index(self) -> Path:
        """The directory of the index."""
        return self.place / "index"

    def options(self) -> Mapping[str, str]:
        """The section ``[ckpt]`` as environment variables."""
        said = {
            "roots": f"{self.roots}, {self.own}",
            "index": self.index,
            "backup_roots": self.place / "backups",
            "rollback_dag": "checkpoint_rollback",
            "reset_dag": "checkpoint_reset",
        }
        return {f"AIRFLOW__CKPT__{name.upper()}": str(value) for name, value in said.items()}

    def fill(self) -> None:
        """Write the checkpoints, a backup, and the index."""
        for name in ("team/orders", "team/customers", "team/damaged", *(f"hostile/{safe(name)}" for name in HOSTILE)):
            shutil.copytree(self.source, self.roots / name)
        shutil.copytree(self.source, self.place / "secret" / "orders")
        damage(self.roots / "team" / "damaged" / "offsets" / "7")
        take_backup(Store.open(str(self.roots / "team" / "orders")), Store.open(str(self.place / "backups")))
        self.write_index()

    def write_index(self) -> None:
        """Write the index of what is there, with the secret as well: the page has to leave it out."""
        roots = [Store.open(str(self.place / name)) for name in ("roots", "secret")]
        writer = IndexWriter(Store.open(str(self.index)), roots, [Store.open(str(self.place / "backups"))])
        list(writer.taking(judge_checkpoints(find_checkpoints(roots))))
        assert writer.write() is not None

    def write_large_index(self, count: int) -> None:
        """Write an index of so many checkpoints, none of which is there."""
        at_ms = now_ms()
        rows = tuple(self._row(number, at_ms) for number in range(count))
        assert put_index(Store.open(str(self.index)), FleetIndex(at_ms, at_ms, (str(self.roots),), rows))

    def _row(self, number: int, at_ms: int) -> IndexRow:
        worst = {0: "error", 1: "warning"}.get(number % 50)
        return IndexRow(
            f"{self.roots}/large/team-{number // 50:03d}/query-{number:05d}",
            f"{number:08x}-0000-4000-8000-000000000000",
            latest_planned_batch=number,
            latest_committed_batch=number,
            last_commit_ms=at_ms - 1_000 * number,
            watermark_lag_ms=60_000 + number,
            offsets=number * 7,
            worst=worst,
            worst_code="CKPT102" if worst else None,
            worst_message="the entry of batch 7 is damaged" if worst else None,
            rate=BatchRate(at_ms - 3_600_000, at_ms, tuple(number * part % 9 for part in range(24))),
        )


def safe(name: str) -> str:
    """A name as a directory can have it."""
    return name.replace("/", "\u2215")
