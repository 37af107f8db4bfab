"""The process that Spark runs in: what it says, what ends it, and what is found of an earlier one.

A small program stands in for Spark's, to end in each way that a process can end.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.require_alone import PROCESSES
from airflow_provider_ckpt.changes.repartition import ask_spark as module
from airflow_provider_ckpt.changes.repartition.ask_spark import ask_spark, require_spark
from airflow_provider_ckpt.checkpoint.find_spark import Missing
from airflow_provider_ckpt.engines.find_processes import life_of, this_machine
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.package import PACKAGE

#: The beginning of every program: the request is read, and the process is named.
HELLO = """
import json, os, sys
request = json.loads(sys.stdin.readline())
print(json.dumps({"spark": "4.3.0", "processes": [os.getpid()]}), flush=True)
"""
PROGRAMS = {
    "answers": HELLO + 'assert sys.stdin.readline() == "go\\n"\nprint(json.dumps({"rows": [[1], [1]]}))',
    "refuses to start": 'print("{\\"failed\\": {\\"step\\": \\"read\\", \\"message\\": \\"no Java\\"}}")',
    "ends at once": 'import sys; sys.exit("no memory")',
    "ends after go": HELLO + 'sys.stdin.readline()\nsys.exit("out of memory")',
    "tells its gateway": HELLO + "print(json.dumps({'rows': [os.environ.get('PYSPARK_GATEWAY_PORT')]}))",
    "waits": HELLO + "sys.stdin.readline()\nsys.stdin.read()",
}


@pytest.fixture
def record(tmp_path):
    return Store.open(str(tmp_path / "record"))


@pytest.fixture
def program(tmp_path, monkeypatch):
    def put(name: str) -> None:
        (tmp_path / "stand_in.py").write_text(PROGRAMS[name])
        monkeypatch.setattr(module, "PROGRAM", "stand_in")
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{PACKAGE.parent}")

    return put


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("answers", {"rows": [[1], [1]]}),
        ("refuses to start", {"failed": {"step": "read", "message": "no Java"}}),
        ("ends at once", {"failed": {"step": "read", "message": "Spark has ended without an answer: no memory"}}),
        (
            "ends after go",
            {"failed": {"step": "repartition", "message": "Spark has ended without an answer: out of memory"}},
        ),
    ],
)
def test_what_it_answers(program, record, name, answer):
    program(name)
    assert ask_spark({"kept": 1}, record, lambda: None) == answer


def test_it_has_a_jvm_of_its_own_also_below_spark_submit(program, record, monkeypatch):
    program("tells its gateway")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "25333")
    assert ask_spark({}, record, lambda: None) == {"rows": [None]}


def test_its_processes_are_noted_before_it_may_write(program, record):
    program("answers")
    ask_spark({}, record, lambda: None)
    noted = json.loads(record.read(PROCESSES))
    assert noted["machine"] == this_machine()
    ((pid, life),) = noted["processes"]
    assert life and life_of(pid) != life, "it has ended"


def test_a_lock_that_was_taken_over_ends_it(program, record, monkeypatch):
    monkeypatch.setattr(module, "TICK_S", 0.05)
    program("waits")

    def tick() -> None:
        if record.stat(PROCESSES) is not None:
            raise CheckpointBusyError("taken over")

    with pytest.raises(CheckpointBusyError, match="taken over"):
        ask_spark({}, record, tick)
    ((pid, life),) = json.loads(record.read(PROCESSES))["processes"]
    assert life_of(pid) != life


def test_what_to_install_is_named(monkeypatch):
    monkeypatch.setattr(module, "missing_spark", lambda: Missing("PySpark", "pip install 'spark-ckpt[spark]'"))
    with pytest.raises(PlanError, match=r"a repartition needs PySpark. pip install 'spark-ckpt\[spark\]'"):
        require_spark("s3://lake/orders")


@pytest.mark.parametrize(("version", "refused"), [("4.1.4", True), ("3.5.9", True), ("4.2.0", False), ("5.0.0", False)])
def test_a_spark_without_the_manager_is_refused(monkeypatch, version, refused):
    monkeypatch.setattr(module, "missing_spark", lambda: None)
    monkeypatch.setattr(module, "spark_version", lambda: version)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    if refused:
        with pytest.raises(PlanError, match=f"PySpark {version} is installed"):
            require_spark("s3://lake/orders")
    else:
        require_spark("s3://lake/orders")


def test_spark_connect_is_refused(monkeypatch):
    monkeypatch.setattr(module, "missing_spark", lambda: None)
    monkeypatch.setattr(module, "spark_version", lambda: "4.3.0")
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(PlanError, match="Spark Connect"):
        require_spark("s3://lake/orders")


def test_nothing_of_it_stays(program, record, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    Path(tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    program("answers")
    began = time.monotonic()
    ask_spark({}, record, lambda: None)
    assert list((tmp_path / "tmp").iterdir()) == [] and time.monotonic() >= began
