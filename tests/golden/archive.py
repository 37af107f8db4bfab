"""Golden archives: pack a checkpoint the same way every time, and compare two of them."""

from __future__ import annotations

import difflib
import gzip
import io
import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKED = ("checkpoint", "output/_spark_metadata")

# What two runs of one case may differ in.
MASKS = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\d{6}-<uuid>\.sst"), "<number>-<uuid>.sst"),
    (re.compile(r'"(batchTimestampMs|modificationTime)": ?\d+'), r'"\1":<ms>'),
]
CLOCK_MASK = (
    re.compile(r"\b\d+(, \d+)*"),
    "<n>",
)  # in cases whose offsets or number of batches depend on the clock

TEXT_LOGS = re.compile(
    r"checkpoint/(metadata|(offsets|commits)/[^.][^/]*|sources/.+/[^./][^/]*|state/\d+/_metadata/(metadata|v2/\d+))"
    r"|output/_spark_metadata/[^.][^/]*"
)


def packed_paths(home: Path) -> list[Path]:
    """All that goes into the archive of a case, hidden files and directories too."""
    return sorted(path for folder in PACKED for path in (home / folder).rglob("*"))


def pack(home: Path, archive: Path) -> None:
    """Write the archive of a case; equal trees give equal bytes."""
    with gzip.GzipFile(archive, "wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path in packed_paths(home):
            info = tarfile.TarInfo(path.relative_to(home).as_posix())
            info.mtime = int(path.stat().st_mtime)
            if path.is_dir():
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            else:
                data = path.read_bytes()
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))


def read_tree(home: Path) -> dict[str, bytes]:
    """The files of a written case; a directory is a name with a slash at the end."""
    tree = {}
    for path in packed_paths(home):
        name = path.relative_to(home).as_posix()
        if path.is_dir():
            tree[f"{name}/"] = b""
        else:
            tree[name] = path.read_bytes()
    return tree


def read_archive(archive: Path) -> dict[str, bytes]:
    """The files of a recorded case, as ``read_tree`` gives them; none if it was not recorded."""
    if not archive.exists():
        return {}
    tree = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            data = tar.extractfile(member)
            if data is None:
                tree[f"{member.name}/"] = b""
            else:
                tree[member.name] = data.read()
    return tree


def render(tree: Mapping[str, bytes], facts: Mapping[str, Any], *, timed: bool) -> list[str]:
    """A case as lines of text, the same for any two runs: its facts, file names and text logs."""
    masks = [(re.compile(rf'file:/[^"]*/{facts.get("case")}/'), "file:<root>/"), *MASKS]
    if timed:
        masks.append(CLOCK_MASK)

    def mask(line: str) -> str:
        for pattern, replacement in masks:
            line = pattern.sub(replacement, line)
        return line

    blocks = [[f"{key} = {json.dumps(value, sort_keys=True)}"] for key, value in facts.items()]
    for name, data in tree.items():
        content = log_lines(name, data) if TEXT_LOGS.fullmatch(name) else []
        blocks.append([name, *(f"{name}: {line}" for line in content)])
    masked = sorted([mask(line) for line in block] for block in blocks)
    lines = [line for block in masked for line in block]
    return sorted(set(lines)) if timed else lines


def log_lines(name: str, data: bytes) -> list[str]:
    """The lines of a text log in an order of our own where Spark fixes none."""
    lines = [canonical(line) for line in data.decode(errors="replace").split("\n")]
    if "/offsets/" in name and lines[0] == "v2":
        return lines[:2] + sorted(lines[2:])
    return lines


def canonical(line: str) -> str:
    """A line with the keys of its JSON object sorted; an offset log v2 has a source id before the object."""
    head, brace, rest = line.partition("{")
    try:
        return head + json.dumps(json.loads(brace + rest), sort_keys=True)
    except ValueError:
        return line


def difference(recorded: list[str], found: list[str]) -> list[str]:
    """A unified diff; empty when both are the same."""
    return list(difflib.unified_diff(recorded, found, "recorded", "this run", n=1, lineterm=""))
