"""Recording what pipelines leave behind, for the fast tests: ``python -m tests.pipelines.record``.

Every case runs at one neutral root, which is removed afterwards.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from pathlib import Path

from tests.pipelines.lab import Pipeline

ROOT = Path("/srv/shop")
KEPT = Path(__file__).parent / "recorded"


def two_flows(pipeline: Pipeline) -> str:
    """Two flows into one table of files: one run, in which half of the rows are lost."""
    pipeline.flows = {"early_files": "early", "late_files": "late"}
    pipeline.add("early", range(3))
    pipeline.add("late", range(10, 13))
    return pipeline.run()[1]


def one_run(pipeline: Pipeline) -> str:
    """One run of a flow into a table, a table that is read from it, and a sink."""
    pipeline.add("in", range(3))
    return pipeline.run()[1]


def refreshed(pipeline: Pipeline) -> str:
    """The same, and a full refresh of the first table."""
    one_run(pipeline)
    return pipeline.run("--full-refresh", "bronze")[1]


CASES = (two_flows, one_run, refreshed)


def pack(root: Path, archive: Path) -> None:
    """Checkpoints and logs of tables, with the names of data files and no bytes of them."""
    with gzip.GzipFile(archive, "wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.name.endswith(".crc")):
            name = path.relative_to(root)
            if name.parts[0] not in ("storage", "spark-warehouse", "out"):
                continue
            data = b"" if path.suffix in (".parquet", ".json") else path.read_bytes()
            info = tarfile.TarInfo(name.as_posix())
            info.size, info.mtime = len(data), int(path.stat().st_mtime)
            tar.addfile(info, io.BytesIO(data))


def main() -> None:
    """Record all cases."""
    KEPT.mkdir(exist_ok=True)
    for case in CASES:
        shutil.rmtree(ROOT, ignore_errors=True)
        said = case(Pipeline(ROOT))
        pack(ROOT, KEPT / f"{case.__name__}.tar.gz")
        print(case.__name__, [line for line in said.splitlines() if "Flow" in line or "COMPLETED" in line])
    shutil.rmtree(ROOT, ignore_errors=True)


if __name__ == "__main__":
    main()
