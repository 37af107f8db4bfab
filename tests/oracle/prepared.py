"""A case's checkpoint on disk: unpacked, moved to where it is, and mutated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from tests.goldens import EXPECTED, GOLDEN, unpack

from .case import Case
from .mutations import mutate

_RECORDED_ROOT = re.compile(rb"/golden/[^/\"]+/")
_INPUT = re.compile(rb"/input/(\w+)/(\d+)\.json")


def prepare(case: Case, home: Path) -> Path:
    """Unpack the golden of a case under ``home`` and carry out its mutations; returns the checkpoint location."""
    version, _, name = case.golden.partition("/")
    unpack(GOLDEN / f"spark-{version}" / f"{name}.tar.gz", home)
    _move_paths(home)
    checkpoint = home / "checkpoint"
    mutate(checkpoint, case.mutations)
    return checkpoint


def deploy_confs(case: Case) -> dict[str, str]:
    """The confs of the deploy: those that wrote the golden, with those of the case over them."""
    version, _, name = case.golden.partition("/")
    confs: dict[str, Any] = {**EXPECTED[version][name]["deploy"]["confs"], **case.confs}
    return {key: value for key, value in confs.items() if value is not None}


def files_read(home: Path) -> dict[str, int]:
    """How many input files of each source the source logs name; before any mutation, files are numbered from 0."""
    highest: dict[str, int] = {}
    for path in _text_logs(home):
        for source, number in _INPUT.findall(path.read_bytes()):
            highest[source.decode()] = max(highest.get(source.decode(), 0), int(number) + 1)
    return highest


def _move_paths(home: Path) -> None:
    """Source logs, sink logs and operator metadata hold absolute paths."""
    for path in _text_logs(home):
        data = path.read_bytes()
        moved = _RECORDED_ROOT.sub(str(home).encode() + b"/", data)
        if moved != data:
            path.write_bytes(moved)
            sidecar = path.with_name(f".{path.name}.crc")
            if sidecar.exists():
                sidecar.write_bytes(HadoopChecksum.of(moved).encode())


def _text_logs(home: Path) -> list[Path]:
    patterns = ("checkpoint/sources/*/[0-9]*", "output/_spark_metadata/[0-9]*", "checkpoint/state/*/_metadata/v2/*")
    return [path for pattern in patterns for path in home.glob(pattern) if path.is_file()]
