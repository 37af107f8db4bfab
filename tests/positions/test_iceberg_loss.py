"""What is said of an Iceberg source before a restart, against what real Spark did with each trigger.

The cases were recorded; `make sinks` brings them about anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from airflow_provider_ckpt.codec.iceberg_offset import START, IcebergOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.positions.iceberg_loss import (
    AVAILABLE_NOW,
    IcebergSource,
    expires_ms,
    initial_stop,
    losses,
    run,
)
from airflow_provider_ckpt.positions.iceberg_way import Skips, Stop, StoppedError
from airflow_provider_ckpt.positions.table_loss import TableAtRestart
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import read_history
from airflow_provider_ckpt.tables.iceberg_history import MAX_AGE_MS, History
from tests.goldens import unpack
from tests.sinks.worker import Worker
from tests.sources.iceberg_stops import CASES, RECORDED, SKIP_DELETES, SKIP_OVERWRITES, TRIGGERS, Played, play, played

#: After all that was recorded.
NOW_MS = 2_000_000_000_000
#: What is found of a case whatever the trigger is; one that a trigger alone finds is in ``INITIAL``.
FOUND = {
    "deleted": "CKPT262",
    "deleted_at_the_end": "CKPT262",
    "overwritten": "CKPT262",
    "overwritten_and_deletes_skipped": "CKPT262",
    "merged": "CKPT262",
    "position_expired": "CKPT260",
    "long_expired": "CKPT260",
    "position_expired_in_flight": "CKPT260",
    "rolled_back": "CKPT261",
    "rolled_back_and_appended": "CKPT261",
    "rolled_back_and_expired": "CKPT261",
    "tagged": "CKPT261",
    "recreated": "CKPT260",
    "recreated_and_empty": "CKPT264",
    "from_the_future": "CKPT264",
    "in_flight_over_a_delete": "CKPT262",
    "in_flight_before_a_delete": "CKPT262",
    "in_flight_rolled_back": "CKPT261",
}
#: Cases in which the walk from the initial offset stops, as it does with the trigger availableNow alone.
INITIAL = (
    "deleted_before",
    "initial_expired",
    "initial_at_the_end",
    "position_expired",
    "long_expired",
    "position_expired_in_flight",
    "rolled_back_and_expired",
    "tagged",
    "recreated",
)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    root = tmp_path_factory.mktemp("stops")
    if os.environ.get("CKPT_SINKS"):
        worker = Worker("lakes", root / "warehouse")
        for name in CASES:
            play(name, worker, root / name)
        worker.stop()
    else:
        unpack(RECORDED, root)
    return {name: played(root / name) for name in CASES}


def source_of(case: Played, trigger: str | None) -> IcebergSource:
    """The source as it is before the start."""
    checkpoint = case.home / "checkpoint"
    committed, planned = (newest(checkpoint / folder) for folder in ("commits", "offsets"))
    skips = Skips(
        deletes=case.options.get(SKIP_DELETES) == "true",
        overwrites=case.options.get(SKIP_OVERWRITES) == "true",
        from_ms=int(case.options["stream-from-timestamp"]) if "stream-from-timestamp" in case.options else None,
    )
    initial = checkpoint / "sources" / "0" / "offsets" / "0"
    return IcebergSource(
        TableAtRestart(
            "/checkpoint", "0", "iceberg:/table", committed, SourceOffset(""), trigger=trigger, now_ms=NOW_MS
        ),
        offset_in(checkpoint / "offsets" / str(committed)),
        offset_in(checkpoint / "offsets" / str(planned)) if planned > committed else None,
        offset_in(initial) if initial.exists() else None,
        history_of(case.home / "table"),
        skips,
    )


@cache
def history_of(table: Path) -> History:
    return read_history(Store.open(str(table)))


def newest(folder: Path) -> int:
    return max(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


def offset_in(path: Path) -> IcebergOffset:
    return of_value(SourceOffset(path.read_text().splitlines()[-1]).view("iceberg").value)


def stop_of(source: IcebergSource) -> Stop | None:
    """What is foretold."""
    if source.at.trigger == AVAILABLE_NOW and (stop := initial_stop(source)) is not None:
        return stop
    try:
        run(source)
    except StoppedError as error:
        return error.stop
    return None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_what_iceberg_stops_with_is_foretold_to_the_letter(cases, name, trigger):
    source, outcome = source_of(cases[name], trigger), cases[name].outcomes[trigger]
    stop = stop_of(source)
    assert (stop.error if stop else None, stop.message if stop else "") == (outcome["error"], outcome["message"])
    if stop is None:
        last = max(outcome["after"], key=int)
        assert run(source) == of_value(SourceOffset(outcome["after"][last]).view("iceberg").value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("trigger", [*TRIGGERS, None])
def test_each_stop_is_a_finding_with_its_condition(cases, name, trigger):
    findings = list(losses(source_of(cases[name], trigger)))
    expected = [FOUND[name]] if name in FOUND else []
    if name == "in_flight_before_a_delete" and trigger == "once":
        expected = []  # the planned batch runs and no other
    if name in INITIAL and trigger in (AVAILABLE_NOW, None):
        expected = ["CKPT263", *expected]
    assert [finding.code for finding in findings] == expected
    error = next((finding.spark_error for finding in findings if finding.spark_error), None)
    if trigger is not None:
        assert error == cases[name].outcomes[trigger]["error"]
    for finding in findings:
        assert finding.hint
        assert bool(finding.commands) == (finding.code != "CKPT264")
        assert finding.severity == (
            "warning" if name == "recreated_and_empty" or (not trigger and finding.code == "CKPT263") else "error"
        )


def test_a_position_that_is_given_up_is_told_with_the_reason(cases):
    (finding,) = losses(source_of(cases["from_the_future"], "once"))
    assert "stream-from-timestamp of source 0 is 2100-01-01T00:00:00.000Z" in finding.message
    assert run(source_of(cases["from_the_future"], "once")) == START


@pytest.mark.parametrize(
    ("name", "words", "command"),
    [
        (
            "position_expired",
            "the one after it is the oldest that the table has: no later one is lost",
            "--to-earliest",
        ),
        ("long_expired", "cannot be read as a stream any more", "--to-earliest"),
        ("recreated", "no snapshot of the table has expired, so the table was created again", "--to-earliest"),
        ("rolled_back", "the table was rolled back to snapshot", "--to-snapshot"),
        ("tagged", "the snapshots after it have expired", "--to-earliest"),
        ("deleted", "which removes 1 data file with 1 row", "--skip-snapshot"),
        ("overwritten", "which adds 1 data file with 1 row and removes 2 data files with 2 rows", "--skip-snapshot"),
        ("initial_expired", "Iceberg goes from the initial offset", "--to-current"),
    ],
)
def test_what_happened_is_told_with_the_command_that_mends_it(cases, name, words, command):
    *_, finding = losses(source_of(cases[name], AVAILABLE_NOW))
    assert words in finding.message
    assert command in finding.commands[0]


def test_what_is_unread_before_a_stop_is_read_first(cases):
    (finding,) = losses(source_of(cases["deleted"], "processingTime"))
    assert finding.hint.startswith(
        "1 unread snapshot before it can be read first: start the query with streaming-max-rows"
    )
    (last,) = losses(source_of(cases["deleted_at_the_end"], "processingTime"))
    assert last.hint.startswith("It is the newest snapshot: it can be skipped when the table has a later one.")


def test_the_position_expires_with_its_snapshot_and_with_available_now_the_initial_offset_as_well(cases):
    def left(trigger: str, before_ms: int) -> int | None:
        source = source_of(cases["appended"], trigger)
        at_ms = [item.at_ms for item in reversed(source.history.snapshots)]
        return expires_ms(replace(source, at=replace(source.at, now_ms=at_ms[0] + MAX_AGE_MS - before_ms))), at_ms

    left_ms, at_ms = left("processingTime", 1_000)
    assert left_ms == 1_000 + at_ms[1] - at_ms[0], "the position is at the second snapshot"
    assert left(AVAILABLE_NOW, 1_000)[0] == 1_000
    assert left(AVAILABLE_NOW, -1)[0] == 0
    assert expires_ms(source_of(cases["nothing_new"], "processingTime")) is None, "the newest stays"
