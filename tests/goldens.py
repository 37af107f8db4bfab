"""The golden checkpoints: where they lie, what real Spark said of each, and how to unpack one."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def golden_archives() -> list[Path]:
    """Every golden checkpoint of every Spark version."""
    archives = sorted(GOLDEN.glob("spark-*/*.tar.gz"))
    assert archives, "the golden checkpoints are missing; see tests/golden/README.md"
    return archives


@cache
def packed(archive: Path) -> tuple[tuple[str, bytes | None, float], ...]:
    """Name, content (None of a directory) and time of all that is in it: unzipped once, as hundreds of tests want it."""
    with tarfile.open(archive) as tar:
        found = []
        for member in tar:
            file = tar.extractfile(member)  # None of a directory
            assert file is not None or member.isdir(), f"{archive}: {member.name} is no plain file"
            found.append((member.name, file and file.read(), member.mtime))
    return tuple(found)


def unpack(archive: Path, target: Path, part: str = "") -> Path:
    """Unpack a golden, or its ``checkpoint`` or ``output`` alone; returns the directory that holds them."""
    made = set()
    for name, content, mtime in packed(archive):
        if part and name.partition("/")[0] != part:
            continue
        path = target / name
        directory = path if content is None else path.parent
        if directory not in made:
            directory.mkdir(parents=True, exist_ok=True)
            made.add(directory)
        if content is not None:
            path.write_bytes(content)
            os.utime(path, (mtime, mtime))
    return target


#: The archive of each golden, by ``<spark version>/<case>``.
ARCHIVES = {
    f"{archive.parent.name.removeprefix('spark-')}/{archive.name.removesuffix('.tar.gz')}": archive
    for archive in golden_archives()
}
CASES = list(ARCHIVES)


class Goldens(Mapping[str, Path]):
    """Every golden by ``<spark version>/<case>``, unpacked below a directory when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._unpacked: dict[str, Path] = {}

    def __getitem__(self, name: str) -> Path:
        if name not in self._unpacked:
            self._unpacked[name] = unpack(ARCHIVES[name], self._root / name)
        return self._unpacked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(ARCHIVES)

    def __len__(self) -> int:
        return len(ARCHIVES)


#: What Spark itself said of each case, by version and case.
EXPECTED = {
    path.parent.name.removeprefix("spark-"): json.loads(path.read_text()) for path in GOLDEN.glob("*/EXPECTED.json")
}
