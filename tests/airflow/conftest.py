"""Airflow with a home of its own; the database is made once a run, and each home has a copy."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.commands import RUNNING, Command, Commands

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def airflow_database(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """Gives a home of Airflow a migrated SQLite database: the first process of the run that needs one makes it.

    The configuration comes with it: components that start at once would each write one, with another Fernet key.
    """
    own = tmp_path_factory.getbasetemp()
    run_wide = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made = run_wide / "migrated"
    with (run_wide / "airflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            home = tmp_path_factory.mktemp("migrating")
            inherited = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
            migrate = [str(Path(sys.executable).with_name("airflow")), "db", "migrate"]
            env = {**inherited, "AIRFLOW_HOME": str(home)}
            done = subprocess.run(migrate, env=env, capture_output=True, text=True, timeout=800)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
            config = home / "airflow.cfg"
            config.write_text(config.read_text().replace(str(home), "HOME_OF_A_TEST"))
            home.rename(made)

    def give(home: Path) -> None:
        shutil.copy(made / "airflow.db", home)
        if not (home / "airflow.cfg").exists():
            text = (made / "airflow.cfg").read_text()
            (home / "airflow.cfg").write_text(text.replace("HOME_OF_A_TEST", str(home)))

    return give


@pytest.fixture(scope="session")
def airflow_env(
    tmp_path_factory: pytest.TempPathFactory, airflow_database: Callable[[Path], None]
) -> Iterator[dict[str, str]]:
    """Environment of Airflow processes, with a migrated SQLite database, and of one that runs commands."""
    home = tmp_path_factory.mktemp("airflow")
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    airflow_database(home)
    RUNNING[str(home)] = Commands(home)
    yield env
    RUNNING.pop(str(home)).stop()


@pytest.fixture
def spark_env(airflow_env: dict[str, str]) -> dict[str, str]:
    """Airflow with the DAGs of the project and a Spark on this machine."""
    if shutil.which("java") is None:
        pytest.fail("these tests submit to real Spark and need Java 17: apt-get install openjdk-17-jre-headless")
    spark = json.dumps({"conn_type": "spark", "host": "local[2]"})
    return {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"), "AIRFLOW_CONN_SPARK_DEFAULT": spark}


def start(arguments: list[str], env: dict[str, str]) -> Command:
    """Begin to run the real ``airflow``, in the process that runs the commands of this home."""
    return RUNNING[env["AIRFLOW_HOME"]].start(arguments, env)


def run(arguments: list[str], env: dict[str, str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the real ``airflow``, in the process that runs the commands of this home."""
    done = start(arguments, env).result()
    if check:
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done


def read_run(env: dict[str, str], dag_id: str) -> tuple[dict[str, str], dict[str, Any]]:
    """State and return value of every task of the newest run of a DAG."""
    with closing(sqlite3.connect(Path(env["AIRFLOW_HOME"]) / "airflow.db")) as db:
        newest = "run_id = (select run_id from dag_run where dag_id = ? order by id desc limit 1)"
        states = dict(db.execute(f"select task_id, state from task_instance where {newest}", [dag_id]))
        query = f"select task_id, value from xcom where key = 'return_value' and {newest}"
        values = {task_id: json.loads(value) for task_id, value in db.execute(query, [dag_id])}
    return states, values
