"""The parts of this package that the workers of a cluster need, in one file for ``--py-files``."""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
#: Airflow's faces and the command: no worker runs them.
_LEFT_OUT = frozenset({"hooks", "operators", "sensors", "triggers", "cli", "get_provider_info.py", "api.py"})
#: Zip archives begin in 1980; with one time for all, equal contents are equal files.
_TIME = (1980, 1, 1, 0, 0, 0)


def package(path: str | Path) -> Path:
    """Write the package as a zip, to ship it with an application::

        spark-submit --py-files ckpt.zip …
        session.addArtifacts("ckpt.zip", pyfile=True)

    Workers also need pyarrow, fsspec, pendulum and tenacity, and the driver of the storage (s3fs, gcsfs, adlfs), in
    their image or in a packed environment. They do not need Airflow.

    Args:
        path: A file, which is replaced.

    Returns:
        Its path.
    """
    target = Path(path)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*")):
            within = file.relative_to(PACKAGE)
            if file.is_file() and "__pycache__" not in within.parts and within.parts[0] not in _LEFT_OUT:
                entry = zipfile.ZipInfo(f"{PACKAGE.name}/{within.as_posix()}", _TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    return target
