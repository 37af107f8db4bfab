"""Both changes that write a new checkpoint, each at the same location: a restore and a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.seed.make import given_positions, make_seed
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.storage.store import Store


@dataclass
class Writing:
    """A change that writes a new checkpoint to ``target``; ``make_another`` makes one of another query."""

    kind: str
    target: Store
    make: Callable[[], Plan]
    make_another: Callable[[], Plan]
    carry_out: Callable[[Plan], Receipt]

    def write(self, plan: Plan, **how: Any) -> Receipt:
        return self.carry_out(plan, **{"by": "ann", "accept_sink": "unknown", **how})


@pytest.fixture(params=["restore", "seed"])
def writing(request: pytest.FixtureRequest, goldens: dict[str, Path], tmp_path: Path) -> Writing:
    """A backup of five batches, or a position in Kafka."""
    target = Store.open(str(tmp_path / "new"))
    if request.param == "seed":
        given = given_positions({"0": '{"t":{"0":5}}'})
        return Writing(
            "seed",
            target,
            lambda: make_seed(target, given, {"0": "kafka"}),
            lambda: make_seed(target, given_positions({"0": '{"t":{"0":6}}'}), {"0": "kafka"}),
            lambda plan, **how: write_seed(plan, target, **how),
        )
    root = Store.open(str(tmp_path / "backups"))
    backup = take_backup(Store.open(str(goldens["4.3.0/file-to-parquet-5"] / "checkpoint")), root)
    return Writing(
        "restore",
        target,
        lambda: make_restore(root, backup, target),
        lambda: make_restore(root, backup, target, "1b4e28ba-2fa1-4d3b-a3f5-9c0d8e7f6a52"),
        lambda plan, **how: restore(plan, root, target, threads=1, **how),
    )
