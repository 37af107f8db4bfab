"""Whether there is a Spark that can rehearse a restore: said in one sentence before anything is restored."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package import PACKAGE

ASK = """
from airflow_provider_ckpt.errors import BackupError
from airflow_provider_ckpt.backup.rehearse import _require_spark
try:
    _require_spark()
except BackupError as error:
    print(error)
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
