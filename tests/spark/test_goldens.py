"""The script that wrote the goldens, in verify mode; tests/oracle/test_anew.py shows that Spark still writes the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.goldens import GOLDEN, unpack

pytestmark = pytest.mark.spark


def verify(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GOLDEN / "generate.py"), "--root", str(root), "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=800)


@pytest.mark.exhaustive
def test_a_tampered_golden_is_found(tmp_path):
    recorded = tmp_path / "recorded"
    shutil.copytree(GOLDEN / "spark-4.3.0", recorded)
    archive = recorded / "file-to-parquet-5.tar.gz"
    tree = unpack(archive, tmp_path / "tree")
    commit = tree / "checkpoint" / "commits" / "3"
    commit.write_text(commit.read_text().replace(":0}", ":1}"))
    with tarfile.open(archive, "w:gz") as tar:
        for part in ("checkpoint", "output"):
            tar.add(tree / part, arcname=part)
    done = verify(tmp_path / "root", "--recorded", str(recorded), "--only", "file-to-parquet-5")
    assert done.returncode == 1 and "DIFFERS" in done.stdout and "commits/3" in done.stdout
