"""The error conditions of what is installed, from its own catalogue."""

from __future__ import annotations

import json
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path


def names_in(jar: Path, file: str) -> list[str]:
    """The conditions of a catalogue, with their sub-conditions in place of those that have some."""
    with zipfile.ZipFile(jar) as archive:
        catalogue = json.loads(archive.read(file))
    return [
        name
        for condition, said in catalogue.items()
        for name in ([f"{condition}.{sub}" for sub in said["subClass"]] if said.get("subClass") else [condition])
    ]


@cache
def spark_names() -> tuple[str, ...]:
    """Of the Spark that is installed; none without one, as in the environment of ``make unit``."""
    found = find_spec("pyspark")
    jars = [] if found is None else list(Path(str(found.origin)).parent.glob("jars/spark-common-utils_*.jar"))
    return tuple(names_in(jars[0], "error/error-conditions.json")) if jars else ()
