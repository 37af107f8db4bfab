"""What a test does to one file of a checkpoint."""

from __future__ import annotations

from pathlib import Path

UUID = "3f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"


def lose_rename(path: Path, number: int = 0) -> Path:
    """Give a file the name that it had before its rename, with its checksum file; the path that it has then."""
    temporary = path.with_name(f".{path.name}.{UUID[:-1]}{number}.tmp")
    path.rename(temporary)
    checksum = path.with_name(f".{path.name}.crc")
    if checksum.exists():
        checksum.rename(temporary.with_name(f".{temporary.name}.crc"))
    return temporary


def drop(path: Path) -> None:
    """Delete a file and its checksum file."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def cut(path: Path) -> None:
    """Leave the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
