"""On a cluster of two workers without Airflow: the zip of the package is enough, and a task that is tried again is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.spark.package import package
from airflow_provider_ckpt.storage.store import Store
from tests.spark.history_faults import arm, armed
from tests.spark_lab import Lab, rows_of

#: What workers have beside the zip and Spark's own Python.
NEEDED = (
    "pyarrow",
    "numpy",
    "fsspec",
    "tenacity",
    "pendulum",
    "tzdata",
    "dateutil",
    "six.py",
    "cramjam",
    "google_crc32c",
)
HERE = Path(__file__).parent


@pytest.mark.exhaustive
def test_workers_need_the_zip_alone_and_an_attempt_that_died_leaves_no_row(tmp_path):
    """`exit` kills the worker of the first attempt after its file was written; Spark tries the task again."""
    lab = Lab(None, tmp_path, "stateless")
    lab.write(range(4))
    arm(tmp_path / "faults", "write-create-after", "exit")
    faults = tmp_path / "faults.zip"
    with zipfile.ZipFile(faults, "w") as archive:
        archive.write(HERE / "history_faults.py", "history_faults.py")
    shutil.copy(HERE / "cluster_run.py", tmp_path)
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            str(tmp_path / "cluster_run.py"),
            str(tmp_path),
            str(package(tmp_path / "ckpt.zip")),
            str(faults),
        ],
        env={**os.environ, "PYTHONPATH": "", "PYSPARK_PYTHON": str(bare_python(tmp_path))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["executors"] == 2 and not told["airflow"]
    assert all("ckpt.zip" in file for file in told["package"]), told["package"]
    assert told["rows"] == sorted([list(row) for number in range(4) for row in rows_of(number)])
    assert armed(tmp_path / "faults") == set()
    table = Store.open(str(tmp_path / "table"))
    orphans = set(table.find("data")) - {file.name for file in read_table(table).files}
    assert len(orphans) == 1


def bare_python(root: Path) -> Path:
    """An interpreter without this environment's packages, but for those that workers need."""
    packages = root / "packages"
    packages.mkdir()
    site = Path(pytest.__file__).parents[1]
    for name in NEEDED:
        for found in [site / name, *site.glob(f"{name}.libs"), *site.glob(f"_{name}*")]:
            if found.exists():
                (packages / found.name).symlink_to(found)
    python = root / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {Path(sys.executable).resolve()} -S "$@"\n')
    python.chmod(0o755)
    return python
