"""The package as a whole: where it lies, and what a statement loads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "airflow_provider_ckpt"

#: Runs its first argument, and each other one in a fork of its own.
_FORKS = """
import json, os, sys
exec(sys.argv[1])
for statement in sys.argv[2:]:
    if not os.fork():
        exec(statement)
        print("\\n" + json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(statement)
"""


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a statement."""
    return {name.partition(".")[0] for name in _modules_after(statement)}


def rooms_loaded_by(statement: str) -> set[str]:
    """Rooms and flat modules of the package that a fresh interpreter has after a statement."""
    return {name.split(".")[1] for name in _modules_after(statement) if name.startswith(f"{PACKAGE.name}.")}


def modules_loaded_by(statement: str) -> set[str]:
    """Modules of the package that a fresh interpreter has after a statement."""
    return {name for name in _modules_after(statement) if name.startswith(PACKAGE.name)}


def modules_loaded_by_each(statements: Sequence[str], *, first: str) -> list[set[str]]:
    """Modules of the package that a fresh interpreter has after each statement alone; what ``first`` does, is done once."""
    done = subprocess.run(
        [sys.executable, "-c", _FORKS, first, *statements], capture_output=True, text=True, check=True
    )
    lists: list[list[str]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    assert len(lists) == len(statements), done.stdout
    return [{name for name in found if name.startswith(PACKAGE.name)} for found in lists]


def _modules_after(statement: str) -> list[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
