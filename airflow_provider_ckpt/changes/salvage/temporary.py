"""Temporary files whose rename was lost: under which name each belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.temporary_names import is_own_temporary

#: ``.<name>.<uuid>.tmp``; state stores add the task before the end.
_TEMPORARY = re.compile(r"\.(?P<base>[^.].*?)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.TID\d{1,19})?\.tmp\Z")
#: What a restart may need, and Spark writes by a rename.
_RENAMED = (
    layout.QueryMetadataFile,
    layout.LogEntry,
    layout.SourceLogEntry,
    layout.StateFile,
    layout.OperatorMetadataFile,
    layout.StateSchemaFile,
)


def target_of(name: str) -> str | None:
    """The name that a temporary file would have got; None for any other file."""
    directory, _, base = name.rpartition("/")
    match = _TEMPORARY.fullmatch(base)
    if match is None or is_own_temporary(name):  # of a change that was killed, which writes it again
        return None
    target = f"{directory}/{match['base']}" if directory else match["base"]
    return target if isinstance(layout.parse(target), _RENAMED) else None


def checksum_of(name: str) -> str:
    """The checksum file of Hadoop that is beside a file."""
    directory, _, base = name.rpartition("/")
    return f"{directory}/.{base}.crc" if directory else f".{base}.crc"


def temporaries(names: Iterable[str]) -> dict[str, list[str]]:
    """The temporary files of a listing by the name under which they belong, each list in order."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        if (target := target_of(name)) is not None:
            found.setdefault(target, []).append(name)
    return found
