"""The changes of one version of a Delta table, as its commit records them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: The actions of a commit that matter to a stream.
ACTIONS = ("commitInfo", "add", "remove", "cdc", "metaData")
#: What Delta calls the commit of ``RESTORE TABLE``.
RESTORE = "RESTORE"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table.

    Args:
        path: As the log names it: relative to the table, with escapes, or absolute.
        size: Bytes.
        rows: Its rows; None when the log does not say.
    """

    path: str
    size: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """One version.

    Args:
        operation: The operation that wrote it, such as ``WRITE``; empty when it does not say.
        at_ms: When, by the clock of its writer, epoch milliseconds; None when it does not say.
        added: Files with rows that are new to the table, in the order in which a source numbers them; a file that
            OPTIMIZE has written holds none.
        removed: Time at which each file was removed whose rows have gone, epoch milliseconds, by its path.
        rewritten: The same for files whose rows are in another file now.
        changes: How many files a change feed reads.
        metadata: The ``metaData`` action: schema, partitions and properties from this version on; None when they stay.
        restored_to: The version that a RESTORE names; None when it names a time, and of any other commit.
    """

    operation: str = ""
    at_ms: int | None = None
    added: tuple[DataFile, ...] = ()
    removed: Mapping[str, int | None] | None = None
    rewritten: Mapping[str, int | None] | None = None
    changes: int = 0
    metadata: Mapping[str, Any] | None = None
    restored_to: int | None = None

    @property
    def has_data(self) -> bool:
        """True if a stream reads something in it, or stops at it."""
        return bool(self.added or self.removed or self.changes)


def commit_of(actions: Iterable[tuple[str, bytes]]) -> DeltaCommit:
    """A commit of its ACTIONS. Raises ValueError, KeyError, TypeError or AttributeError for what is none."""
    info: Mapping[str, Any] = {}
    metadata: Mapping[str, Any] | None = None
    added: list[DataFile] = []
    removed: dict[str, int | None] = {}
    rewritten: dict[str, int | None] = {}
    changes = 0
    for kind, line in actions:
        value = parse_json(line)[kind]
        match kind:
            case "commitInfo":
                info = value
            case "metaData":
                metadata = value
            case "cdc":
                changes += 1
            case "remove":
                gone = removed if value["dataChange"] else rewritten
                gone[str(value["path"])] = value.get("deletionTimestamp")
            case "add" if value["dataChange"]:
                added.append(DataFile(str(value["path"]), int(value["size"]), _rows(value)))
    times = (info.get("inCommitTimestamp"), info.get("timestamp"))
    at_ms = next((int(time) for time in times if time is not None), None)
    return DeltaCommit(
        operation=str(info.get("operation", "")),
        at_ms=at_ms,
        added=tuple(added),
        removed=removed,
        rewritten=rewritten,
        changes=changes,
        metadata=metadata,
        restored_to=restored_to(info),
    )


def restored_to(info: Mapping[str, Any]) -> int | None:
    """The version that a ``commitInfo`` says the table was restored to: Spark writes a number, delta-rs text."""
    told = info.get("operationParameters") if info.get("operation") == RESTORE else None
    version = told.get("version") if isinstance(told, Mapping) else None
    return int(version) if isinstance(version, int) or (isinstance(version, str) and version.isdecimal()) else None


def _rows(add: Mapping[str, Any]) -> int | None:
    """The rows of a file without those that its deletion vector takes out."""
    stats = add.get("stats")
    rows = parse_json(stats).get("numRecords") if stats else None
    if rows is None:
        return None
    return int(rows) - int((add.get("deletionVector") or {}).get("cardinality", 0))
