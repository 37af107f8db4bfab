"""A checkpoint and what is beside it, as they are before anybody acts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.retention import PrunePlan, RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.sources.move import Move
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import query
from tests.interleavings.actors import ACCEPTED, BACKUPS, CHECKPOINT
from tests.interleavings.clock import crashed, start_over
from tests.interleavings.invariants import Invariants
from tests.interleavings.search import Scenario
from tests.interleavings.stores import ROOTS, open_store
from tests.interleavings.world import World

BATCHES = 3


@dataclass(frozen=True, slots=True)
class ToRow:
    """A reset of the source to a row, which nobody has to be asked for."""

    end: int
    is_relative = False

    @property
    def text(self) -> str:
        return f"row {self.end}"

    key = text

    def move(
        self,
        source_id: str,
        committed: SourceOffset,
        planned: SourceOffset | None,
        initial: SourceOffset | None = None,
    ) -> Move:
        return Move(source_id, "kafka", committed, SourceOffset(json.dumps({"orders": {"0": self.end}})))


class Lake:
    """A checkpoint of three batches, and what is beside it."""

    def __init__(self, kind: str) -> None:
        start_over()
        self.kind, self.world = kind, World()
        self.checkpoint = self.open(CHECKPOINT)
        self.checkpoint.write("metadata", query.metadata())
        for batch_id in range(BATCHES):
            begin, end = batch_id * query.ROWS, (batch_id + 1) * query.ROWS
            self.checkpoint.write(f"offsets/{batch_id}", query.offsets(batch_id, end))
            self.checkpoint.write(f"{query.STATE}/{batch_id + 1}.delta", query.state(begin, end))
            if batch_id == BATCHES - 1:
                self.checkpoint.write(f"{query.STATE}/{batch_id + 1}.snapshot", query.state(0, end))
            self.checkpoint.write(f"commits/{batch_id}", query.COMMIT)

    def open(self, name: str) -> Store:
        """A location, as whoever lays things out sees it."""
        return open_store(self.kind, self.world, None, name)

    @property
    def files(self) -> dict[str, bytes]:
        """The checkpoint."""
        return self.world.files(f"{ROOTS[self.kind]}/{CHECKPOINT}")

    def scenario(self, name: str, *parts, crashes: tuple[str, ...] = (), **judged) -> Scenario:
        original, kind = self.files, self.kind
        return Scenario(
            name,
            kind,
            self.world,
            f"{ROOTS[kind]}/{CHECKPOINT}",
            parts,
            lambda: Invariants(kind, original, **judged),
            crashed,
            crashes,
        )

    def roll_back(self, target: int = 0) -> None:
        """A rollback that is complete."""
        self.carry_out(self.rollback_plan(target))

    def exchange_plan(self, backup: Manifest) -> Plan:
        """The plan of a rollback to a backup."""
        root = self.open(BACKUPS)
        return make_rollback(Stores(self.checkpoint, backups=root), ToBackup(root.location, backup.backup_id))

    def carry_out(self, plan: Plan) -> dict[str, bytes]:
        """Carry out a plan; what the checkpoint is then."""
        stores = Stores(self.checkpoint, backups=self.open(BACKUPS))
        apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink=ACCEPTED)
        return self.files

    def back_up(self, name: str = CHECKPOINT, **options: Any) -> Manifest:
        """A backup that is complete, of the checkpoint or of a copy of it."""
        return take_backup(self.open(name), self.open(BACKUPS), threads=1, **options)

    def run_on(self, count: int = 1, name: str = CHECKPOINT) -> None:
        """The query runs some batches more, at its checkpoint or at a copy of it."""
        query.run_query(self.open(name), count)

    def add_checksums(self) -> None:
        """Beside each file the one that Hadoop writes on a local disk."""
        for name, data in self.files.items():
            directory, slash, base = name.rpartition("/")
            self.checkpoint.write(f"{directory}{slash}.{base}.crc", HadoopChecksum.of(data).encode())

    def plan_batch(self) -> None:
        """The query plans a batch more, and dies."""
        self.checkpoint.write(f"offsets/{BATCHES}", query.offsets(BATCHES, (BATCHES + 1) * query.ROWS))

    def move(self, name: str, batches: int) -> None:
        """The query goes on at a copy of its checkpoint, and writes a snapshot of its state at the end."""
        for file, data in self.files.items():
            self.open(name).write(file, data)
        self.run_on(batches, name)
        version = BATCHES + batches
        self.open(name).write(f"{query.STATE}/{version}.snapshot", query.state(0, version * query.ROWS))

    def fence(self) -> None:
        """A fence that is complete."""
        put_fence(Stores(self.checkpoint), wait_s=0, settle_s=0)

    def prune_plan(self, grace_ms: int = 0, **keep: Any) -> PrunePlan:
        """The plan to keep the newest backup, or others."""
        return make_prune(self.open(BACKUPS), RetentionPolicy(**(keep or {"keep_last": 1})), grace_ms=grace_ms)

    def reset_plan(self, end: int) -> Plan:
        """The plan of a reset to a row."""
        return make_reset(Stores(self.checkpoint), "0", ToRow(end), state_sees_rows_again=True)

    def rollback_plan(self, target: int, *, fenced: bool = False) -> Plan:
        """The plan of a rollback."""
        return make_rollback(Stores(self.checkpoint), target, fenced=fenced)
