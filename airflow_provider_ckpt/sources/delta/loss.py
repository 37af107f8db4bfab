"""Versions at which a Delta source stops, told before the restart with Delta's own conditions.

Each case was provoked on a real query (``DeltaSource``, Delta 4.4). When a query starts, Spark asks the source for two
ranges: that of its newest batch once more, of which nothing is read (``MicroBatchExecution.populateStartOffsets``), and
what comes after. In both Delta needs every version of the log, and stops at the first that it cannot read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.codec.offsets.delta import BASE_INDEX, DeltaOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.sources.table_loss import SOURCE_OPTIONS, TableAtRestart
from airflow_provider_ckpt.tables.delta_commit import DeltaCommit
from airflow_provider_ckpt.tables.delta_restores import Reverted
from airflow_provider_ckpt.tables.delta_schema import Change, DeltaSchema, change_between, schema_of

OTHER_TABLE = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
ONLY_DELETES, CHANGES = "DELTA_SOURCE_IGNORE_DELETE", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"
MAPPED_OTHERWISE = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
SCHEMA_CHANGED = "DELTA_SCHEMA_CHANGED_WITH_VERSION"
SCHEMA_CHANGED_SINCE_START = "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS"
SCHEMA_FOLLOWED = "DELTA_STREAMING_METADATA_EVOLUTION"
NO_SNAPSHOT = "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT"
NO_CHANGE_DATA = "DELTA_MISSING_CHANGE_DATA"
#: No condition: Delta goes on without an error.
PASSED_OVER = ""
START_GONE = "DELTA_VERSION_NOT_FOUND"
SNAPSHOT_GONE = "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"
VERSIONS_GONE, NEWEST_GONE = "DELTA_MISSING_FILES_UNEXPECTED_VERSION", "DELTA_STREAMING_TRAILING_COMMIT_MISSING"
#: What is not judged: changes of the schema that the query follows in a log of its own, and types that were widened.
SCHEMA_CHANGES = "schema changes"
#: What is not judged: the files of a table as it was when the query began, while the query still reads them.
FIRST_SNAPSHOT = "first snapshot"
_TRACKED = "schematrackinglocation"
_CHANGE_FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A table at a restart.

    Args:
        schema: Its present schema.
        newest: Its newest version.
        versions: The versions that are in its log.
        commits: Their changes, for those that the query has to read.
        schemas: Schemas of the table at a version, of those at which the query begins to read; None where
            nobody can tell any more.
        reverted: Meaning of the RESTOREs that the query has not read; None without one.
    """

    schema: DeltaSchema
    newest: int
    versions: frozenset[int]
    commits: Mapping[int, DeltaCommit] = field(default_factory=dict)
    schemas: Mapping[int, DeltaSchema | None] = field(default_factory=dict)
    reverted: Reverted | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the source stops.

    Args:
        condition: Delta's.
        version: The version that it cannot read; None for the whole table.
        is_past: True if the query has committed what comes before the end of its newest batch, in which that is.
        commit: The changes of that version, where that matters.
    """

    condition: str
    version: int | None = None
    is_past: bool = False
    commit: DeltaCommit | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A range of the log that Delta goes through.

    Args:
        start: Where it begins.
        end: Where it ends; None for the end of the log.
        is_past: True if the query has committed it.
        snapshot: The version of which the table is read as a whole before; None when it is not.
    """

    start: DeltaOffset
    end: DeltaOffset | None
    is_past: bool
    snapshot: int | None = None

    @property
    def first(self) -> int:
        """The version with which it begins."""
        return self.start.version if self.snapshot is None else self.snapshot

    @property
    def last(self) -> int | None:
        """The last version that is checked; None for the end of the log."""
        return None if self.end is None else self.end.version - (self.end.index == BASE_INDEX)

    def has(self, version: int) -> bool:
        """True if a version is checked."""
        return self.start.version <= version and (self.last is None or version <= self.last)


def place_of(at: TableAtRestart, *, planned: bool = False) -> DeltaOffset:
    """Where the query is in the table. Raises MalformedEntryError for an offset that is none of Delta's."""
    return _parsed(at.planned if planned and at.planned is not None else at.committed)


def readings(at: TableAtRestart) -> tuple[Reading, ...]:
    """Ranges that Delta reads at the start, in this order."""
    end, is_past = place_of(at, planned=True), at.planned is None
    if end.in_first_snapshot:
        return (Reading(_version(end.version + 1), None, is_past=False, snapshot=end.version),)
    ahead = Reading(end, None, is_past=False)
    stored = at.before if is_past else at.committed
    earlier = None if stored is None else _parsed(stored)
    if earlier is not None and not earlier.in_first_snapshot:
        same = (earlier.version, earlier.index) == (end.version, end.index)
        return (ahead,) if same else (Reading(earlier, end, is_past), ahead)
    if earlier is None and "startingtimestamp" in at.options:
        return (ahead,)
    if earlier is None and (said := at.options.get("startingversion", "")):
        return (Reading(_version(int(said)), end, is_past), ahead) if said.isdecimal() else (ahead,)
    began = end.version - 1 if earlier is None else earlier.version
    return (Reading(_version(began + 1), end, is_past, snapshot=began), ahead)


def _parsed(offset: SourceOffset) -> DeltaOffset:
    return of_value(offset.view("delta").value)


def _version(version: int) -> DeltaOffset:
    """Before a version of the table, whatever its id."""
    return DeltaOffset("", version)


def stops(at: TableAtRestart, table: DeltaTable) -> Iterator[Stop]:
    """Where the source stops, in the order in which Delta finds it: the first is what the next start fails with.

    A change of the schema is named once, by the version that made it.
    """
    if place_of(at).table_id != table.schema.table_id:
        yield Stop(OTHER_TABLE)
        return
    said = at.options.get("startingversion", "")
    if at.before is None and said.isdecimal() and int(said) < min(table.versions):
        yield Stop(START_GONE, int(said), is_past=True)
    schema = next(_schema_stops(at, table), None)
    for reading in readings(at):
        if reading.snapshot is not None and table.schemas.get(reading.snapshot) is None:
            yield Stop(SNAPSHOT_GONE, reading.snapshot, reading.is_past)
        if schema is not None and (reading.end is not None or reading.start.version in table.versions):
            yield schema
            schema = None
        yield from _gone(at, table, reading)
        yield from _unreadable(at, table, reading)


def not_judged(at: TableAtRestart, table: DeltaTable) -> Iterator[str]:
    """Yield what could stop the source, and cannot be judged."""
    if not at.options:
        yield SOURCE_OPTIONS
    if place_of(at).in_first_snapshot:
        yield FIRST_SNAPSHOT
    is_tracked = _TRACKED in at.options and any(commit.metadata is not None for commit in table.commits.values())
    if is_tracked or "widening" in {change for _, _, change in _schema_changes(at, table)}:
        yield SCHEMA_CHANGES


def _gone(at: TableAtRestart, table: DeltaTable, reading: Reading) -> Iterator[Stop]:
    """Versions that are missing in the log: the first, and at the end of a batch that was planned the last."""
    start, end = reading.start.version, reading.end
    later = sorted(version for version in table.versions if version >= start)
    missing = next((expected for expected, version in enumerate(later, start) if version != expected), None)
    last = max((version for version in later if end is None or version <= end.version), default=start - 1)
    if missing is not None and reading.has(missing) and at.options.get("failondataloss", "").lower() != "false":
        yield Stop(VERSIONS_GONE, missing, reading.is_past)
    elif missing is not None and end is None:
        yield Stop(PASSED_OVER, missing)
    elif reading.last is not None and last < reading.last:
        yield Stop(NEWEST_GONE, last + 1, reading.is_past)


def _unreadable(at: TableAtRestart, table: DeltaTable, reading: Reading) -> Iterator[Stop]:
    """Versions in which rows went, and versions without the changes that a change feed reads."""
    for version, commit in sorted(table.commits.items()):
        if reading.has(version) and (condition := _condition(at, table, version, commit)):
            yield Stop(condition, version, reading.is_past, commit)


def _condition(at: TableAtRestart, table: DeltaTable, version: int, commit: DeltaCommit) -> str | None:
    if at.sets("readchangefeed"):
        schema = schema_at(table, version)
        return None if schema is None or schema.properties.get(_CHANGE_FEED, "").lower() == "true" else NO_CHANGE_DATA
    if not commit.removed or at.sets("skipchangecommits") or at.sets("ignorechanges"):
        return None
    if commit.added:
        return CHANGES
    return None if at.sets("ignoredeletes") else ONLY_DELETES


def schema_at(table: DeltaTable, version: int) -> DeltaSchema | None:
    """Schema of the table at a version that the query reads; None when nobody can tell."""
    known = max((at for at in table.schemas if at <= version), default=None)
    schema = None if known is None else table.schemas[known]
    for later, commit in sorted(table.commits.items()):
        if commit.metadata is not None and later <= version and (known is None or later > known):
            schema = schema_of(commit.metadata)
    return schema


def _schema_stops(at: TableAtRestart, table: DeltaTable) -> Iterator[Stop]:
    """Where the schema was changed so that a stream cannot read what came before."""
    if _TRACKED in at.options:
        yield from _tracked_stops(at, table)
        return
    first = readings(at)[0].first
    if table.schema.mapping != "none" and table.schemas.get(first, table.schema) is None:
        yield Stop(NO_SNAPSHOT, first)
    is_past_end = place_of(at, planned=True).version
    for version, commit, change in _schema_changes(at, table):
        if change == "mapping":
            yield Stop(MAPPED_OTHERWISE, version, version < is_past_end, commit)
        elif change == "types":
            is_said = "startingversion" in at.options or "startingtimestamp" in at.options
            condition = SCHEMA_CHANGED_SINCE_START if is_said else SCHEMA_CHANGED
            yield Stop(condition, version, version < is_past_end, commit)


def _tracked_stops(at: TableAtRestart, table: DeltaTable) -> Iterator[Stop]:
    """Where a source with a log of schemas stops, once, to go on with the next schema at the start after."""
    begins = place_of(at, planned=True)
    for version, commit in sorted(table.commits.items()):
        if commit.metadata is not None and (version, BASE_INDEX) >= (begins.version, begins.index):
            before, after = schema_at(table, version - 1), schema_of(commit.metadata)
            if before is not None and (before.fields, before.partitions) != (after.fields, after.partitions):
                yield Stop(SCHEMA_FOLLOWED, version, is_past=False, commit=commit)


def _schema_changes(at: TableAtRestart, table: DeltaTable) -> Iterator[tuple[int, DeltaCommit, Change]]:
    """Yield the versions that change the schemas with which the query begins to read, and what they change."""
    schema = schema_at(table, readings(at)[0].first)
    for version, commit in sorted(table.commits.items()):
        if commit.metadata is None:
            continue
        after = schema_of(commit.metadata)
        change = None if schema is None else change_between(schema, table.schema)
        if change is not None and schema is not None and change_between(schema, after) is not None:
            yield version, commit, change
        schema = after
