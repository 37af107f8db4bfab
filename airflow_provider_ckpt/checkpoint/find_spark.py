"""Checks that Spark can be started here: PySpark with its Java part, and a Java runtime. Loads neither."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_INSTALL = "pip install 'spark-ckpt[spark]'"


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing requirement, as the end of "this needs …", and how to get it."""

    what: str
    hint: str


def missing_spark() -> Missing | None:
    """The requirement of Spark that is missing here; None when nothing is."""
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        return Missing("PySpark", _INSTALL)
    if (missing := _missing_java_part(Path(found.submodule_search_locations[0]))) is not None:
        return missing
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return Missing("a Java runtime", "Install Java 17, for example: apt-get install openjdk-17-jre-headless")
    return None


def spark_version() -> str | None:
    """The version of the installed PySpark, such as ``4.3.0``; None when none is installed."""
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return None


def _missing_java_part(package: Path) -> Missing | None:
    """pyspark-client, which Airflow's Spark provider needs, owns the same files: the one installed last wins."""
    version = spark_version()
    if version is None:
        return Missing("PySpark with its Java part; pyspark-client has none", _INSTALL)
    if version not in re.findall(r"[\w.]+", (package / "version.py").read_text(encoding="utf-8")):
        return Missing(
            f"a whole PySpark: pyspark-client has overwritten files of pyspark {version}, which does not run like that",
            f"pip install --force-reinstall --no-deps pyspark=={version}",
        )
    return None
