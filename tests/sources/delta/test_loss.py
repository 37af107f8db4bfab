"""Where a Delta source stops, case by case as values; ``test_judge_delta.py`` has the same of real tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ckpt.codec.offsets.delta import BASE_INDEX, DeltaOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.sources.delta import loss as conditions
from airflow_provider_ckpt.sources.delta.loss import DeltaTable, not_judged, readings, stops
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.delta_commit import DataFile, DeltaCommit
from airflow_provider_ckpt.tables.delta_schema import DeltaSchema

SCHEMA = DeltaSchema("t", {"type": "struct", "fields": []})
ADDS, REMOVES = DeltaCommit(added=(DataFile("a", 1),)), DeltaCommit(removed={"a": 1})
CHANGES = DeltaCommit(added=(DataFile("b", 1),), removed={"a": 1})
TYPED = {"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": True}]}


def offset(version: int, index: int = BASE_INDEX, *, first: bool = False) -> SourceOffset:
    return SourceOffset(DeltaOffset("t", version, index, first).json)


def metadata(fields: dict[str, Any], **properties: str) -> DeltaCommit:
    action = {"id": "t", "schemaString": json.dumps(fields), "partitionColumns": [], "configuration": properties}
    return DeltaCommit(metadata=action)


BEFORE, COMMITTED = offset(4), offset(5)


def at(before: SourceOffset | None = BEFORE, committed: SourceOffset = COMMITTED, **told: Any) -> TableAtRestart:
    options = {name.lower(): value for name, value in told.pop("options", {}).items()}
    return TableAtRestart("/c", "0", parse_source("delta:/t"), 4, committed, before, options=options, now_ms=0, **told)


def table(
    newest: int = 6, *, gone: tuple[int, ...] = (), schema: DeltaSchema = SCHEMA, **commits: DeltaCommit
) -> DeltaTable:
    there = {int(name[1:]): commit for name, commit in commits.items()}
    versions = frozenset(range(newest + 1)) - set(gone)
    return DeltaTable(schema, newest, versions, there, dict.fromkeys(range(newest + 2), SCHEMA))


STOPS = {
    "nothing": (at(), table(v5=ADDS), []),
    "a delete": (at(), table(v5=REMOVES), [(conditions.ONLY_DELETES, 5, False)]),
    "a change": (at(), table(v6=CHANGES), [(conditions.CHANGES, 6, False)]),
    "a delete that is ignored": (at(options={"ignoreDeletes": "true"}), table(v5=REMOVES), []),
    "a change where deletes are ignored": (at(options={"ignoreDeletes": "true"}), table(v5=CHANGES), [(conditions.CHANGES, 5, False)]),
    "a change that is ignored": (at(options={"ignoreChanges": "true"}), table(v5=CHANGES), []),
    "a delete in the newest batch": (at(), table(v4=REMOVES), [(conditions.ONLY_DELETES, 4, True)]),
    "a delete before it": (at(), table(v3=REMOVES), []),
    "the newest batch is forgotten": (at(offset(5)), table(gone=(4,), v4=REMOVES), []),
    "a version of the newest batch is gone": (at(), table(gone=(4,)), [(conditions.VERSIONS_GONE, 4, True)]),
    "an unread version is gone": (at(), table(gone=(5,)), [(conditions.VERSIONS_GONE, 5, False)]),
    "an unread version may be gone": (at(options={"failOnDataLoss": "false"}), table(gone=(5,)), [(conditions.PASSED_OVER, 5, False)]),
    "all unread versions are gone": (at(), table(4), []),
    "the end of the newest batch is gone": (at(offset(2)), table(3), [(conditions.NEWEST_GONE, 4, True)]),
    "another table": (at(), table(schema=replace(SCHEMA, table_id="u")), [(conditions.OTHER_TABLE, None, False)]),
    "a batch in flight": (
        at(offset(4), planned=offset(6)),
        table(v5=REMOVES, v6=CHANGES),
        [(conditions.ONLY_DELETES, 5, False), (conditions.CHANGES, 6, False)],
    ),
    "a batch in flight does not look at the one before": (at(offset(4), planned=offset(6)), table(v4=REMOVES), []),
    "one batch, of a table that can be read no more": (
        at(None),
        replace(table(), schemas={4: None}),
        [(conditions.SNAPSHOT_GONE, 4, True)],
    ),
    "one batch, of a startingVersion that is gone": (
        at(None, options={"startingVersion": "2"}),
        table(gone=(0, 1, 2)),
        [(conditions.START_GONE, 2, True), (conditions.VERSIONS_GONE, 2, True)],
    ),
    "a startingVersion that matters no more": (at(options={"startingVersion": "2"}), table(gone=(0, 1, 2)), []),
    "a first snapshot": (
        at(None, offset(4, 7, first=True)),
        table(v4=REMOVES, v5=REMOVES),
        [(conditions.ONLY_DELETES, 5, False)],
    ),
    "another schema": (
        at(),
        replace(table(v5=metadata({"type": "struct", "fields": []})), schema=SCHEMA, schemas={4: replace(SCHEMA, fields=TYPED)}),
        [(conditions.SCHEMA_CHANGED, 5, False)],
    ),
    "another schema, and a start that was said": (
        at(options={"startingTimestamp": "2026-01-01"}),
        replace(table(v5=metadata({"type": "struct", "fields": []})), schemas={4: replace(SCHEMA, fields=TYPED)}),
        [(conditions.SCHEMA_CHANGED_SINCE_START, 5, False)],
    ),
    "a column more": (at(), replace(table(v5=metadata(TYPED)), schema=replace(SCHEMA, fields=TYPED)), []),
    "a schema that is followed": (
        at(options={"schemaTrackingLocation": "/c/s"}),
        replace(table(v5=metadata(TYPED)), schema=replace(SCHEMA, fields=TYPED)),
        [(conditions.SCHEMA_FOLLOWED, 5, False)],
    ),
    "a mapped table whose start is gone": (
        at(),
        replace(table(), schema=replace(SCHEMA, properties={"delta.columnMapping.mode": "name"}), schemas={4: None}),
        [(conditions.NO_SNAPSHOT, 4, False)],
    ),
    "a change feed": (
        at(options={"readChangeFeed": "true"}),
        replace(
            table(v5=REMOVES, v6=metadata(SCHEMA.fields)),
            schemas={4: replace(SCHEMA, properties={"delta.enableChangeDataFeed": "true"})},
        ),
        [(conditions.NO_CHANGE_DATA, 6, False)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "found", "expected"), STOPS.values(), ids=STOPS)
def test_where_it_stops(source, found, expected):
    assert [(stop.condition, stop.version, stop.is_past) for stop in stops(source, found)] == expected


def test_the_newest_batch_is_gone_through_once_more():
    past, ahead = readings(at(offset(4, 3), offset(5, 2)))
    assert [past.has(version) for version in (3, 4, 5, 6)] == [False, True, True, False]
    assert [ahead.has(version) for version in (4, 5, 6)] == [False, True, True]
    assert (past.is_past, ahead.is_past) == (True, False)


UNKNOWN = {
    "options": (at(), table(), [conditions.SOURCE_OPTIONS]),
    "nothing": (at(options={"ignoreDeletes": "false"}), table(), []),
    "a first snapshot": (at(None, offset(4, 7, first=True), options={"ignoreDeletes": "true"}), table(), [conditions.FIRST_SNAPSHOT]),
    "a log of schemas": (at(options={"schemaTrackingLocation": "/s"}), table(v5=metadata(TYPED)), [conditions.SCHEMA_CHANGES]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "found", "unknown"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_judged(source, found, unknown):
    assert list(not_judged(source, found)) == unknown
