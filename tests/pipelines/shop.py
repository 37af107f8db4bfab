"""What pipelines of real Spark have left behind, and commands on it."""

from __future__ import annotations

import json
import shutil
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


def refreshed(root: Path) -> Path:
    """The same with a second version of the flow into the first table, as a full refresh begins it."""
    flow = root / BELOW / "bronze" / "bronze"
    shutil.copytree(flow / "0", flow / "1")
    (flow / "1" / "metadata").write_text('{"id":"0d9f8c1e-3a55-4a0c-8a43-6e0f0b6f9a01"}')
    return root


def ckpt(capsys: Any, *arguments: object) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command."""
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def severities(document: Mapping[str, Any]) -> dict[str, str]:
    """What was found, by code."""
    return {finding["code"]: finding["severity"] for finding in document["findings"]}
