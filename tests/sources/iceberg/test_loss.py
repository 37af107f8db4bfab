"""What is said of an Iceberg source, of tables that are told as letters.

That it is what Iceberg does is shown in test_judge_iceberg, on what real Spark did.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.sources.iceberg.loss import IcebergSource, expires_ms, losses
from airflow_provider_ckpt.sources.iceberg.way import Skips
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.iceberg_history import Expiry, History, Snapshot

NO_SKIPS = Skips()
OPERATIONS = {"a": "append", "r": "replace", "d": "delete", "o": "overwrite", "x": ""}
SECOND_MS = 1_000


def source(
    letters: str,
    position: tuple[int, int],
    planned: tuple[int, int] | None = None,
    initial: tuple[int, int] | None = None,
    *,
    is_whole: bool = True,
    skips: Skips = NO_SKIPS,
    trigger: str | None = "processingTime",
) -> IcebergSource:
    """Snapshots 1, 2, … of two files each, of one second each; 12 was made after 2 and rolled back."""
    made = [
        Snapshot(number, number - 1 if number > 1 or not is_whole else None, number * SECOND_MS, OPERATIONS[letter], 2)
        for number, letter in enumerate(letters, 1)
    ]
    others = {12: Snapshot(12, 2, 2_500, "append", 2), 22: Snapshot(22, 21, 2_500, "append", 2)}
    history = History("/t", "id", tuple(reversed(made)), others, Expiry(max_age_ms=5 * SECOND_MS))
    at = TableAtRestart("/c", "0", parse_source("iceberg:/t"), 4, SourceOffset(""), trigger=trigger, now_ms=6_500)
    ahead = None if planned is None else IcebergOffset(*planned)
    return IcebergSource(
        at, IcebergOffset(*position), ahead, None if initial is None else IcebergOffset(*initial), history, skips
    )


def found(item: IcebergSource) -> list[Finding]:
    return list(losses(item))


@pytest.mark.parametrize(
    ("item", "code", "words", "target"),
    [
        (source("aaa", (99, 2)), "CKPT260", "no snapshot of the table has expired", "--to-earliest"),
        (source("aaa", (0, 2), is_whole=False), "CKPT260", "no later one is lost", "--to-earliest"),
        (source("aaa", (99, 2), is_whole=False), "CKPT260", "cannot be read as a stream any more", "--to-earliest"),
        (source("aaa", (12, 2)), "CKPT261", "rolled back to snapshot 2 or an earlier one", "--to-snapshot 2"),
        (source("aaa", (22, 2)), "CKPT261", "the snapshots after it have expired", "--to-earliest"),
        (source("aaa", (3, 2), (12, 2)), "CKPT261", "the batch in flight ends at snapshot 12", "--to-current"),
        (source("aada", (2, 2)), "CKPT262", "does not read snapshot 3 .delete of", "--skip-snapshot 3"),
        (source("aaxa", (2, 2)), "CKPT262", "of an unknown operation", "--skip-snapshot 3"),
        (source("aaada", (2, 2), (5, 2)), "CKPT262", "does not read snapshot 4", "--to-current"),
        (source("aadaa", (2, 2), (5, 2)), "CKPT262", "does not read snapshot 3", "--skip-snapshot 3"),
        (source("aadaa", (2, 0), (5, 2)), "CKPT262", "does not read snapshot 3", "--to-current"),
    ],
)
def test_each_stop_has_its_rule_its_reason_and_its_command(item, code, words, target):
    (finding,) = found(item)
    assert (finding.code, finding.severity) == (code, "error")
    assert re.search(words, finding.message)
    assert finding.commands == (f"ckpt reset-offsets /c --source 0=iceberg:/t {target} --sink TYPE[:URI]",)
    assert finding.spark_error in ("IllegalStateException", "NullPointerException")


@pytest.mark.parametrize(
    ("letters", "position", "hint"),
    [
        ("aada", (2, 2), "Skip it. Or set streaming-skip-delete-snapshots=true"),
        ("aado", (2, 2), "Skip it. Or set"),
        ("aad", (2, 2), "It is the newest snapshot: it can be skipped when the table has a later one. Or set"),
        ("aaada", (2, 2), "1 unread snapshot before it can be read first"),
        ("aaaada", (2, 1), "3 unread snapshots before it can be read first"),
        ("aaoa", (2, 2), "Skip it. Or set streaming-skip-overwrite-snapshots=true"),
    ],
)
def test_what_to_do_about_a_snapshot_that_stops_it(letters, position, hint):
    (finding,) = found(source(letters, position))
    assert (finding.hint or "").startswith(hint)


@pytest.mark.parametrize("trigger", ["availableNow", None, "once"])
def test_an_initial_offset_counts_for_one_trigger(trigger):
    findings = found(source("aaa", (3, 2), initial=(99, 0), trigger=trigger))
    assert [(item.code, item.severity) for item in findings] == {
        "availableNow": [("CKPT263", "error")],
        None: [("CKPT263", "warning")],
        "once": [],
    }[trigger]


def test_what_stops_the_position_as_well_is_said_once():
    item = source("aada", (2, 2), initial=(1, 0), trigger="availableNow")
    assert [finding.code for finding in found(item)] == ["CKPT262"]
    both = found(source("aaa", (98, 2), initial=(99, 0), trigger="availableNow"))
    assert [finding.code for finding in both] == ["CKPT263", "CKPT260"]
    assert both[0].commands == both[1].commands, "what mends the position mends both"


def test_nothing_after_the_initial_offset_is_a_null_pointer():
    (finding,) = found(source("aaa", (3, 2), initial=(3, 2), trigger="availableNow"))
    assert (finding.code, finding.spark_error) == ("CKPT263", "NullPointerException")


@pytest.mark.parametrize(
    ("item", "severity"),
    [(source("aaa", (3, 2), skips=Skips(from_ms=9_999)), "error"), (source("", (3, 2)), "warning")],
)
def test_a_position_that_is_given_up(item, severity):
    (finding,) = found(item)
    assert (finding.code, finding.severity, finding.spark_error, finding.commands) == ("CKPT264", severity, None, ())


def test_nothing_speaks_against_a_way_that_is_free():
    for item in (
        source("aaa", (2, 2)),
        source("ara", (1, 2), (1, 2)),
        source("", START_AT),
        source("a", (1, 2), (1, 2)),
    ):
        assert found(item) == []
    assert found(source("aada", (2, 2), (2, 2), trigger="once")) == [], "it runs the planned batch alone"


START_AT = (START.snapshot_id, START.position)


@pytest.mark.parametrize(
    ("position", "initial", "trigger", "left_ms"),
    [
        ((2, 2), (1, 0), "processingTime", 500),
        ((2, 2), (1, 0), "availableNow", 0),
        ((3, 2), (1, 0), "processingTime", None),
        ((99, 2), None, "availableNow", None),
        ((3, 2), START_AT, "availableNow", None),
    ],
)
def test_when_an_expiry_may_take_what_it_needs(position, initial, trigger, left_ms):
    assert expires_ms(source("aaa", position, initial=initial, trigger=trigger)) == left_ms


def test_no_command_has_the_secrets_of_a_declaration():
    item = source("aaa", (99, 2))
    (finding,) = found(
        replace(item, at=replace(item.at, source=parse_source("iceberg:https://ann:secret@host/t?sig=abcdef")))
    )
    assert "--source '0=iceberg:https://ann@host/t?sig=***'" in finding.commands[0]
    assert "secret" not in str(finding) and "abcdef" not in str(finding)
