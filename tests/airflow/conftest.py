"""Airflow with a home of its own; the database is made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def airflow_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of Airflow processes, with a migrated SQLite database."""
    home = tmp_path_factory.mktemp("airflow")
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    run(["db", "migrate"], env)
    return env


def run(arguments: list[str], env: dict[str, str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the real ``airflow``."""
    airflow = str(Path(sys.executable).with_name("airflow"))
    done = subprocess.run([airflow, *arguments], env=env, capture_output=True, text=True, timeout=240)
    if check:
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done
