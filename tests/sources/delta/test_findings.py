"""What is said of a Delta source that stops, and what to type; ``test_judge_delta.py`` has real tables."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.sources.delta import loss as conditions
from airflow_provider_ckpt.sources.delta.findings import findings_of, lost_files, lost_later
from airflow_provider_ckpt.sources.delta.loss import DeltaTable, Stop
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.delta_commit import DataFile, DeltaCommit
from airflow_provider_ckpt.tables.delta_schema import DeltaSchema

AT = TableAtRestart(
    "/c", "0", parse_source("delta:/t"), 4, SourceOffset(DeltaOffset("t", 5).json), SourceOffset("{}"), now_ms=0
)
FIRST = TableAtRestart("/c", "0", parse_source("delta:/t"), 0, SourceOffset(DeltaOffset("t", 5).json), now_ms=0)
TABLE = DeltaTable(DeltaSchema("t", {}), 7, frozenset(range(2, 8)), {5: DeltaCommit(added=(DataFile("a", 1),))})
DELETE = DeltaCommit("DELETE", 1_767_225_600_000)
BEGIN = "_delta_log/00000000000000000005.json of the Delta table /t: version 5"

SAID = {
    "a delete that is next": (
        AT, Stop(conditions.ONLY_DELETES, 5, commit=DELETE), "CKPT255",
        f"{BEGIN} (DELETE of 2026-01-01T00:00:00.000Z) takes rows away, at which source 0 stops without skipChangeCommits or "
        "ignoreChanges or ignoreDeletes",
        "--skip-version 5",
    ),
    "a change behind": (
        AT, Stop(conditions.CHANGES, 5, True, DeltaCommit()), "CKPT255",
        f"{BEGIN} (by an unknown writer), which the newest batch has read and Delta goes through again, takes rows away "
        "and writes others, at which source 0 stops without skipChangeCommits or ignoreChanges",
        "--to-current",
    ),
    "a change further ahead": (AT, Stop(conditions.CHANGES, 6, commit=DELETE), "CKPT255", None, None),
    "no change data": (AT, Stop(conditions.NO_CHANGE_DATA, 5, commit=DELETE), "CKPT255", None, "--skip-version 5"),
    "a schema": (AT, Stop(conditions.MAPPED_OTHERWISE, 6, commit=DELETE), "CKPT256", None, "--to-version 6"),
    "a schema that is next": (AT, Stop(conditions.SCHEMA_CHANGED, 5, commit=DELETE), "CKPT256", None, "--skip-version 5"),
    "a schema behind": (AT, Stop(conditions.SCHEMA_CHANGED, 4, True, DELETE), "CKPT256", None, "--to-current"),
    "a schema that is followed": (AT, Stop(conditions.SCHEMA_FOLLOWED, 6, commit=DELETE), "CKPT256", None, None),
    "a version": (AT, Stop(conditions.VERSIONS_GONE, 5), "CKPT257", f"{BEGIN} is missing in the log, and source 0 has not read it, so it stops", "--to-version 5"),
    "a version behind": (AT, Stop(conditions.VERSIONS_GONE, 4, True), "CKPT257", None, "--to-current"),
    "the newest versions": (AT, Stop(conditions.NEWEST_GONE, 4, True), "CKPT257", None, "--to-latest"),
    "a version that may be gone": (AT, Stop(conditions.PASSED_OVER, 5), "CKPT257", f"{BEGIN} is missing in the log, and source 0 goes on without it, as failOnDataLoss is false", None),
    "the only batch": (FIRST, Stop(conditions.SNAPSHOT_GONE, 4, True), "CKPT257", None, None),
    "the start": (FIRST, Stop(conditions.START_GONE, 0, True), "CKPT257", None, None),
}  # fmt: skip


@pytest.mark.parametrize(("source", "stop", "code", "message", "goal"), SAID.values(), ids=SAID)
def test_a_stop_is_said_with_its_way_out(source, stop, code, message, goal):
    (finding,) = findings_of(source, TABLE, [stop])
    assert (finding.code, finding.spark_error, finding.name) == (
        code,
        stop.condition or None,
        f"offsets/{source.batch_id}",
    )
    assert finding.message == message or message is None
    sink = " --sink TYPE[:URI]"
    wanted = () if goal is None else (f"ckpt reset-offsets /c --source 0=delta:/t {goal}{sink}",)
    assert finding.commands == wanted
    assert finding.hint


def test_the_only_batch_is_got_over_by_an_option():
    (finding,) = findings_of(FIRST, TABLE, [Stop(conditions.SNAPSHOT_GONE, 4, True)])
    assert finding.hint == "Start the query with startingVersion=5 until it has committed one more batch."


def test_another_table_is_begun_anew_where_its_log_begins():
    (finding,) = findings_of(AT, TABLE, [Stop(conditions.OTHER_TABLE)])
    assert finding.message.startswith(
        "_delta_log of the Delta table /t: the table has the id t, and source 0 has read one"
    )
    words = shlex.split(finding.commands[0])
    assert words[:3] == ["ckpt", "seed", "NEW_LOCATION"]
    offset = json.loads(words[words.index("--offsets") + 1])["0"]
    assert (offset["reservoirId"], offset["reservoirVersion"]) == ("t", 2)


def test_the_way_out_is_that_of_the_first_version_that_was_not_read():
    behind, ahead = Stop(conditions.CHANGES, 4, True, DELETE), Stop(conditions.CHANGES, 5, False, DELETE)
    (finding,) = findings_of(AT, TABLE, [behind, ahead])
    assert finding.message.endswith(". So does version 5")
    assert "--skip-version 5" in finding.commands[0]


def test_many_versions_are_counted():
    (finding,) = findings_of(AT, TABLE, [Stop(conditions.CHANGES, version, commit=DELETE) for version in range(5, 20)])
    assert finding.message.endswith(". So do the versions 6, 7, 8, 9, 10 and 9 more")


def test_files_that_are_gone():
    finding = lost_files(AT, 5, ["a.parquet", "b.parquet"])
    assert finding.message.startswith(
        "2 data files of version 5 of the Delta table /t are gone, such as a.parquet, and"
    )
    assert "--skip-version 5" in finding.commands[0]


@pytest.mark.parametrize(("newest", "is_lost"), [(3, True), (4, False), (5, False)])
def test_a_table_with_fewer_versions_than_were_read(newest, is_lost):
    finding = lost_later(AT, DeltaTable(DeltaSchema("t", {}), newest, frozenset()))
    assert (finding is not None) == is_lost
    if finding is not None:
        assert "never reads the rows of versions 4 to 4" in finding.message and finding.spark_error is None


@pytest.mark.parametrize(("back_to", "commands"), [(2, ["--to-batch 2", "--to-latest"]), (None, ["--to-latest"])])
def test_rows_of_lost_versions_are_dropped_by_a_rollback_where_there_is_a_batch_before_them(back_to, commands):
    finding = lost_later(replace(AT, back_to=back_to), DeltaTable(DeltaSchema("t", {}), 3, frozenset()))
    assert finding.hint.startswith("The query holds the rows of the lost versions.")
    assert [word in command for word, command in zip(commands, finding.commands, strict=True)] == [True] * len(commands)


def test_no_finding_has_the_secrets_of_a_declaration():
    """Findings go to logs, XCom and SARIF."""
    at = replace(AT, source=parse_source("delta:https://ann:secret@host/t?sig=abcdef"))
    stops = [Stop(conditions.ONLY_DELETES, 5, commit=DELETE), Stop(conditions.VERSIONS_GONE, 5)]
    later = lost_later(at, replace(TABLE, newest=3))
    found = [*findings_of(at, TABLE, stops), lost_files(at, 5, ["a"]), later]
    assert len(found) == 4 and all("https://ann@host/t" in finding.message for finding in found)
    assert "secret" not in str(found) and "abcdef" not in str(found)
    assert any("--source '0=delta:https://ann@host/t?sig=***'" in text for item in found for text in item.commands)
