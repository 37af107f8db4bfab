"""The house keeps its rules: what loads what, and the rooms that the README names."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "airflow_provider_ckpt"


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a statement."""
    code = (
        f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_codec_loads_the_standard_library_alone():
    loaded = loaded_by("import airflow_provider_ckpt.codec")
    assert not loaded & {"fsspec", "airflow", "pyspark", "click", "rich", "pendulum", "tenacity"}


@pytest.mark.parametrize("command", ["show", "check", "gate"])
def test_the_command_loads_neither_airflow_nor_spark(goldens, command):
    checkpoint = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    loaded = loaded_by(f"from airflow_provider_ckpt.cli import run\nrun(['{command}', '{checkpoint}', '--json'])")
    assert "fsspec" in loaded
    assert not loaded & {"airflow", "pyspark", "py4j", "pandas", "s3fs", "rich", "pendulum"}


def test_provider_discovery_loads_nothing_else():
    loaded = loaded_by("from airflow_provider_ckpt.get_provider_info import get_provider_info\nget_provider_info()")
    assert not loaded & {"airflow", "fsspec", "click"}


def test_pyspark_is_of_one_piece():
    """pyspark-client, which Airflow's Spark provider needs, owns the same files: the one installed last wins."""
    import pyspark

    assert pyspark.__version__ == metadata.version("pyspark"), (
        "reinstall it last: pip install --force-reinstall pyspark"
    )


def test_the_readme_names_every_room():
    readme = (PACKAGE.parent / "README.md").read_text()
    rooms = [path for path in PACKAGE.iterdir() if path.name not in ("__init__.py", "__pycache__", "py.typed")]
    missing = [path.name for path in rooms if f"`{path.name}{'/' if path.is_dir() else ''}`" not in readme]
    assert missing == ["get_provider_info.py"]


def test_modules_stay_small():
    sizes = {path.name: len(path.read_text().split("\n")) for path in PACKAGE.rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size > 420} == {}
