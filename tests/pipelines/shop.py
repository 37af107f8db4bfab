"""What pipelines of real Spark have left behind, and commands on it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.cli import run

RECORDED = Path(__file__).parent / "recorded"
#: The checkpoints of the flows of all tables.
BELOW = "storage/_checkpoints/spark_catalog/default"


def unpack(case: str, target: Path) -> Path:
    """The directory of a project as its last run left it; data files are empty."""
    with tarfile.open(RECORDED / f"{case}.tar.gz") as tar:
        tar.extractall(target, filter="data")
    return target


def ckpt(capsys: Any, *arguments: object) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command."""
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def severities(document: Mapping[str, Any]) -> dict[str, str]:
    """What was found, by code."""
    return {finding["code"]: finding["severity"] for finding in document["findings"]}
