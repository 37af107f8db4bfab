"""Each operator that changes something, as a case: how a home is before, what is done, and what a test holds of it then.

A home is a directory with the checkpoint ``orders`` and all that belongs to it. Neither a broker nor Spark is asked:
``forge`` puts others in their place.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.backup.catalog import find_backup, list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change import guard
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore as restore_backup
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointFenceOperator,
    CheckpointPruneOperator,
    CheckpointRepairOperator,
    CheckpointRepartitionOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRestoreOperator,
    CheckpointRollbackOperator,
    CheckpointSalvageOperator,
    CheckpointSeedOperator,
    CheckpointSourcesOperator,
    CheckpointStageOperator,
    CheckpointUndoOperator,
)
from airflow_provider_ckpt.sources.kafka import resolve_goal
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repair.fake_table import FakeTable
from tests.changes.repartition.forged_spark import PARTITIONS, Forged, before_and_batch, put_in_place
from tests.changes.reset.kafka_query import ForgedBroker, KafkaQuery
from tests.changes.salvage.damage import cut
from tests.fake_query import FakeQuery
from tests.operators.task import Task

#: The time of an entry that a change has planned, which is after the times of all fakes; and a random id.
_NEW = re.compile(
    rb"(?<![0-9])1(?:7[7-9]|[89][0-9])[0-9]{10}(?![0-9])|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)

DO_IT = {"query_is_stopped": True, "quiet_period": 0, "accept_sink": "unknown"}
EARLIER, TASK = Task(task_id="earlier"), Task(task_id="it")


def run(kind: Any, home: Path, task: Task, **arguments: Any) -> Any:
    """What an operator returns."""
    return kind(task_id="t", checkpoint=str(home / "orders"), **arguments).execute({"ti": task})


def tree(home: Path) -> dict[str, bytes]:
    """The files of the checkpoint, and of the log of a file sink beside it."""
    paths = (path for place in ("orders", "out/_spark_metadata") for path in (home / place).rglob("*"))
    return {str(path.relative_to(home)): path.read_bytes() for path in paths if path.is_file()}


def named(files: Mapping[str, bytes], home: Path) -> dict[str, bytes]:
    """The files of a home, with one name for it in them, and for what is new each time: times and random ids."""
    return {name: _NEW.sub(b"NEW", data.replace(str(home).encode(), b"HOME")) for name, data in files.items()}


def changes(home: Path) -> list[tuple[str, int, str]]:
    """What the records say, in their order."""
    return [(item.plan.kind, item.plan.batch_id, item.state) for item in history(Store.open(str(home / "orders")))]


def made(home: Path) -> list[tuple[str, int, str]]:
    """The changes that were made: a plan that nobody has begun to carry out is none."""
    return [change for change in changes(home) if change[2] not in ("planned", "refused")]


def backups(home: Path) -> dict[str, Any]:
    """The backups by their order and batch, with the bytes of each object."""
    root = Store.open(str(home / "backups"))
    return {
        f"{place}: batch {item.batch_id}": {stored.name: root.read(stored.stored_at) for stored in item.objects}
        for place, item in enumerate(list_backups(root))
    }


def committed(home: Path, last: int, kind: type[FakeQuery] = FakeQuery) -> FakeQuery:
    """A query with batches up to one."""
    query = kind(Store.open(str(home / "orders")))
    for batch_id in range(last + 1):
        query.commit(batch_id)
    return query


# --- how a home is before ---------------------------------------------------------------------------------------------


def _rolled_back(home: Path, golden: Path) -> None:
    """A query with eight batches that another task has rolled back to batch 5."""
    committed(home, 7)
    run(CheckpointRollbackOperator, home, EARLIER, to_batch=5, **DO_IT)


def _read_from_kafka(home: Path, golden: Path) -> None:
    committed(home, 3, KafkaQuery)


def _backed_up(home: Path, golden: Path) -> None:
    query = committed(home / "live", 5)
    take_backup(query.store, Store.open(str(home / "backups")))


def backed_up_later(home: Path) -> None:
    """One batch more, and a backup of it."""
    query = FakeQuery(Store.open(str(home / "live" / "orders")))
    query.commit(6)
    take_backup(query.store, Store.open(str(home / "backups")))


def _in_two_partitions(home: Path, golden: Path) -> None:
    shutil.copytree(golden, home)
    before_and_batch(home)
    (home / "checkpoint").rename(home / "orders")


def _backed_up_before(home: Path, golden: Path) -> None:
    query = committed(home, 3)
    take_backup(query.store, Store.open(str(home / "backups")))
    query.commit(4)


def _backed_up_often(home: Path, golden: Path) -> None:
    query = committed(home, 3)
    for batch_id in range(4, 8):
        query.commit(batch_id)
        take_backup(query.store, Store.open(str(home / "backups")))


def _forked(home: Path, golden: Path) -> None:
    query = committed(home / "live", 3)
    root, fork = Store.open(str(home / "backups")), Store.open(str(home / "orders"))
    take_backup(query.store, root)
    plan = make_restore(root, find_backup(root), fork, "00000000-0000-4000-8000-00000000f04c")
    restore_backup(plan, root, fork, by="", accept_sink=("unknown",))
    for batch_id in (4, 5):
        query.commit(batch_id)


def _committed(home: Path, golden: Path) -> None:
    committed(home, 5)


def _torn(home: Path, golden: Path) -> None:
    committed(home, 5)
    cut(home / "orders/offsets/5")


def _with_holes(home: Path, golden: Path) -> None:
    """A query of 24 batches into a file sink whose log lacks two entries, one of them compacted."""
    table = FakeTable(home).run(24)
    table.forget("19.compact", "21")
    (home / "checkpoint").rename(home / "orders")


def _read_from_two_topics(home: Path, golden: Path) -> None:
    query = KafkaQuery(Store.open(str(home / "orders")), sources=2)
    for batch_id in range(4):
        query.commit(batch_id)


def _read_from_kafka_elsewhere(home: Path, golden: Path) -> None:
    committed(home / "live", 3, KafkaQuery)


# --- the changes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """An operator that changes something.

    Args:
        name: What it does.
        kind: The operator.
        before: Makes a home; gets it and the golden of a repartition.
        arguments: Those of the operator, by the home, which may be a template.
    """

    name: str
    kind: Any
    before: Callable[[Path, Path], None]
    arguments: Callable[[str], dict[str, Any]]

    def __call__(self, home: Path, task: Task = TASK) -> Any:
        """Make it in this process."""
        return self.kind(task_id="t", **self.arguments(str(home))).execute({"ti": task})

    def __str__(self) -> str:
        return self.name

    def is_there(self, home: Path) -> tuple[Any, ...]:
        """What there is after the change: files, records, and backups."""
        records = [item for item in made(home) if item[0] != "fence" or item[2] != "undone"]  # killed before its entry
        return named(tree(home), home), records, backups(home) if (home / "backups").exists() else {}


def status_of(answer: Mapping[str, Any]) -> str:
    """Whether a task has made its change now; of a stage, nothing."""
    return str((answer.get("receipt") or answer).get("status", ""))


def _in_place(**more: Any) -> Callable[[str], dict[str, Any]]:
    return lambda home: {"checkpoint": f"{home}/orders", **DO_IT, **more}


undo = Change("undo", CheckpointUndoOperator, _rolled_back, _in_place())
rollback = Change("rollback", CheckpointRollbackOperator, _rolled_back, _in_place(to_batch=3))
#: A move by so much: made twice it would be another one.
reset = Change(
    "reset",
    CheckpointResetOffsetsOperator,
    _read_from_kafka,
    _in_place(source="0=kafka:forged:9092", shift_by=-10),
)
restore = Change(
    "restore",
    CheckpointRestoreOperator,
    _backed_up,
    lambda home: {"checkpoint": f"{home}/orders", "backup_root": f"{home}/backups", "accept_sink": "unknown"},
)
repartition = Change("repartition", CheckpointRepartitionOperator, _in_two_partitions, _in_place(partitions=PARTITIONS))
backup = Change(
    "backup",
    CheckpointBackupOperator,
    _backed_up_before,
    lambda home: {"checkpoint": f"{home}/orders", "backup_root": f"{home}/backups"},
)
prune = Change(
    "prune",
    CheckpointPruneOperator,
    _backed_up_often,
    lambda home: {"backup_root": f"{home}/backups", "keep_last": 1, "grace": timedelta(milliseconds=1)},
)
stage = Change(
    "stage",
    CheckpointStageOperator,
    _forked,
    lambda home: {"checkpoint": f"{home}/live/orders", "fork": f"{home}/orders"},
)
fence = Change("fence", CheckpointFenceOperator, _committed, lambda home: {"checkpoint": f"{home}/orders"})
fenced = Change(
    "rollback behind a fence",
    CheckpointRollbackOperator,
    _committed,
    lambda home: {"checkpoint": f"{home}/orders", "to_batch": 3, "fence": True, "accept_sink": "unknown"},
)
sources = Change(
    "sources",
    CheckpointSourcesOperator,
    _read_from_two_topics,
    _in_place(continued={"0": "1", "1": "0"}),
)
salvage = Change("salvage", CheckpointSalvageOperator, _torn, _in_place())
repair = Change(
    "repair",
    CheckpointRepairOperator,
    _with_holes,
    lambda home: {"checkpoint": f"{home}/orders", **DO_IT, "sink": f"file:{home}/out"},
)
seed = Change(
    "seed",
    CheckpointSeedOperator,
    _read_from_kafka_elsewhere,
    lambda home: {
        "checkpoint": f"{home}/orders",
        "origin": f"{home}/live/orders",
        "sources": {"0": "kafka"},
        "accept_sink": "unknown",
    },
)
CHANGES = (
    *(undo, rollback, reset, restore, repartition, backup, prune, stage),
    *(fence, fenced, sources, salvage, repair, seed),
)


def forge(home: Path, golden: Path, put: Any) -> None:
    """Let a forged broker and a forged Spark be asked, and nothing be waited for; ``put`` has the ``setattr`` for it."""
    broker = ForgedBroker({topic: {0: (0, 100), 1: (0, 100)} for topic in KafkaQuery.TOPICS})
    put.setattr(resolve_goal, "KafkaBroker", lambda servers, config: broker)
    put.setattr(put_fence, "SETTLE_ON_DISK_S", 0.0)
    for least in ("MIN_WATCH_S", "MIN_QUIET_S"):  # behind a fence it is derived from the commits how long to watch
        put.setattr(guard, least, 0.0)
    put_in_place(put, Forged(home / "orders", batch_of_golden(golden)))


def batch_of_golden(golden: Path) -> dict[str, bytes]:
    """What the Spark of a golden has written for its repartition."""
    with tempfile.TemporaryDirectory() as at:
        *_, batch = before_and_batch(Path(shutil.copytree(golden, Path(at) / "golden")))
    return batch
