"""The zip for ``--py-files`` has what workers need, and nothing of Airflow."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from airflow_provider_ckpt.spark.package import PACKAGE, package

#: What a worker loads of the package.
WORKERS = (
    "spark.sink",
    "history_table.write_rows",
    "history_table.publish",
    "storage.store",
    "batches.rows",
    "spark.read_back",
)


def test_it_has_the_rooms_that_workers_need(tmp_path):
    names = zipfile.ZipFile(package(tmp_path / "ckpt.zip")).namelist()
    assert {f"{PACKAGE.name}/{name.replace('.', '/')}.py" for name in WORKERS} <= set(names)
    rooms = {name.split("/")[1] for name in names}
    assert not rooms & {"hooks", "operators", "sensors", "triggers", "cli", "api.py"}
    assert all("__pycache__" not in name for name in names)


def test_equal_packages_are_equal_files(tmp_path):
    assert package(tmp_path / "a.zip").read_bytes() == package(tmp_path / "b.zip").read_bytes()


def test_it_is_imported_out_of_the_zip(tmp_path):
    """From another directory and without this tree: the isolated interpreter has the zip alone."""
    code = f"import sys; sys.path.insert(0, {str(package(tmp_path / 'ckpt.zip'))!r})\n"
    code += "import airflow_provider_ckpt.storage.store as it, airflow_provider_ckpt.history_table.compact\n"
    code += "assert '.zip' in it.__file__, it.__file__; assert 'airflow' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True, cwd=tmp_path, env={"PATH": ""})
