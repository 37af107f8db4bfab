"""Finds the spark-submit of this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def find_spark_submit(said: str | None) -> str | None:
    """The spark-submit of this machine: what is declared, that of SPARK_HOME, that of PATH; None where none is."""
    home = os.environ.get("SPARK_HOME")
    found = shutil.which(said or (str(Path(home, "bin", "spark-submit")) if home else "spark-submit"))
    return None if found is None else str(Path(found).absolute())
