"""The golden checkpoints: where they lie, what real Spark said of each, and how to unpack one."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def golden_archives() -> list[Path]:
    """Every golden checkpoint of every Spark version."""
    archives = sorted(GOLDEN.glob("spark-*/*.tar.gz"))
    assert archives, "the golden checkpoints are missing; see tests/golden/README.md"
    return archives


def unpack(archive: Path, target: Path) -> Path:
    """Unpack a golden; returns the directory that holds checkpoint/ and output/."""
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    return target


#: ``<spark version>/<case>`` of each golden.
CASES = [
    f"{archive.parent.name.removeprefix('spark-')}/{archive.name.removesuffix('.tar.gz')}"
    for archive in golden_archives()
]
#: What Spark itself said of each case, by version and case.
EXPECTED = {
    path.parent.name.removeprefix("spark-"): json.loads(path.read_text()) for path in GOLDEN.glob("*/EXPECTED.json")
}
