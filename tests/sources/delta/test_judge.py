"""What stops a Delta source, by tables and checkpoints of which real Spark has said what it does.

The cases are those that were recorded; `make sinks` has Spark bring them about anew.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.offsets.delta import BASE_INDEX, DeltaOffset
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.delta import judge as judge_delta
from airflow_provider_ckpt.sources.delta.judge import find_batch_before
from airflow_provider_ckpt.sources.foresee_losses import LossForecast, foresee_losses
from airflow_provider_ckpt.sources.judge_tables import judge_tables
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion
from airflow_provider_ckpt.sources.table_loss import SOURCE_OPTIONS, TableLosses
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables import delta
from tests.goldens import unpack
from tests.kafka_checkpoint import commit_batch
from tests.progress import tell
from tests.sinks.worker import Worker
from tests.sources.delta_stops import CASES, RECORDED, Played, pack, play, unpacked

DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def played(tmp_path_factory, pytestconfig) -> dict[str, Played]:
    home, archive = tmp_path_factory.mktemp("stops"), RECORDED
    if os.environ.get("CKPT_SINKS"):
        root, archive = tmp_path_factory.mktemp("played"), home / "stops.tar.gz"
        worker = Worker("lakes", root / "warehouse")
        pack(play(root, worker, partial(tell, pytestconfig)), archive)
        worker.stop()
    return {case.name: case for case in unpacked(unpack(archive, home))}


def judge(case: Played, options: Mapping[str, str] | None = None, now_ms: int = 0) -> TableLosses:
    store = Store.open(str(case.checkpoint))
    said = {f"0.{option}": value for option, value in (case.options if options is None else options).items()}
    return judge_tables(
        observe(store), parse_by_id({"0": f"delta:{case.table}"}), said, Access(Store.open, store), now_ms
    )


@pytest.mark.parametrize("name", CASES)
def test_the_forecast_is_what_spark_does(name, played):
    case = played[name]
    found = judge(case).findings
    assert next((finding.spark_error for finding in found), None) == case.does["condition"], found


#: The version that is named, and the goal of the command that lets the query go on.
NAMED = {
    "a row is deleted": (4, "--skip-version 4"),
    "the table is overwritten": (4, "--skip-version 4"),
    "two versions cannot be read": (4, "--skip-version 4"),
    "a column is renamed": (4, "--skip-version 4"),
    "a column is renamed after rows": (5, "--to-version 5"),
    "the schema is overwritten, with skipChangeCommits": (5, "--to-version 5"),
    "the version of the newest batch is gone": (3, "--to-current"),
    "an unread version is gone": (3, "--to-version 4"),
    "an unread version alone is gone": (4, "--to-version 4"),
    "an option is taken away": (3, "--to-current"),
    "the table lost its newest versions": (3, "--to-latest"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_finding_names_the_version_its_file_and_the_command(name, played):
    version, goal = NAMED[name]
    finding, *_ = judge(played[name]).findings
    assert finding.message.startswith(f"_delta_log/{version:020}.json of the Delta table {played[name].table}: ")
    (command,) = finding.commands
    assert shlex.split(command) == [
        *("ckpt", "reset-offsets", str(played[name].checkpoint)),
        *("--source", f"0=delta:{played[name].table}", *goal.split(), "--sink", "TYPE[:URI]"),
    ]


#: The codes, what reverted versions are named, and the goals of the commands.
REVERTED = {
    "versions are reverted": (["CKPT267"], "versions 4 to 5 ", ["--to-version 6"]),
    "versions are reverted, with skipChangeCommits": (["CKPT267"], "versions 4 to 5 ", ["--to-version 6"]),
    "versions are reverted, with ignoreDeletes": (["CKPT267"], "versions 4 to 5 ", ["--to-version 6"]),
    "versions are reverted, with a change feed": ([], "", []),
    "a version is reverted, and one before it is not": (["CKPT267"], "version 5 ", ["--to-version 6"]),
    "the table is restored twice": (["CKPT267"], "versions 4 and 6 ", ["--to-version 7"]),
    "a RESTORE is taken back": (["CKPT267"], "version 5 ", ["--to-version 5"]),
    "an overwrite is reverted": (["CKPT267"], "version 4 ", ["--to-version 5"]),
    "an overwrite is reverted, with skipChangeCommits": ([], "", []),
    "OPTIMIZE is reverted": (["CKPT267"], "version 5 ", ["--to-version 5"]),
    "in flight, and versions are reverted": (["CKPT267"], "version 4 ", []),
    "in the first snapshot, and versions are reverted": (["CKPT267"], "version 4 ", []),
    "the table is restored": (["CKPT268"], "versions 2 to 3 ", ["--to-version 4"]),
}


@pytest.mark.parametrize("name", REVERTED)
def test_what_a_restore_reverted_is_named_with_the_way_past_it(name, played):
    codes, versions, goals = REVERTED[name]
    found = judge(played[name]).findings
    assert [finding.code for finding in found] == codes, found
    assert all(finding.message.startswith(versions) for finding in found)
    commands = [command for finding in found for command in finding.commands]
    assert [command.partition("--to-")[2].partition(" --sink")[0] for command in commands] == [
        goal.removeprefix("--to-") for goal in goals
    ]
    advice = " ".join(finding.advice or "" for finding in found)
    assert "--skip-version" not in advice and "eploy with skipChangeCommits=" not in advice


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("versions are reverted", "DELTA_SOURCE_IGNORE_DELETE"),
        ("versions are reverted, with skipChangeCommits", None),
        ("versions are reverted, with ignoreDeletes", None),
    ],
)
def test_the_gate_blocks_rows_that_the_table_does_not_hold_any_more(name, error, played, capsys):
    """Spark reads them without an error when an option lets it pass the RESTORE: rows 7 and 8 of these cases."""
    case = played[name]
    assert case.does["rows"] == ([] if error else [7, 8, 9])
    options = [word for key, value in case.options.items() for word in ("--source-option", f"0.{key}={value}")]
    code = run(["gate", str(case.checkpoint), "--json", "--source", f"0=delta:{case.table}", *options])
    document = json.loads(capsys.readouterr().out)
    assert (code, document["decision"], document["spark_error"]) == (1, "block", error)


def test_the_plan_of_the_command_is_exact(played, capsys):
    case = played["versions are reverted"]
    (finding,) = judge(case).findings
    words = shlex.split(finding.commands[0].replace("TYPE[:URI]", "kafka"))[1:]
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sink_effect"] == "exact"
    assert "Not read: versions 4 to 5, reverted by the RESTORE in version 6." in document["plan"]["notes"]


def test_what_the_table_still_holds_is_read_before_the_restore_is_passed(played):
    (finding,) = judge(played["a version is reverted, and one before it is not"]).findings
    assert finding.hint is not None
    assert finding.hint.startswith("Version 4 is unread and not reverted: the table still holds that. First start")
    assert "maxFilesPerTrigger=1 and the trigger processingTime='1 day'" in finding.hint


def test_rows_before_a_version_have_to_be_read_before_it_is_skipped(played):
    (finding,) = judge(played["rows are updated"]).findings
    assert finding.commands == () and "at least until the query has read what the table holds now" in (
        finding.hint or ""
    )


def test_later_versions_of_a_kind_are_named_with_the_first(played):
    (finding,) = judge(played["two versions cannot be read"]).findings
    assert finding.message.endswith(". So does version 6")


def test_a_long_log_is_read_in_part(played, monkeypatch):
    monkeypatch.setattr(judge_delta, "MOST_NAMED", 1)
    found = judge(played["two versions cannot be read"])
    assert found.findings == () and "later versions" in found.unknown
    monkeypatch.setattr(judge_delta, "MOST_NAMED", 500_000)
    monkeypatch.setattr(delta, "DELTA_LOG_BYTES", 10)
    found = judge(played["two versions cannot be read"])
    assert found.findings == () and "later versions" in found.unknown


def test_options_that_were_not_declared_are_not_judged(played):
    assert judge(played["a row is deleted"]).unknown == (SOURCE_OPTIONS,)
    assert judge(played["a row is deleted, with ignoreDeletes"]).unknown == ()
    assert judge(played["a row is deleted"], {"skipChangeCommits": "true"}) == replace(
        judge(played["a row is deleted, with ignoreDeletes"]),
        expires_ms=judge(played["a row is deleted"]).expires_ms,
    )


def test_a_log_of_schemas_is_not_judged_to_its_end(played):
    assert "schema changes" in judge(played["a column is added, with a log of schemas"]).unknown


def test_a_table_that_lost_versions_is_named_where_spark_notices_nothing(tmp_path, played):
    case = played["the table lost its newest versions"]
    offset = (case.checkpoint / "offsets/1").read_text().splitlines()[-1]
    for batch_id in range(2):
        commit_batch(tmp_path, batch_id, offset)
    store = Store.open(str(tmp_path))
    found = judge_tables(observe(store), parse_by_id({"0": f"delta:{case.table}"}), {}, Access(Store.open, store), 0)
    (finding,) = found.findings
    assert (finding.code, finding.spark_error) == ("CKPT257", None)
    assert "never reads the rows of versions 2 to 3" in finding.message


def test_files_outside_of_the_table_are_not_looked_for(tmp_path, played):
    case = played["files are vacuumed"]
    copy = replace(case, home=tmp_path)
    for name in ("table", "checkpoint"):
        for path in (case.home / name).rglob("*"):
            target = tmp_path / path.relative_to(case.home)
            if path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    assert judge(copy).unknown == (SOURCE_OPTIONS,)
    commit = tmp_path / "table/_delta_log" / f"{4:020}.json"
    optimized = tmp_path / "table/_delta_log" / f"{6:020}.json"
    for path in (commit, optimized):
        path.write_text(path.read_text().replace('"path":"part-', '"path":"s3://elsewhere/part-'))
    found = judge(copy)
    assert "data files" in found.unknown
    assert all("version 4" not in finding.message for finding in found.findings)


# --- when it expires -------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path, played) -> Played:
    """A query that has one version to read, in a log all of whose files are from day 100 of all time."""
    case = played["the table is optimized"]
    for path in (case.table / "_delta_log").glob("*.json"):
        os.utime(path, (100 * DAY_MS // 1_000,) * 2)
    return case


def test_the_log_keeps_a_version_for_thirty_days(table):
    assert judge(table, now_ms=101 * DAY_MS).expires_ms == 29 * DAY_MS
    assert judge(table, now_ms=500 * DAY_MS).expires_ms == 0


KEPT = {
    "interval 2 days": 1 * DAY_MS,
    "interval 1 week": 6 * DAY_MS,
    "48 HOURS": 1 * DAY_MS,
    "interval 1 day 24 hours": 1 * DAY_MS,
    "for ever": None,
    "interval 1 month": None,
}


@pytest.mark.parametrize(("text", "left_ms"), KEPT.items(), ids=KEPT)
def test_a_table_says_how_long_its_log_is_kept(tmp_path, text, left_ms):
    from deltalake import DeltaTable, Field, Schema

    Path(tmp_path / "t").mkdir()
    DeltaTable.create(
        str(tmp_path / "t"),
        Schema([Field("n", "long")]),
        configuration={"delta.logRetentionDuration": text},
        raise_if_key_not_exists=False,
    )
    os.utime(tmp_path / "t/_delta_log" / f"{0:020}.json", (100 * DAY_MS // 1_000,) * 2)
    table_id = DeltaTable(str(tmp_path / "t")).metadata().id
    offset = (
        f'{{"sourceVersion":1,"reservoirId":"{table_id}","reservoirVersion":0,"index":-1,"isStartingVersion":false}}'
    )
    for batch_id in range(2):
        commit_batch(tmp_path / "c", batch_id, offset)
    store = Store.open(str(tmp_path / "c"))
    found = judge_tables(
        observe(store),
        parse_by_id({"0": f"delta:{tmp_path / 't'}"}),
        {"0.ignoreDeletes": "false"},
        Access(Store.open, store),
        101 * DAY_MS,
    )
    assert found.expires_ms == left_ms
    assert found.unknown == (() if left_ms is not None else ("retention of the table",))


def test_a_source_with_an_offset_of_another_type_is_not_judged(tmp_path, played):
    commit_batch(tmp_path, 0, '{"t":{"0":1}}')
    store = Store.open(str(tmp_path))
    declared = parse_by_id({"0": f"delta:{played['one batch'].table}"})
    lost = judge_tables(observe(store), declared, {}, Access(Store.open, store), 0)
    assert lost == TableLosses(unknown=("data loss of source 0",))


# --- who asks --------------------------------------------------------------------------------------------------------


def test_the_gate_closes_with_the_condition_and_the_command(played, capsys):
    case = played["a row is deleted"]
    code = run(["gate", str(case.checkpoint), "--quick", "--json", "--source", f"0=delta:{case.table}"])
    document = json.loads(capsys.readouterr().out)
    assert (code, document["decision"], document["spark_error"]) == (1, "block", case.does["condition"])
    (finding,) = (item for item in document["findings"] if item["code"] == "CKPT255")
    assert "--skip-version 4" in finding["commands"][0]
    assert SOURCE_OPTIONS in document["unknown"]


def test_an_option_that_allows_it_opens_the_gate(played, capsys):
    case = played["a row is deleted, with ignoreDeletes"]
    options = ["--source-option", "0.ignoreDeletes=true"]
    assert run(["gate", str(case.checkpoint), "--quick", "--json", "--source", f"0=delta:{case.table}", *options]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["spark_error"], SOURCE_OPTIONS in document["unknown"]) == (None, False)


def foresee(case: Played, now_ms: int) -> LossForecast:
    store = Store.open(str(case.checkpoint))
    question = LagQuestion(parse_by_id({"0": f"delta:{case.table}", "1": "rate"}))
    return foresee_losses(observe(store), question, {}, Access(Store.open, store), now_ms)


def test_the_sensor_finds_what_stops_the_source_and_when_its_versions_go(played, table):
    stopped = foresee(played["a row is deleted"], 0)
    assert [finding.code for finding in stopped.findings] == ["CKPT255"]
    assert stopped.is_within(0) and stopped.unknown == (SOURCE_OPTIONS,)
    kept = foresee(table, 101 * DAY_MS)
    assert (kept.findings, kept.expires_ms) == ((), 29 * DAY_MS)
    assert not kept.is_within(28 * DAY_MS) and kept.is_within(29 * DAY_MS)


@pytest.mark.parametrize(
    ("ends", "version", "expected"),
    [
        ([(1, BASE_INDEX), (2, BASE_INDEX), (3, BASE_INDEX)], 2, 1),
        ([(1, BASE_INDEX), (2, 0), (3, BASE_INDEX)], 2, 0),
        ([(3, BASE_INDEX)], 2, None),
    ],
    ids=["it ended before the version", "one read a part of it", "every batch has read it"],
)
def test_a_batch_that_ended_before_a_version(ends, version, expected, tmp_path):
    for batch_id, (end, index) in enumerate(ends):
        commit_batch(tmp_path, batch_id, DeltaOffset("t", end, index).json)
    assert find_batch_before(Store.open(str(tmp_path)), "0", version) == expected


def test_what_is_no_position_in_a_table_is_passed_over(tmp_path):
    commit_batch(tmp_path, 0, DeltaOffset("t", 1).json)
    commit_batch(tmp_path, 1, '{"t":{"0":1}}')
    assert find_batch_before(Store.open(str(tmp_path)), "0", 2) == 0
    assert find_batch_before(Store.open(str(tmp_path)), "9", 2) is None


def test_a_batch_that_cannot_be_restored_is_none_to_go_back_to(tmp_path):
    for batch_id in range(3):
        commit_batch(tmp_path, batch_id, DeltaOffset("t", batch_id + 1).json)
    (tmp_path / "commits/1").write_text("v9")
    assert find_batch_before(Store.open(str(tmp_path)), "0", 2) == 0
