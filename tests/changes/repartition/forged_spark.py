"""A repartition that real Spark has made, taken out of a golden and put back file by file, as if Spark did it now.

``before`` is the golden as it was: two partitions, batches 0 to 4. ``Forged`` stands in for Spark's process: it writes
the files of batch 5 in Spark's order, and can be stopped after any of them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.facts import batch_of, is_table
from airflow_provider_ckpt.changes.repartition import repartition
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store

GOLDEN = "repartition-2-to-4"
KEPT, BATCH, PARTITIONS = 4, 5, 4


def files_of(root: Path) -> dict[str, bytes]:
    """Every file below a directory, by name."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def before_and_batch(home: Path) -> tuple[Path, Path, dict[str, bytes]]:
    """The checkpoint before the repartition, its output, and the files of the batch in the order of Spark."""
    checkpoint, output = home / "checkpoint", home / "output"
    whole = files_of(checkpoint)
    read_up_to = json.loads(whole[f"offsets/{KEPT}"].splitlines()[-1])["logOffset"]
    for name in whole:
        batch = batch_of(name)
        late_table = is_table(name) and int(name.split("/")[2]) >= 2
        if name.startswith("sources/"):
            late = int(main_name(name).rpartition("/")[2].split(".")[0]) > read_up_to
        else:
            late = late_table or (batch is not None and batch > KEPT)
        if late:
            (checkpoint / name).unlink()
    for partition in ("2", "3"):
        shutil.rmtree(checkpoint / "state" / "0" / partition)
    for path in (output / "_spark_metadata").iterdir():
        if int(path.name.strip(".").split(".")[0]) > KEPT:
            path.unlink()
    batch = {
        name: data
        for name, data in whole.items()
        if batch_of(name) == BATCH or (is_table(name) and not (checkpoint / name).exists())
    }
    order = {"offsets": 0, "state": 1, "commits": 2}
    return checkpoint, output, dict(sorted(batch.items(), key=lambda item: order[item[0].split("/")[0]]))


class Forged:
    """What is called in the place of :func:`ask_spark`.

    Args:
        checkpoint: Where it writes.
        batch: The files that it writes, in order.
        stop_after: How many it writes before it ends without an answer; None for all.
        rows: What it says of the rows before and after.
    """

    def __init__(
        self, checkpoint: Path, batch: Mapping[str, bytes], stop_after: int | None = None, rows: Any = ((3,), (3,))
    ) -> None:
        self.checkpoint, self.batch, self.stop_after, self.rows = checkpoint, batch, stop_after, rows
        self.requests: list[Mapping[str, Any]] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def __call__(self, request: Mapping[str, Any], record: Any, tick: Callable[[], None]) -> dict[str, Any]:
        self.requests.append(request)
        tick()
        if request["partitions"] is None:
            return {"rows": [list(part) for part in self.rows]}
        names = list(self.batch) if self.stop_after is None else list(self.batch)[: self.stop_after]
        for name in names:
            path = self.checkpoint / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.batch[name])
        self.meanwhile()
        if self.stop_after is not None:
            return {"failed": {"step": "repartition", "message": "Spark has ended without an answer"}}
        return {"rows": [list(part) for part in self.rows]}


@dataclass
class Case:
    """The checkpoint, the output of its file sink, and what a Spark writes into it."""

    checkpoint: Path
    output: Path
    batch: dict[str, bytes]

    @property
    def stores(self) -> Stores:
        """Where."""
        return Stores(Store.open(str(self.checkpoint)), Store.open(str(self.output)))

    @property
    def sink(self) -> Sink:
        """What its output is."""
        return Sink("file", str(self.output))

    def files(self) -> dict[str, bytes]:
        """Every file of the checkpoint."""
        return files_of(self.checkpoint)

    def sink_files(self) -> dict[str, bytes]:
        """Every file of the output."""
        return files_of(self.output)


def put_in_place(monkeypatch: Any, forged: Forged) -> Forged:
    """Let a forged Spark be asked instead of a real one."""
    monkeypatch.setattr(repartition, "ask_spark", forged)
    monkeypatch.setattr(repartition, "require_spark", lambda location: None)
    return forged
