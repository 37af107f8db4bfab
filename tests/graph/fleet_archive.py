"""What a scan reads of the fleet of thirty queries, in one small archive: no data, and no state."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

from .fleet_jobs import ROOT

ARCHIVE = Path(__file__).with_name("thirty.tar.gz")
#: Entries of a log that a scan reads, the newest ones.
_NEWEST = 3


def pack() -> None:
    """Write the archive; data files are empty in it, as only their names and times count."""
    with gzip.GzipFile(ARCHIVE, "wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path in sorted(ROOT.rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if not path.is_file() or not _is_packed(path, name):
                continue
            data = path.read_bytes() if _is_read(name) else b""
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), path.stat().st_mtime  # type: ignore[assignment]  # PAX keeps the fraction
            info.pax_headers = {"mtime": str(path.stat().st_mtime)}
            tar.addfile(info, io.BytesIO(data))


def _is_packed(path: Path, name: str) -> bool:
    if name.endswith(".crc") or "/state/" in name or name.startswith("spark-warehouse") or ".tmp" in name:
        return False
    if "/offsets/" in name or "/commits/" in name:
        numbers = sorted((int(each.name) for each in path.parent.iterdir() if each.name.isdigit()), reverse=True)
        return path.name.isdigit() and int(path.name) in numbers[:_NEWEST]
    return name.startswith(("checkpoints/", "in/")) or _is_read(name)


def _is_read(name: str) -> bool:
    is_log = name.endswith(".json") and "/_delta_log/" in name
    is_metadata = "/metadata/" in name and name.endswith((".metadata.json", "version-hint.text"))
    return name.startswith("checkpoints/") or is_log or is_metadata or "/_spark_metadata/" in name


def unpack(root: Path, *, without: tuple[str, ...] = ()) -> Path:
    """Unpack it below a directory, but for some directories at the top; locations of tables lead there as well."""
    with tarfile.open(ARCHIVE) as tar:
        for member in tar:
            if member.name.startswith(without) and without:
                continue
            file = tar.extractfile(member)
            assert file is not None
            path = root / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())
            os.utime(path, (float(member.mtime), float(member.mtime)))
    return root
