"""The package as a whole: where it lies, and what a statement loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "airflow_provider_ckpt"


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a statement."""
    return {name.partition(".")[0] for name in _modules_after(statement)}


def rooms_loaded_by(statement: str) -> set[str]:
    """Rooms and flat modules of the package that a fresh interpreter has after a statement."""
    return {name.split(".")[1] for name in _modules_after(statement) if name.startswith(f"{PACKAGE.name}.")}


def modules_loaded_by(statement: str) -> set[str]:
    """Modules of the package that a fresh interpreter has after a statement."""
    return {name for name in _modules_after(statement) if name.startswith(PACKAGE.name)}


def _modules_after(statement: str) -> list[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
