"""Delta sources that stop at every start go on with the commands that the gate gives, and read all but what is skipped.

Real Spark, real Delta tables; run by `make sinks`.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import read_all
from tests.sinks.worker import Worker
from tests.sources.delta_stops import CASES, Lose, Played, bring_about, start, take

#: What the query reads after it was mended: everything that it had not read, but for what the commands skip.
READ: dict[str, list[Any]] = {
    "a row is deleted": [9],
    "a row is deleted, with startingVersion": [9],
    "a partition is deleted": [9],
    "the table is overwritten": [9],
    "the table is restored": [9],
    "versions are reverted": [9],
    "versions are reverted, with skipChangeCommits": [9],
    "the table is restored twice": [9],
    "a RESTORE is taken back": [7, 9],
    "an overwrite is reverted": [9],
    "OPTIMIZE is reverted": [9],
    "the schema is overwritten": [],
    "the partitions are overwritten": [],
    "columns are mapped, and one renamed": [9],
    "a column is renamed": [9],
    "a column is renamed, and nothing comes": [],
    "a column is renamed after rows": [9],
    "a column is dropped": [9],
    "a change feed is switched off and on": [9],
    "the version of the newest batch is gone": [9],
    "an unread version is gone": [10],
    "an unread version alone is gone": [10],
    "the table lost its newest versions": [],
    "files are vacuumed": [],
    "an option is taken away": [9],
    "one batch, and a row is deleted": [9],
}
#: Where Spark stops after it has planned the batch.
PLANNED = {"files are vacuumed", "a change feed is switched off and on"}
#: Each of these is mended by the very option that the finding names.
BY_OPTION = {
    "rows are updated": ({"skipChangeCommits": "true"}, [7, 9]),
    "two versions cannot be read": ({"skipChangeCommits": "true"}, [7, 9]),
    "one batch, and all that was read is gone": ({"startingVersion": "3"}, [9]),
    "one batch with startingVersion, which is gone": ({"startingVersion": "3"}, [9]),
    "an unread version alone is gone": ({"failOnDataLoss": "false"}, [10]),
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    worker = Worker("lakes", tmp_path_factory.mktemp("lakes") / "warehouse")
    yield worker
    worker.stop()


def gate(case: Played, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    options = [text for option, value in case.options.items() for text in ("--source-option", f"0.{option}={value}")]
    capsys.readouterr()
    run(["gate", str(case.checkpoint), "--quick", "--json", "--source", f"0=delta:{case.table}", *options])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def carry_out(command: str) -> None:
    words = shlex.split(command.replace("TYPE[:URI]", "kafka"))
    accepted = ["--accept-sink", "skipped", "--accept-sink", "duplicated"]
    assert words[0] == "ckpt"
    assert run([*words[1:], "--execute", "--i-know-it-is-stopped", "--quiet-period", "0", *accepted]) == 0


@pytest.mark.parametrize("name", READ)
def test_the_command_of_the_finding_lets_the_query_go_on(name, worker, tmp_path, capsys):
    case = bring_about(name, tmp_path, worker)
    store = Store.open(str(case.checkpoint))
    said = gate(case, capsys)
    before = read_all(store)
    shutil.copytree(case.checkpoint, tmp_path / "before")
    assert start(case, worker, case.options)["condition"] == said["spark_error"], "as the gate has said"
    if said["spark_error"] is None:  # it read what was reverted
        shutil.rmtree(case.checkpoint)
        (tmp_path / "before").rename(case.checkpoint)
    assert (read_all(store) != before) == (name in PLANNED)
    for _ in range(3):
        if not (
            findings := [item for item in gate(case, capsys)["findings"] if item["code"][:6] in ("CKPT25", "CKPT26")]
        ):
            break
        carry_out(findings[0]["commands"][0])
    assert start(case, worker, case.options) == {"rows": READ[name], "condition": None}


@pytest.mark.parametrize("name", BY_OPTION)
def test_the_option_of_the_finding_lets_the_query_go_on(name, worker, tmp_path, capsys):
    options, rows = BY_OPTION[name]
    case = bring_about(name, tmp_path, worker)
    (finding,) = (item for item in gate(case, capsys)["findings"] if item["code"].startswith("CKPT25"))
    option, value = next(iter(options.items()))
    assert f"{option}={value}" in finding["hint"]
    done = start(case, worker, {**case.options, **options})
    assert (sorted(done["rows"]), done["condition"]) == (rows, None)


def test_an_undo_lets_it_stop_again(worker, tmp_path, capsys):
    case = bring_about("a row is deleted", tmp_path, worker)
    store = Store.open(str(case.checkpoint))
    before = read_all(store)
    carry_out(gate(case, capsys)["findings"][0]["commands"][0])
    assert read_all(store) != before
    carry_out(f"ckpt undo {case.checkpoint}")
    assert read_all(store) == before
    assert start(case, worker, case.options)["condition"] == CONDITION


def test_killed_between_its_two_steps_it_leaves_the_query_where_it_was(worker, tmp_path, capsys):
    case = bring_about("a row is deleted", tmp_path, worker)
    command = gate(case, capsys)["findings"][0]["commands"][0]
    shutil.copytree(case.checkpoint, tmp_path / "copy")
    carry_out(command.replace(str(case.checkpoint), str(tmp_path / "copy")))
    shutil.copy(tmp_path / "copy/offsets/0", case.checkpoint / "offsets/0")
    (case.checkpoint / "offsets/.0.crc").unlink(missing_ok=True)
    assert start(case, worker, case.options) == {"rows": [], "condition": CONDITION}, "the entry before alone is new"
    carry_out(command)
    assert start(case, worker, case.options) == {"rows": [9], "condition": None}


CONDITION = "DELTA_SOURCE_IGNORE_DELETE"


def test_another_table_is_begun_anew(worker, tmp_path, capsys):
    case = bring_about("the table is created again, and is long", tmp_path, worker)
    (finding,) = (item for item in gate(case, capsys)["findings"] if item["code"] == "CKPT259")
    new = tmp_path / "new"
    words = shlex.split(finding["commands"][0].replace("NEW_LOCATION", str(new)).replace("TYPE[:URI]", "kafka"))
    assert run([*words[1:], "--execute", "--accept-sink", "unknown"]) == 0
    (case.checkpoint.rename(tmp_path / "old"), new.rename(case.checkpoint))
    assert start(case, worker, {}) == {"rows": [100, 101, 102, 103, 104, 105, 106], "condition": None}


def test_every_case_that_stops_and_can_be_mended_is_mended():
    assert {*READ, *BY_OPTION} <= CASES.keys()


# --- a new checkpoint that starts where another query is -------------------------------------------------------------


def test_a_seed_begins_right_after_the_other_query(worker, tmp_path, capsys):
    case = bring_about("the table is optimized", tmp_path, worker)
    new = tmp_path / "new"
    words = ["seed", str(new), "--from", str(case.checkpoint), "--source", "0=delta", "--sink", "kafka"]
    assert run([*words, "--execute"]) == 0
    newest = max(int(path.name) for path in (case.checkpoint / "commits").iterdir() if path.name.isdigit())
    assert start(case, worker, {}) == {"rows": [9], "condition": None}
    (case.checkpoint.rename(tmp_path / "old"), new.rename(case.checkpoint))
    assert start(case, worker, {}) == {"rows": [9], "condition": None}
    assert (case.checkpoint / "commits" / str(newest + 1)).exists(), "with a batch id after those of the other query"
    assert start(case, worker, {}) == {"rows": [], "condition": None}


# --- how far it is behind --------------------------------------------------------------------------------------------

CHECKPOINTS = {"classic": "", "v2": " TBLPROPERTIES ('delta.checkpointPolicy'='v2')"}


@pytest.mark.parametrize("policy", CHECKPOINTS)
def test_the_lag_is_what_the_table_has_added(policy, worker, tmp_path, capsys):
    case = Played(tmp_path, "rows are updated, with skipChangeCommits")
    take(case, worker, (f"CREATE TABLE {{t}} (n BIGINT, day STRING) USING delta{CHECKPOINTS[policy]}", insert(1, 2)))
    for numbers in ((3, 4), (5, 6)):  # two batches
        assert start(case, worker, case.options)["condition"] is None
        take(case, worker, (insert(*numbers),))
    assert start(case, worker, case.options) == {"rows": [5, 6], "condition": None}
    take(case, worker, (insert(7), insert(8, 9), "OPTIMIZE {t}", "DELETE FROM {t} WHERE n = 1", Lose((0, 1))))
    parts = [path.name for path in (case.table / "_delta_log").glob("*.checkpoint*")]
    assert any(len(name.split(".")) == 4 for name in parts) == (policy == "v2"), "with an id of its own"
    capsys.readouterr()
    assert run(["lag", str(case.checkpoint), "--json", "--source", f"0=delta:{case.table}"]) == 0
    (lag,) = json.loads(capsys.readouterr().out)["sources"]
    added = [file for version in (4, 5, 7) for file in data_files(case.table, version)]
    assert (lag["unit"], lag["total"], lag["files"]) == ("versions", 3, len(added))
    assert lag["bytes"] == sum((case.table / name).stat().st_size for name in added)
    assert [item["code"] for item in gate(case, capsys)["findings"] if item["severity"] == "error"] == []
    assert start(case, worker, case.options) == {"rows": [7, 8, 9], "condition": None}


def insert(*numbers: int) -> str:
    return "INSERT INTO {t} VALUES " + ", ".join(f"({number}, 'a')" for number in numbers)


def data_files(table: Path, version: int) -> list[str]:
    """The files that a version of the log adds with rows that are new."""
    lines = (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    added = [json.loads(line)["add"] for line in lines if "add" in json.loads(line)]
    return [file["path"] for file in added if file["dataChange"]]
