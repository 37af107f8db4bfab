"""Fleets for tests and benchmarks: many checkpoints, made of hard links to the small files of one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    import pytest

#: What the default rules read, and one state file that they only notice.
SMALL = ("metadata", "offsets/6", "offsets/7", "commits/6", "commits/7", "state/0/0/8.delta")


def make_fleet(source: Path, root: Path, locations: Iterable[str], names: Iterable[str] = SMALL) -> None:
    """Give the directory ``root`` a checkpoint at each location, made of some files of another one.

    The files are shared: replace them in a test, never write into them.
    """
    names = tuple(names)
    for location in locations:
        for directory in {name.rpartition("/")[0] for name in names}:
            (root / location / directory).mkdir(parents=True, exist_ok=True)
        for name in names:
            if name == "metadata" and ".metadata.crc" not in names:  # another query has another id
                own = uuid.uuid5(uuid.NAMESPACE_URL, repr(location))
                (root / location / name).write_text(f'{{"id":"{own}"}}')
            else:
                os.link(source / name, root / location / name)


def teams(count: int, of: int = 50) -> list[str]:
    """Locations of so many checkpoints, in as many directories as it takes."""
    return [f"team-{number // of:04d}/query-{number:06d}" for number in range(count)]


def damage(path: Path) -> None:
    """Put something else in the place of a file that may be shared."""
    path.unlink()
    path.write_bytes(b"nonsense")


def ckpt_fleet(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run ``ckpt fleet`` as the shell would: exit code, stdout, stderr."""
    code = run(["fleet", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def survey(*roots: object, **options: object) -> list[FleetRow]:
    """Find and judge the checkpoints below some roots."""
    stores = [root if isinstance(root, Store) else Store.open(str(root)) for root in roots]
    return list(judge_checkpoints(find_checkpoints(stores), **options))
