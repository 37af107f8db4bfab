"""Whether a Spark can be started here: what is missing is said in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.checkpoint import find_spark
from airflow_provider_ckpt.checkpoint.find_spark import Missing, missing_spark
from tests.package import PACKAGE

ASK = """
from airflow_provider_ckpt.checkpoint.find_spark import missing_spark
found = missing_spark()
if found is not None:
    print(found.what, found.hint)
"""


def installed(site: Path, *, files: str | None, distributions: dict[str, str]) -> None:
    """A site directory: PySpark's files of one version, and what the installer remembers."""
    for name, version in distributions.items():
        metadata = site / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if files is not None:
        (site / "pyspark").mkdir(parents=True)
        (site / "pyspark" / "__init__.py").write_text("")
        (site / "pyspark" / "version.py").write_text(f"__version__: str = '{files}'\n")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("files", "distributions", "said"),
    [
        ("4.3.0", {"pyspark": "4.3.0"}, ""),
        ("4.3.0", {"pyspark": "4.3.0", "pyspark-client": "4.2.0"}, ""),
        ("4.2.0", {"pyspark": "4.3.0", "pyspark-client": "4.2.0"}, "--force-reinstall --no-deps pyspark==4.3.0"),
    ],
    ids=["pyspark alone", "pyspark came last", "pyspark-client came last"],
)
def test_a_pyspark_of_two_versions_is_named(tmp_path, files, distributions, said):
    installed(tmp_path, files=files, distributions=distributions)
    path = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "JAVA_HOME": "/somewhere"}
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, check=True, capture_output=True, text=True)
    assert said in done.stdout if said else not done.stdout


def test_without_pyspark_it_is_named(monkeypatch):
    monkeypatch.setattr(find_spark, "find_spec", lambda name: None)
    assert missing_spark() == Missing("PySpark", "pip install 'spark-ckpt[spark]'")


def test_a_client_without_the_java_part_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(
        find_spark, "find_spec", lambda name: SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    )
    monkeypatch.setattr(find_spark, "spark_version", lambda: None)
    assert missing_spark().what == "PySpark with its Java part; pyspark-client has none"


def test_without_java_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "version.py").write_text("__version__: str = '4.3.0'")
    monkeypatch.setattr(
        find_spark, "find_spec", lambda name: SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    )
    monkeypatch.setattr(find_spark, "spark_version", lambda: "4.3.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert missing_spark().what == "a Java runtime"
