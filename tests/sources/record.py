"""Write the tables in tests/data/source_ends anew, with real Spark: what the ends of tables are tested on.

python -m tests.sources.record [--root DIR]

Each archive holds the log of a table, without data files, and the story of the queries that read it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tarfile
from pathlib import Path

from tests.sinks.worker import REPOSITORY, Worker
from tests.sources.story import STEPS, play

DATA = REPOSITORY / "tests" / "data" / "sources"
LOGS = {"delta": "_delta_log/*.json", "iceberg": "metadata/*.metadata.json"}


def record(kind: str, home: Path, worker: Worker, archive: Path) -> None:
    """Play the story of a kind of table and pack what is left of it."""
    home.mkdir()
    (home / "story.json").write_text(json.dumps(play(kind, home, worker), indent=1))
    location = worker.warehouse / "db" / "orders" if kind == "iceberg" else home / "table"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(home / "story.json", "story.json")
        for path in sorted(location.glob(LOGS[kind])):
            tar.add(path, f"table/{path.relative_to(location)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path("/golden/source-ends"))
    root = parser.parse_args().root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    DATA.mkdir(parents=True, exist_ok=True)
    worker = Worker("lakes", root / "warehouse")
    for kind in STEPS:
        record(kind, root / kind, worker, DATA / f"{kind}.tar.gz")
    worker.stop()


if __name__ == "__main__":
    main()
