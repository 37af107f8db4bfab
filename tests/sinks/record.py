"""Write the tables in tests/data/sinks anew, with real Spark: what the readers are tested on.

python -m tests.sinks.record [--root DIR]

Each archive holds the log of a table of six batches, without data files, and the checkpoint's metadata file.
"""

from __future__ import annotations

import argparse
import shutil
import tarfile
from pathlib import Path

from tests.sinks.lab import TableLab
from tests.sinks.worker import REPOSITORY, Worker

DATA = REPOSITORY / "tests" / "data" / "sinks"
BATCHES = 6
#: What of a table goes into its archive.
LOGS = (
    "_delta_log/*",
    "metadata/*.json",
    "metadata/version-hint.text",
    ".hoodie/**/*.commit",
    ".hoodie/hoodie.properties",
)


def record(name: str, lab: TableLab, **options: str) -> None:
    """Run a query over six files and pack what is left of it."""
    lab.write(range(BATCHES))
    lab.create()
    lab.drain(**options)
    pack(name, lab)


def pack(name: str, lab: TableLab) -> None:
    """Write the archive of a table as it is now."""
    with tarfile.open(DATA / f"{name}.tar.gz", "w:gz") as tar:
        tar.add(lab.checkpoint / "metadata", "checkpoint/metadata")
        for pattern in LOGS:
            for path in sorted(lab.location.glob(pattern)):
                if path.is_file() and not path.name.startswith(".") and not path.name.endswith(".crc"):
                    tar.add(path, f"table/{path.relative_to(lab.location)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path("/golden/sinks"))
    root = parser.parse_args().root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    DATA.mkdir(parents=True, exist_ok=True)
    lakes = Worker("lakes", root / "warehouse")
    delta = TableLab(None, root / "delta", "delta", worker=lakes)
    record("delta", delta)
    lakes.sql(f"RESTORE TABLE delta.`{delta.table}` TO VERSION AS OF 2")
    pack("delta-restored", delta)
    record("delta-txnappid", TableLab(None, root / "foreachBatch", "foreachBatch", worker=lakes))
    iceberg = TableLab(None, root / "iceberg", "iceberg", worker=lakes)
    record("iceberg", iceberg)
    snapshots = lakes.sql("SELECT snapshot_id FROM lake.db.orders.snapshots ORDER BY committed_at")
    lakes.sql(f"CALL lake.system.rollback_to_snapshot(table => 'db.orders', snapshot_id => {snapshots[2][0]})")
    pack("iceberg-rolled-back", iceberg)
    lakes.stop()
    hudi = Worker("hudi", root / "hudi-warehouse")
    record("hudi-9", TableLab(None, root / "hudi-9", "hudi", worker=hudi))
    record("hudi-6", TableLab(None, root / "hudi-6", "hudi", worker=hudi), **{"hoodie.write.table.version": "6"})
    hudi.stop()


if __name__ == "__main__":
    main()
