"""What is said of an Iceberg source before a restart, against what real Spark did with each trigger.

The cases were recorded; `make sinks` brings them about anew.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run as run_command
from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.source import parse_by_id, parse_source
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.sources.foresee_losses import foresee_losses
from airflow_provider_ckpt.sources.iceberg.loss import (
    AVAILABLE_NOW,
    IcebergSource,
    expires_ms,
    initial_stop,
    losses,
    run,
)
from airflow_provider_ckpt.sources.iceberg.way import Skips, Stop, StoppedError
from airflow_provider_ckpt.sources.judge_tables import judge_tables
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion
from airflow_provider_ckpt.sources.table_loss import SOURCE_OPTIONS, TableAtRestart, TableLosses
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import read_history
from airflow_provider_ckpt.tables.iceberg_history import MAX_AGE_MS, History
from tests.goldens import unpack
from tests.progress import tell
from tests.sinks.worker import Worker
from tests.sources.iceberg_stop_records import RECORDED, Played, play, played
from tests.sources.iceberg_stops import CASES, SKIP_DELETES, SKIP_OVERWRITES, TRIGGERS

DECLARED = {f"0.{SKIP_DELETES}": "false"}
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
def recorded(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> dict[str, Played]:
    root = tmp_path_factory.mktemp("stops")
    if os.environ.get("CKPT_SINKS"):
        worker = Worker("lakes", root / "warehouse")
        for number, name in enumerate(CASES, start=1):
            tell(pytestconfig, f"{number} of {len(CASES)}: {name}")
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
            "/checkpoint",
            "0",
            parse_source("iceberg:/table"),
            committed,
            SourceOffset(""),
            trigger=trigger,
            now_ms=NOW_MS,
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
def test_what_iceberg_stops_with_is_foretold_to_the_letter(recorded, name, trigger):
    source, outcome = source_of(recorded[name], trigger), recorded[name].outcomes[trigger]
    stop = stop_of(source)
    assert (stop.error if stop else None, stop.message if stop else "") == (outcome["error"], outcome["message"])
    if stop is None:
        last = max(outcome["after"], key=int)
        assert run(source) == of_value(SourceOffset(outcome["after"][last]).view("iceberg").value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("trigger", [*TRIGGERS, None])
def test_each_stop_is_a_finding_with_its_condition(recorded, name, trigger):
    findings = list(losses(source_of(recorded[name], trigger)))
    expected = [FOUND[name]] if name in FOUND else []
    if name == "in_flight_before_a_delete" and trigger == "once":
        expected = []  # the planned batch runs and no other
    if name in INITIAL and trigger in (AVAILABLE_NOW, None):
        expected = ["CKPT263", *expected]
    assert [finding.code for finding in findings] == expected
    error = next((finding.spark_error for finding in findings if finding.spark_error), None)
    if trigger is not None:
        assert error == recorded[name].outcomes[trigger]["error"]
    for finding in findings:
        assert finding.hint
        assert bool(finding.commands) == (finding.code != "CKPT264")
        assert finding.severity == (
            "warning" if name == "recreated_and_empty" or (not trigger and finding.code == "CKPT263") else "error"
        )


def test_a_position_that_is_given_up_is_told_with_the_reason(recorded):
    (finding,) = losses(source_of(recorded["from_the_future"], "once"))
    assert "stream-from-timestamp of source 0 is 2100-01-01T00:00:00.000Z" in finding.message
    assert run(source_of(recorded["from_the_future"], "once")) == START


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
def test_what_happened_is_told_with_the_command_that_mends_it(recorded, name, words, command):
    *_, finding = losses(source_of(recorded[name], AVAILABLE_NOW))
    assert words in finding.message
    assert command in finding.commands[0]


def test_what_is_unread_before_a_stop_is_read_first(recorded):
    (finding,) = losses(source_of(recorded["deleted"], "processingTime"))
    assert finding.hint.startswith(
        "1 unread snapshot before it can be read first: start the query with streaming-max-rows"
    )
    (last,) = losses(source_of(recorded["deleted_at_the_end"], "processingTime"))
    assert last.hint.startswith("It is the newest snapshot: it can be skipped when the table has a later one.")


def test_the_position_expires_with_its_snapshot_and_with_available_now_the_initial_offset_as_well(recorded):
    def left(trigger: str, before_ms: int) -> int | None:
        source = source_of(recorded["appended"], trigger)
        at_ms = [item.at_ms for item in reversed(source.history.snapshots)]
        return expires_ms(replace(source, at=replace(source.at, now_ms=at_ms[0] + MAX_AGE_MS - before_ms))), at_ms

    left_ms, at_ms = left("processingTime", 1_000)
    assert left_ms == 1_000 + at_ms[1] - at_ms[0], "the position is at the second snapshot"
    assert left(AVAILABLE_NOW, 1_000)[0] == 1_000
    assert left(AVAILABLE_NOW, -1)[0] == 0
    assert expires_ms(source_of(recorded["nothing_new"], "processingTime")) is None, "the newest stays"


# --- as the gate, the sensor and a fleet ask ---------------------------------------------------------------------


@pytest.fixture
def cases(tmp_path):
    return unpack(RECORDED, tmp_path)


def judged(home, options=DECLARED, trigger=None, now_ms: int = 0) -> TableLosses:
    checkpoint = Store.open(str(home / "checkpoint"))
    places, access = parse_by_id({"0": f"iceberg:{home / 'table'}"}), Access(Store.open, checkpoint)
    return judge_tables(observe(checkpoint), places, options, access, now_ms, trigger)


@pytest.mark.parametrize(
    ("name", "options", "trigger", "codes"),
    [
        ("deleted", {}, None, ["CKPT262"]),
        ("deleted", {f"0.{SKIP_DELETES}": "true"}, None, []),
        ("initial_expired", DECLARED, "availableNow", ["CKPT263"]),
        ("initial_expired", DECLARED, "processingTime", []),
        ("appended", {"0.stream-from-timestamp": "4102444800000"}, "once", ["CKPT264"]),
        ("position_expired_in_flight", DECLARED, "once", ["CKPT260"]),
    ],
)
def test_the_table_is_asked_with_the_options_and_the_trigger_of_the_query(cases, name, options, trigger, codes):
    found = judged(cases / name, options, trigger)
    assert [finding.code for finding in found.findings] == codes
    assert found.unknown == (() if options else (SOURCE_OPTIONS,))


@pytest.mark.parametrize("data", [b'{"version":7}', b"nothing", b"", b'{"version":1'])
def test_an_initial_offset_that_cannot_be_read_is_not_judged(cases, data):
    (cases / "appended/checkpoint/sources/0/offsets/0").write_bytes(data)
    assert judged(cases / "appended", trigger="availableNow").unknown == ("initial offset",)


def test_a_source_without_an_initial_offset_begins_with_the_oldest_snapshot(cases):
    assert judged(cases / "initial_missing", trigger="availableNow").findings == ()


def test_a_source_of_another_type_is_not_judged(cases):
    entry = cases / "appended/checkpoint/offsets/0"
    entry.write_text(entry.read_text().rpartition("\n")[0] + '\n{"t":{"0":1}}')
    lost = judged(cases / "appended")
    assert (lost.findings, lost.unknown) == ((), ("data loss of source 0",))


def test_a_time_that_is_no_number_is_refused(cases):
    with pytest.raises(ValueError, match="stream-from-timestamp is 'soon', which is no whole number"):
        judged(cases / "appended", {"0.stream-from-timestamp": "soon"})


def test_the_gate_stops_with_what_iceberg_says_and_prints_the_command(cases):
    home = cases / "deleted_before"
    spec = {
        "sources": {"0": f"iceberg:{home / 'table'}"},
        "source_options": DECLARED,
        "trigger": "availableNow",
        "sink": "noop",
        "spark_version": "4.1",
    }
    _, foretold = forecast_restart(Store.open(str(home / "checkpoint")), declare(DeploySpec(), spec), Store.open)
    assert (foretold.decision, foretold.spark_error) == ("block", "IllegalStateException")
    (finding,) = [finding for finding in foretold.findings if finding.code == "CKPT263"]
    assert finding.commands == (
        f"ckpt reset-offsets {home / 'checkpoint'} --source 0=iceberg:{home / 'table'} --to-current --sink TYPE[:URI]",
    )


def test_the_sensor_is_told_when_an_expiry_may_take_the_position(cases):
    home = cases / "appended"
    history = read_history(Store.open(str(home / "table")))
    now_ms = history.snapshots[1].at_ms + MAX_AGE_MS - 60_000
    checkpoint = Store.open(str(home / "checkpoint"))
    foreseen = foresee_losses(
        observe(checkpoint),
        LagQuestion(parse_by_id({"0": f"iceberg:{home / 'table'}"})),
        DECLARED,
        Access(Store.open, checkpoint),
        now_ms,
    )
    assert foreseen.expires_ms == 60_000
    assert foreseen.is_within(60_000) and not foreseen.is_within(59_999)


def test_the_sensor_leaves_alone_what_only_another_trigger_stops_at(cases):
    home = cases / "initial_expired"
    checkpoint, question = (
        Store.open(str(home / "checkpoint")),
        LagQuestion(parse_by_id({"0": f"iceberg:{home / 'table'}"})),
    )
    foreseen = foresee_losses(observe(checkpoint), question, DECLARED, Access(Store.open, checkpoint), 0)
    assert [finding.severity for finding in foreseen.findings] == ["warning"]
    assert not foreseen.is_within(0)


def test_tables_are_asked_what_stops_a_query_also_where_its_lag_cannot_be_told(tmp_path, capsys):
    cases = unpack(RECORDED, tmp_path / "cases")
    lines = ["format_version: 1", "queries:"]
    for name in ("appended", "deleted", "position_expired"):
        shutil.copytree(cases / name / "checkpoint", tmp_path / "fleet" / name)
        lines += [
            f"  {name}:",
            f"    checkpoint: fleet/{name}",
            f"    sources: {{'0': 'iceberg:{cases / name / 'table'}'}}",
        ]
    (tmp_path / "fleet.yaml").write_text("\n".join(lines))
    assert run_command(["fleet", str(tmp_path / "fleet"), "--file", str(tmp_path / "fleet.yaml"), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["checkpoints"]
    found = {row["location"].rpartition("/")[2]: row for row in rows}
    codes = {name: [item["code"] for item in row["findings"]] for name, row in found.items()}
    assert codes == {"appended": [], "deleted": ["CKPT262"], "position_expired": ["CKPT260", "CKPT263"]}
    assert "not an ancestor of the current snapshot" in found["position_expired"]["lag_error"]
    assert found["deleted"]["lag"][0]["rows"] == 2
    assert all("source options" in row["unknown"] for row in rows)
