"""The recorded failures of users, and the forms in which a user pastes each."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path

HOME = Path(__file__).parent
CODE = HOME / "code"


def _recorded(version: str) -> Path:
    return HOME / f"recorded-{version}.jsonl.xz"


def pack(version: str, failures: Iterable[dict[str, str]]) -> None:
    """Write what was recorded in one Spark."""
    lines = (json.dumps(failure) + "\n" for failure in failures)
    _recorded(version).write_bytes(lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def unpack(version: str) -> list[dict[str, str]]:
    """What was recorded in one Spark: ``kind``, ``said``, ``traceback``, ``log`` and ``json``."""
    return [json.loads(line) for line in lzma.decompress(_recorded(version).read_bytes()).splitlines()]
