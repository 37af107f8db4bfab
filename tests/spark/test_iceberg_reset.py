"""What stops a query of real Spark over a real Iceberg table is mended by the command that its finding prints.

Run by `make sinks`. Each case of the stops is brought about, mended, and started with each trigger; the rows are compared.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from tests.sinks.worker import Worker
from tests.sources.iceberg_stops import BOTH, CASES, FUTURE_MS, TRIGGERS, Table, bring_about

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

#: What is read after the repair. 9 is appended where a stop is the newest snapshot.
READ = {
    "deleted": [3, 4],
    "deleted_at_the_end": [9],
    "overwritten": [4],
    "overwritten_and_deletes_skipped": [4],
    "merged": [9],
    "deleted_before": [4],
    "initial_expired": [3],
    "initial_at_the_end": [],
    "position_expired": [3],
    "long_expired": [4, 5],
    "position_expired_in_flight": [3],
    "rolled_back": [],
    "rolled_back_and_appended": [3],
    "rolled_back_and_expired": [3],
    "tagged": [4],
    "recreated": [3],
    "in_flight_over_a_delete": [3, 4],
    "in_flight_before_a_delete": [3, 9],
    "in_flight_rolled_back": [],
}
#: A change that is carried out at once; the sink is one that keeps nothing.
CARRIED_OUT = "--execute --i-know-it-is-stopped --quiet-period 0 --json"


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    worker = Worker("lakes", tmp_path_factory.mktemp("stops") / "warehouse")
    yield worker
    worker.stop()


def ckpt(capsys: pytest.CaptureFixture[str], text: str) -> tuple[int, dict, str]:
    """Run a command; its exit code, what it prints, and what it says of an error."""
    code = run([*shlex.split(text)[1:], *(["--json"] if "--json" not in text else [])])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else {}, captured.err


def gate(capsys, checkpoint: Path, table: Table, trigger: str, options: dict[str, str]) -> dict:
    """The forecast of the restart."""
    said = " ".join(f"--source-option 0.{key}={value}" for key, value in options.items())
    source = f"0=iceberg:{table.location}"
    _, document, error = ckpt(
        capsys, f"ckpt gate {checkpoint} --source {source} --trigger {trigger} --spark-version 4.1 --sink noop {said}"
    )
    assert document, error
    return document


def mend(capsys, table: Table, checkpoint: Path, trigger: str, options: dict[str, str]) -> list[int]:
    """Do what the gate advises until it has nothing to say; the rows that were read on the way."""
    rows: list[int] = []
    for _ in range(6):
        found = [item for item in gate(capsys, checkpoint, table, trigger, options)["findings"] if item["commands"]]
        if not found:
            return rows
        command = found[0]["commands"][0].replace("--sink TYPE[:URI]", "--sink noop")
        code, _, error = ckpt(capsys, f"{command} {CARRIED_OUT} --accept-sink skipped --accept-sink duplicated")
        if code and "Append to the table" in error:
            table.append(9)
        elif code:
            assert "streaming-max-rows-per-micro-batch=1" in error, error
            limited = {**options, "streaming-max-rows-per-micro-batch": "1"}
            outcome = table.read(checkpoint, "processingTime", **limited)
            assert re.search(r"Cannot process (delete|overwrite) snapshot", outcome["message"])
            rows += outcome["rows"]
    raise AssertionError(f"the gate still finds {found}")


@pytest.mark.parametrize("name", CASES)
def test_a_stop_is_foretold_and_mended_by_the_printed_command(worker, tmp_path, capsys, name):
    table, options = bring_about(name, worker, tmp_path / name)
    for trigger in TRIGGERS:
        if "9" in str(READ.get(name)) and trigger != TRIGGERS[0]:
            table, options = bring_about_again(name, worker, tmp_path, trigger)
        before = table.fork(f"before-{trigger}")
        foretold = gate(capsys, before, table, trigger, dict(options))
        outcome = table.read(table.fork(f"stopped-{trigger}"), trigger, **options)
        assert foretold["spark_error"] == outcome["error"]
        mended = table.fork(f"mended-{trigger}")
        rows = mend(capsys, table, mended, trigger, dict(options))
        outcome = table.read(mended, trigger, **options)
        assert outcome["error"] is None, (trigger, outcome)
        if name in READ:  # once runs a planned batch alone
            later = mend(capsys, table, mended, "processingTime", dict(options))
            rest = table.read(mended, "processingTime", **options)
            assert rest["error"] is None
            assert sorted([*rows, *outcome["rows"], *later, *rest["rows"]]) == READ[name], trigger
        elif name not in ("from_the_future", "recreated_and_empty"):
            assert foretold["decision"] != "block" and not rows


def bring_about_again(name: str, worker: Worker, tmp_path: Path, trigger: str):
    """The case in a table of its own, as one was appended to."""
    again = f"{name}_{trigger}"
    table = Table(worker, tmp_path / again, f"stops_{again}")
    table.home.mkdir()
    table.create()
    return table, CASES[name](table)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_seeded_query_reads_on_from_its_position_whatever_the_trigger(worker, tmp_path, capsys, trigger):
    table, _ = bring_about_again("initial_expired", worker, tmp_path, f"seed_{trigger}")
    seeded = tmp_path / "seeded"
    code, _, error = ckpt(
        capsys,
        f"ckpt seed {seeded} --from {table.checkpoint} --source 0=iceberg --sink noop --execute --accept-sink unknown",
    )
    assert code == 0, error
    outcome = table.read(seeded, trigger)
    assert (outcome["rows"], outcome["error"]) == ([3], None)


def test_a_source_goes_to_snapshots_and_times_and_undo_puts_it_back(worker, tmp_path, capsys):
    table = Table(worker, tmp_path, "goes")
    table.create()
    for number in range(1, 6):
        table.append(number)
    assert table.read()["rows"] == [1, 2, 3, 4, 5]
    made = {item["snapshot-id"]: item["timestamp-ms"] for item in table.metadata["snapshots"]}
    goals = {
        f"--to-snapshot {table.snapshots[2]}": [3, 4, 5],
        f"--to-datetime {made[table.snapshots[4]]}": [4, 5],
        "--to-earliest": [1, 2, 3, 4, 5],
        "--to-latest": [],
        f"--skip-snapshot {table.snapshots[4]}": None,
    }
    for number, (goal, rows) in enumerate(goals.items()):
        for trigger in TRIGGERS:
            moved = table.fork(f"moved-{number}-{trigger}")
            command = f"ckpt reset-offsets {moved} --source 0=iceberg:{table.location} {goal} --sink noop {CARRIED_OUT}"
            code, _, error = ckpt(capsys, command)
            if rows is None:
                assert code == 4 and "has passed" in error
                continue
            assert code == 0, error
            assert table.read(moved, trigger)["rows"] == rows, (goal, trigger)
            if rows:  # it is at the newest already, so going there changes nothing
                code, _, error = ckpt(capsys, f"ckpt undo {moved} {CARRIED_OUT} --sink noop")
                assert code == 0, error
                assert table.read(moved, trigger)["rows"] == []


# --- random stories --------------------------------------------------------------------------------------------------

STORIES = 30


def expire_some(table: Table, chance: random.Random) -> None:
    """Expire some of the oldest snapshots, the current one never."""
    kept = {item["snapshot-id"] for item in table.metadata["snapshots"]} - {table.current}
    there = [number for number, snapshot_id in table.snapshots.items() if snapshot_id in kept]
    if there:
        table.expire(*there[: chance.randint(1, len(there))])


def roll_back_somewhere(table: Table, chance: random.Random) -> None:
    """Roll back to one that the current snapshot comes from."""
    parents = {item["snapshot-id"]: item.get("parent-snapshot-id") for item in table.metadata["snapshots"]}
    at, ancestors = parents.get(table.current), set()
    while at in parents:
        ancestors.add(at)
        at = parents[at]
    there = [number for number, snapshot_id in table.snapshots.items() if snapshot_id in ancestors]
    if there:
        table.roll_back(chance.choice(there))


#: What happens to a table, each as often as it is named.
CHANGES: dict[str, Callable[[Table, random.Random], object]] = {
    "append": lambda table, chance: table.append(max(table.snapshots) + 1),
    "read": lambda table, chance: table.read(**BOTH),
    "delete": lambda table, chance: table.delete(chance.choice(list(table.snapshots))),
    "overwrite": lambda table, chance: table.sql("INSERT OVERWRITE {t} VALUES (0, 'b')"),
    "rewrite": lambda table, chance: table.sql(
        "CALL lake.system.rewrite_data_files(table => '{k}', options => map('rewrite-all', 'true'))"
    ),
    "expire": expire_some,
    "back": roll_back_somewhere,
}
OFTEN = {"append": 4, "read": 2}


def tell(table: Table, chance: random.Random) -> dict[str, str]:
    """Change a new table at random while a query reads it, and stop it somewhere; the options of the next start."""
    table.append(1)
    table.append(2)
    table.read(**BOTH)
    names = [name for name in CHANGES for _ in range(OFTEN.get(name, 1))]
    for _ in range(chance.randint(2, 7)):
        CHANGES[chance.choice(names)](table, chance)
    if chance.random() < 0.3 and len(list((table.checkpoint / "commits").glob("[0-9]*"))) > 1:
        table.take_back_commit()
    options = {name: chance.choice(("true", "false")) for name in BOTH}
    return options | ({"stream-from-timestamp": FUTURE_MS} if chance.random() < 0.1 else {})


@pytest.mark.parametrize("seed", range(STORIES))
def test_what_stops_a_query_after_a_random_story_is_foretold(worker, tmp_path, capsys, seed):
    chance = random.Random(seed)
    table = Table(worker, tmp_path, f"story_{seed}")
    table.create()
    options = tell(table, chance)
    for trigger in TRIGGERS:
        started = table.fork(f"started-{trigger}")
        foretold = gate(capsys, started, table, trigger, options)
        outcome = table.read(started, trigger, **options)
        assert foretold["spark_error"] == outcome["error"], (trigger, outcome, table.metadata["snapshots"])
        if outcome["error"]:
            told = [item["message"] for item in foretold["findings"] if item["spark_error"]]
            assert any(outcome["message"] in text for text in told), (trigger, outcome, told)
