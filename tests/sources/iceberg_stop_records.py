"""What real Spark did in the cases of ``iceberg_stops.py``, with what is read of their tables and checkpoints later.

python -m tests.sources.iceberg_stop_records writes the records anew.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.sinks.worker import REPOSITORY, Worker
from tests.sources.iceberg_stops import CASES, Options, Table, bring_about, outcomes

#: The cases, as they were brought about and played once.
RECORDED = REPOSITORY / "tests" / "data" / "sources" / "iceberg-stops.tar.gz"


@dataclass(frozen=True, slots=True)
class Played:
    """A case, and what came of it.

    Args:
        home: Has the ``table`` with its newest metadata, and the ``checkpoint``, both as before the start.
        options: With which the query started.
        outcomes: By trigger, what it read, and what it stopped with.
    """

    home: Path
    options: Options
    outcomes: Mapping[str, dict[str, Any]]


def play(name: str, worker: Worker, home: Path) -> Table:
    """Bring a case about, keep what is read of it later, and write down what Spark does."""
    table, options = bring_about(name, worker, home)
    version = (table.location / "metadata" / "version-hint.text").read_text().strip()
    kept = home / "table" / "metadata"
    kept.mkdir(parents=True)
    shutil.copy(table.location / "metadata" / f"v{version}.metadata.json", kept)
    (kept / "version-hint.text").write_text(version)
    story = {"options": dict(options), "outcomes": outcomes(table, options)}
    (home / "story.json").write_text(json.dumps(story, indent=1))
    return table


def played(home: Path) -> Played:
    """What was written down of a case."""
    story = json.loads((home / "story.json").read_text())
    return Played(home, story["options"], story["outcomes"])


def pack(root: Path, archive: Path) -> None:
    """Pack the cases that were played below a directory, whose name nothing in the archive has."""
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(path for name in CASES for path in _kept(root / name)):
            data = path.read_bytes().replace(str(root).encode(), b"/golden/iceberg-stops")
            member = tarfile.TarInfo(str(path.relative_to(root)))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def _kept(home: Path) -> list[Path]:
    folders = (home / "table", home / "checkpoint")
    return [home / "story.json", *(path for folder in folders for path in folder.rglob("*") if path.is_file())]


def main() -> None:
    root = Path("/golden/iceberg-stops")
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    worker = Worker("lakes", root / "warehouse")
    for name in CASES:
        play(name, worker, root / name)
    worker.stop()
    pack(root, RECORDED)


if __name__ == "__main__":
    main()
