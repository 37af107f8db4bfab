"""Findings on a Delta source: what stops it, in words, and the command that lets it go on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence

from airflow_provider_ckpt.checks.findings import Finding, an_error
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.sources.delta.loss import (
    CHANGES,
    NEWEST_GONE,
    NO_CHANGE_DATA,
    ONLY_DELETES,
    OTHER_TABLE,
    PASSED_OVER,
    SCHEMA_FOLLOWED,
    SNAPSHOT_GONE,
    START_GONE,
    VERSIONS_GONE,
    DeltaTable,
    Stop,
    place_of,
)
from airflow_provider_ckpt.sources.delta.reverted import UNREAD, concerns, findings_of_restores, rollback_command
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.delta_commit import DeltaCommit
from airflow_provider_ckpt.times import time_text

FILE_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
_SINK = "--sink TYPE[:URI]"
_ROWS_GO, _GONE = (ONLY_DELETES, CHANGES), (VERSIONS_GONE, NEWEST_GONE, SNAPSHOT_GONE, START_GONE, PASSED_OVER)


def findings_of(at: TableAtRestart, table: DeltaTable, found: Iterable[Stop]) -> Iterator[Finding]:
    """A finding for each kind of stop, in the order in which Delta meets them; later ones of a kind are named in it."""
    kinds: dict[str, list[Stop]] = {}
    for stop in found:
        kinds.setdefault(UNREAD if concerns(table, stop) else _code(stop), []).append(stop)
    for code, alike in kinds.items():
        if code == UNREAD:
            yield from findings_of_restores(at, table, alike)
        else:
            yield _finding(code, at, table, alike)
    if UNREAD not in kinds:
        yield from findings_of_restores(at, table, ())


def lost_files(at: TableAtRestart, version: int, names: Sequence[str]) -> Finding:
    """CKPT258: data files that the query has not read, and that VACUUM or somebody has deleted."""
    message = (
        f"{len(names):,} data files of version {version} of the Delta table {_table(at)} are gone, such as {names[0]}, "
        f"and source {at.source_id} has not read them: the task that does fails, and the batch stays planned"
    )
    hint = (
        "Their rows may be in later files of the table, and can be copied from there. To go on, skip the version, or "
        "deploy with spark.sql.files.ignoreMissingFiles=true: then the query reads all other files."
    )
    return _error("CKPT258", at, message, hint, (_skip(at, version),), FILE_GONE)


def lost_later(at: TableAtRestart, table: DeltaTable) -> Finding | None:
    """CKPT257: a table that has fewer versions than the query has read, where Delta notices nothing; None otherwise."""
    version = place_of(at, planned=True).version
    if version <= table.newest + 1:
        return None
    message = (
        f"source {at.source_id} is before version {version} of the Delta table {_table(at)}, whose newest version is "
        f"{table.newest}: the table has lost versions. Spark starts, and never reads the rows of versions "
        f"{table.newest + 1} to {version - 1} that are written from now on"
    )
    latest = _reset(at, "--to-latest")
    if at.back_to is None:
        hint = "The query holds the rows of the lost versions. Move the source to the end of the table as it is now."
        return _error("CKPT257", at, message, hint, (latest,))
    hint = (
        f"The query holds the rows of the lost versions. Roll it back to batch {at.back_to}, with the rows of its "
        "sink, when they are written again. To keep the rows, move the source to the end of the table instead."
    )
    return _error("CKPT257", at, message, hint, (rollback_command(at, at.back_to), latest))


def _error(
    code: str, at: TableAtRestart, message: str, hint: str, commands: tuple[str, ...], condition: str = ""
) -> Finding:
    """A finding at the newest committed entry, which has the position."""
    return an_error(
        code,
        message,
        batch_id=at.batch_id,
        name=layout.offset_entry(at.batch_id),
        hint=hint,
        spark_error=condition or None,
        commands=commands,
    )


def _code(stop: Stop) -> str:
    if stop.condition in (*_ROWS_GO, NO_CHANGE_DATA):
        return "CKPT255"
    if stop.condition in _GONE:
        return "CKPT257"
    return "CKPT259" if stop.condition == OTHER_TABLE else "CKPT256"


def _finding(code: str, at: TableAtRestart, table: DeltaTable, stops: Sequence[Stop]) -> Finding:
    first = stops[0]
    name = f"_delta_log/{first.version:020}.json" if first.version is not None else "_delta_log"
    message = f"{name} of the Delta table {_table(at)}: {_why(at, table, first)}"
    if later := [str(stop.version) for stop in stops[1:] if stop.version != first.version]:
        versions = ", ".join(later[:5]) + (f" and {len(later) - 5:,} more" if len(later) > 5 else "")
        message += f". So do the versions {versions}" if len(later) > 1 else f". So does version {versions}"
    hint, commands = _remedy(code, at, table, next((stop for stop in stops if not stop.is_past), first))
    return _error(code, at, message, hint, commands, first.condition)


def _why(at: TableAtRestart, table: DeltaTable, stop: Stop) -> str:
    """Why the source stops, as the rest of a sentence about a file of the log."""
    source, version = f"source {at.source_id}", stop.version
    did = "" if stop.commit is None else f" ({_did(stop.commit)})"
    again = ", which the newest batch has read and Delta goes through again," if stop.is_past else ""
    if stop.condition in _ROWS_GO:
        how = "takes rows away" if stop.condition == ONLY_DELETES else "takes rows away and writes others"
        options = ("skipChangeCommits", "ignoreChanges", *(["ignoreDeletes"] if stop.condition == ONLY_DELETES else []))
        return f"version {version}{did}{again} {how}, at which {source} stops without {' or '.join(options)}"
    if stop.condition == NO_CHANGE_DATA:
        return f"version {version}{did}{again} has no change data, which {source} reads (readChangeFeed), so it stops"
    if stop.condition == OTHER_TABLE:
        was = place_of(at).table_id
        return f"the table has the id {table.schema.table_id}, and {source} has read one with the id {was}, so it stops"
    if stop.condition == SNAPSHOT_GONE:
        return f"the table cannot be read any more as it was at version {version}, where {source} began, so it stops"
    if stop.condition == PASSED_OVER:
        return f"version {version} is missing in the log, and {source} goes on without it, as failOnDataLoss is false"
    if stop.condition == SCHEMA_FOLLOWED:
        return f"version {version}{did} changes the schema, at which {source} stops once (schemaTrackingLocation)"
    if stop.condition == START_GONE:
        return f"version {version}, the startingVersion of {source}, is missing in the log, so it stops"
    if stop.condition in _GONE:
        needs = "needs it again for its newest batch" if stop.is_past else "has not read it"
        return f"version {version} is missing in the log, and {source} {needs}, so it stops"
    return (
        f"version {version}{did}{again} changes the schema so that {source} cannot read what came before, so it stops"
    )


def _remedy(code: str, at: TableAtRestart, table: DeltaTable, stop: Stop) -> tuple[str, tuple[str, ...]]:
    """Remedy and its commands."""
    if code == "CKPT259":
        hint = "Give the query the table that it has read, or begin anew with this one in a checkpoint of its own."
        return hint, (_seed(at, table),)
    if code == "CKPT257":
        return _without_versions(at, table, stop)
    if stop.is_past:
        return _forgetting(at)
    assert stop.version is not None
    is_next = _is_next(at, table, stop.version)
    if code == "CKPT255" and not is_next:
        hint = (
            "Deploy with skipChangeCommits=true, at least until the query has read what the table holds now: it leaves "
            "out all such versions. One alone can be skipped when nothing unread is before it."
        )
        return hint, ()
    if code == "CKPT255":
        hint = "Skip this version alone, or deploy with skipChangeCommits=true, which skips all such versions."
        return hint, (_skip(at, stop.version),)
    if stop.condition == SCHEMA_FOLLOWED:
        return "Start the query once more: it goes on with the new schema.", ()
    if is_next:
        return "Skip this version, and with it the rows that it adds.", (_skip(at, stop.version),)
    hint = (
        "Deploy with schemaTrackingLocation, with which Delta reads what came before with its own schema. The command "
        "leaves out what was not read up to that version."
    )
    return hint, (_reset(at, f"--to-version {stop.version}"),)


def _without_versions(at: TableAtRestart, table: DeltaTable, stop: Stop) -> tuple[str, tuple[str, ...]]:
    """Remedy for versions that are gone."""
    if stop.condition == PASSED_OVER:
        return "The rows of the version are lost; nothing has to be done for the query to go on.", ()
    if stop.condition == NEWEST_GONE:
        return "Move the source to the end of the table as it is now.", (_reset(at, "--to-latest"),)
    if stop.is_past:
        return _forgetting(at)
    assert stop.version is not None
    there = min((version for version in table.versions if version > stop.version), default=stop.version + 1)
    hint = "The rows are lost. Begin with the next version that is there, or deploy with failOnDataLoss=false."
    return hint, (_reset(at, f"--to-version {there - 1}"),)


def _forgetting(at: TableAtRestart) -> tuple[str, tuple[str, ...]]:
    """Remedy for a version that the query has read, in its newest batch."""
    if at.before is None:
        begins = place_of(at).version
        return f"Start the query with startingVersion={begins} until it has committed one more batch.", ()
    hint = "Keep the position, and let the source forget where its newest batch began."
    return hint, (_reset(at, "--to-current"),)


def _is_next(at: TableAtRestart, table: DeltaTable, version: int) -> bool:
    """True if nothing that the query has not read comes before a version."""
    begins = place_of(at).version
    return begins <= version and not any(
        commit.has_data for number, commit in table.commits.items() if begins <= number < version
    )


def _did(commit: DeltaCommit) -> str:
    what = commit.operation or "by an unknown writer"
    return what if commit.at_ms is None else f"{what} of {time_text(commit.at_ms)}"


def _table(at: TableAtRestart) -> str:
    return at.shown_place


def _skip(at: TableAtRestart, version: int) -> str:
    return _reset(at, f"--skip-version {version}")


def _reset(at: TableAtRestart, goal: str) -> str:
    return f"ckpt reset-offsets {shlex.quote(at.checkpoint)} {at.shown_source} {goal} {_SINK}"


def _seed(at: TableAtRestart, table: DeltaTable) -> str:
    offset = DeltaOffset(table.schema.table_id, min(table.versions))
    offsets = shlex.quote(json.dumps({at.source_id: json.loads(offset.json)}))
    return f"ckpt seed NEW_LOCATION --source {shlex.quote(at.source_id)}=delta --offsets {offsets} {_SINK}"
