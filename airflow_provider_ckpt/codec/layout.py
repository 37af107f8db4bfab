"""The names inside a checkpoint, and what is where.

``parse(name)`` turns a name into a place; it never fails: what is not known is :class:`Other`, and whoever changes or
copies a checkpoint keeps that. In the two logs, batch ids are read as Java's ``toLong`` reads them, so ``007`` counts
as batch 7 although Spark then opens ``7``. Elsewhere a number that is not spelt as Spark spells it is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from airflow_provider_ckpt.codec.jvm_text import parse_long

OFFSETS, COMMITS, SOURCES, STATE, METADATA = "offsets", "commits", "sources", "state", "metadata"
SINK_LOG = "_spark_metadata"
#: The directories that Spark makes at the top of a checkpoint.
TOP_DIRECTORIES = frozenset({OFFSETS, COMMITS, SOURCES, STATE})
COMPACT = ".compact"

StateFileKind = Literal["delta", "snapshot", "zip", "changelog"]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """``offsets/6`` or ``commits/6``. Not ``canonical``: a spelling as ``007`` that Spark counts but cannot open."""

    log: str
    batch_id: int
    canonical: bool = True


@dataclass(frozen=True, slots=True)
class QueryMetadataFile:
    """``metadata``."""


@dataclass(frozen=True, slots=True)
class SourceLogEntry:
    """``sources/<id>/<n>`` or ``<n>.compact``; ``entry_id`` is the count that a file source's offset names."""

    source_id: str
    entry_id: int
    compact: bool


@dataclass(frozen=True, slots=True)
class InitialOffsetFile:
    """``sources/<id>/offsets/0``, where an Iceberg source began; that of Kafka is ``sources/<id>/0``."""

    source_id: str


@dataclass(frozen=True, slots=True)
class SinkLogEntry:
    """``_spark_metadata/<batch>`` or ``<batch>.compact`` in the output directory of a file sink."""

    batch_id: int
    compact: bool


@dataclass(frozen=True, slots=True, order=True)
class StateStoreId:
    """One state store of one partition of one operator. The default store has the empty name."""

    operator_id: int
    partition: int
    store: str = ""

    @property
    def directory(self) -> str:
        """Where its files are."""
        parts = (STATE, str(self.operator_id), str(self.partition), self.store)
        return "/".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class StateFile:
    """``state/0/1/[store/]7.delta`` or ``7_<unique id>.zip``; version 7 is the state after batch 6."""

    store_id: StateStoreId
    version: int
    unique_id: str | None
    kind: StateFileKind


@dataclass(frozen=True, slots=True)
class StateTable:
    """``state/0/1/[store/]SSTs/…`` or ``logs/…``: written before the zip that names them, shared between versions."""

    store_id: StateStoreId


@dataclass(frozen=True, slots=True)
class OperatorMetadataFile:
    """``state/0/_metadata/metadata``, or ``state/0/_metadata/v2/<batch>``; ``batch_id`` is None for the former."""

    operator_id: int
    batch_id: int | None


@dataclass(frozen=True, slots=True)
class StateSchemaFile:
    """``…/_metadata/schema`` (``batch_id`` None) or ``state/0/_stateSchema/<store>/<batch>_<uuid>``."""

    operator_id: int
    batch_id: int | None


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A checksum file; ``of`` is the name of the object that it belongs to. ``hidden`` ones are Hadoop's."""

    of: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Temporary:
    """A file that Spark, or this package, leaves when it is killed while it writes; nothing reads it again.

    It begins with a dot and ends with ``.tmp``; where Spark does not write itself, its name also holds a UUID.
    """


@dataclass(frozen=True, slots=True)
class Other:
    """Anything else: not known, so it is kept."""


#: What a source keeps of its own and ckpt reads.
SourceFile = SourceLogEntry | InitialOffsetFile

Place = (
    LogEntry
    | QueryMetadataFile
    | SourceLogEntry
    | InitialOffsetFile
    | SinkLogEntry
    | StateFile
    | StateTable
    | OperatorMetadataFile
    | StateSchemaFile
    | Sidecar
    | Temporary
    | Other
)

#: Names that are remembered: a plan asks twenty times for each, and a fleet's logs have the same ones. They take 40 MB.
_MOST_NAMES = 1 << 17
_MOST_STORES = 1 << 12
_STATE_FILE = re.compile(r"(0|[1-9][0-9]{0,999})(?:_([0-9A-Za-z-]+))?\.(delta|snapshot|zip|changelog)\Z")
_SCHEMA = "schema"
_NAMED_SCHEMA = re.compile(r"(0|[1-9][0-9]{0,17})_[0-9A-Za-z-]+")
_STATE_TABLE = re.compile(r".+\.(?:sst|log)\Z")
_TEMPORARY = re.compile(r"\..+\.tmp(?:\.crc)?\Z")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@lru_cache(_MOST_NAMES)
def parse(name: str) -> Place:
    """Classify a name, which is relative to the checkpoint location and has no leading slash."""
    directory, _, base = name.rpartition("/")
    if base.startswith(".") or base.endswith(".crc"):
        return _parse_sidecar(directory, base)
    if (match := _STATE_FILE.match(base)) and (store_id := _store_of(directory)):
        return StateFile(store_id, int(match[1]), match[2], match[3])  # type: ignore[arg-type]  # the pattern has these words alone
    parts = name.split("/")
    if parts[0] in (OFFSETS, COMMITS) and len(parts) == 2:
        batch_id = parse_long(base)
        return Other() if batch_id is None else LogEntry(parts[0], batch_id, str(batch_id) == base)
    if parts == [METADATA]:
        return QueryMetadataFile()
    if parts[0] == SOURCES and len(parts) == 3:
        entry = _parse_compactible(base)
        return SourceLogEntry(parts[1], *entry) if entry else Other()
    if parts[0] == SOURCES and parts[2:] == [OFFSETS, "0"]:
        return InitialOffsetFile(parts[1])
    if parts[0] == SINK_LOG and len(parts) == 2:
        entry = _parse_compactible(base)
        return SinkLogEntry(*entry) if entry else Other()
    return _parse_state(parts) if parts[0] == STATE and len(parts) > 3 else Other()


def _parse_sidecar(directory: str, base: str) -> Place:
    prefix = f"{directory}/" if directory else ""
    if _TEMPORARY.match(base) and (_is_written_by_spark(directory) or _UUID.search(base)):
        return Temporary()
    if base.startswith(".") and base.endswith(".crc"):
        main = base[1:-4]
        return Sidecar(prefix + (main.removesuffix(".crc")), True)
    if base.endswith(".crc"):
        return Sidecar(prefix + base[:-4], False)
    return Other()


def _is_written_by_spark(directory: str) -> bool:
    return directory.partition("/")[0] in ("", OFFSETS, COMMITS, SOURCES, STATE, SINK_LOG)


def _parse_compactible(base: str) -> tuple[int, bool] | None:
    compact = base.endswith(COMPACT)
    entry_id = _parse_own(base.removesuffix(COMPACT))
    return None if entry_id is None else (entry_id, compact)


def _parse_own(text: str) -> int | None:
    """A number as Spark spells it itself; of two spellings only one could be told apart by its value."""
    number = parse_long(text)
    return number if str(number) == text else None


@lru_cache(_MOST_STORES)
def _store_of(directory: str) -> StateStoreId | None:
    """The store whose files are in a directory; None where that is not one of a store."""
    parts = directory.split("/")
    if parts[0] != STATE or len(parts) not in (3, 4) or parts[-1] in ("_metadata", ""):
        return None
    operator_id, partition = _parse_own(parts[1]), _parse_own(parts[2])
    if operator_id is None or partition is None:
        return None
    return StateStoreId(operator_id, partition, "/".join(parts[3:]))


def _parse_state(parts: list[str]) -> Place:
    operator_id = _parse_own(parts[1])
    if operator_id is None:
        return Other()
    if parts[2] in ("_metadata", "_stateSchema"):
        return _parse_operator_file(operator_id, parts[2:])
    partition = _parse_own(parts[2])
    if partition is None:
        return Other()
    if parts[-2:] == ["_metadata", _SCHEMA]:
        return StateSchemaFile(operator_id, None)
    if parts[-2] in ("SSTs", "logs") and _STATE_TABLE.match(parts[-1]):
        return StateTable(StateStoreId(operator_id, partition, "/".join(parts[3:-2])))
    return Other()


def _parse_operator_file(operator_id: int, parts: list[str]) -> Place:
    if parts == ["_metadata", "metadata"]:
        return OperatorMetadataFile(operator_id, None)
    if parts[:2] == ["_metadata", "v2"] and len(parts) == 3:
        batch_id = _parse_own(parts[2])
        return Other() if batch_id is None else OperatorMetadataFile(operator_id, batch_id)
    match = _NAMED_SCHEMA.fullmatch(parts[-1]) if parts[0] == "_stateSchema" else None
    return StateSchemaFile(operator_id, int(match[1])) if match else Other()


def operator_of(name: str) -> int | None:
    """The stateful operator that a directory or a file below ``state`` is of; None for what is of none.

    Spark gives operators numbers; what else is below ``state``, such as ``.DS_Store`` or ``_temporary``, is not its.
    """
    parts = name.split("/", 2)
    return _parse_own(parts[1]) if len(parts) > 1 and parts[0] == STATE else None


def sidecars(name: str) -> tuple[str, ...]:
    """Every checksum file that can be beside an object, in the order in which they are to be deleted."""
    directory, _, base = name.rpartition("/")
    prefix = f"{directory}/" if directory else ""
    return (f"{prefix}.{base}.crc.crc", f"{prefix}{base}.crc", f"{prefix}.{base}.crc")


def offset_entry(batch_id: int) -> str:
    """Name of an offset log entry."""
    return f"{OFFSETS}/{batch_id}"


def commit_entry(batch_id: int) -> str:
    """Name of a commit log entry."""
    return f"{COMMITS}/{batch_id}"


def initial_offset_files(source_id: str) -> tuple[str, str]:
    """Names of the files that say where a source began: that of Kafka and its relatives, and that of Iceberg."""
    return f"{SOURCES}/{source_id}/0", initial_offset_file(source_id)


def initial_offset_file(source_id: str) -> str:
    """Name of the file that says where an Iceberg source began."""
    return f"{SOURCES}/{source_id}/{OFFSETS}/0"


def is_offset_entry(name: str) -> bool:
    """True if a name belongs to an entry of the offset log."""
    return name.startswith(f"{OFFSETS}/") and isinstance(parse(name), LogEntry)


def main_name(name: str) -> str:
    """The object that a sidecar belongs to; any other name as it is."""
    place = parse(name) if name.endswith(".crc") else None
    return place.of if isinstance(place, Sidecar) else name
