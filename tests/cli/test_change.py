"""``ckpt rollback``, ``ckpt undo`` and ``ckpt history``, from end to end in this process."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
from dataclasses import replace
from pathlib import Path

import click
import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.cli.changes.history import _how_to_end
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, purge, read_all, timestamp_ms

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "unknown"]


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    """Six batches, 0 to 5, and a backup of the first three."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(6):
        query.commit(batch_id)
        if batch_id == 2:
            take_backup(query.store, Store.open(str(tmp_path / "backups")))
    return query


def ckpt(capsys, *arguments: object) -> tuple[int, dict]:
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_change_from_its_plan_to_its_end(query, capsys):
    where = query.store.location
    by_time = ["rollback", where, "--to-timestamp", timestamp_ms(3), "--source", "0=rate-micro-batch"]
    code, planned = ckpt(capsys, *by_time)
    assert code == 0 and planned["plan"]["batch_id"] == 3 and planned["receipt"] is None
    assert planned["plan"]["notes"][-1] == "Source 0 (rate-micro-batch) is read again: 20 rows."
    assert read_all(query.store) == query.files, "a plan changes nothing"

    code, applied = ckpt(capsys, *by_time, *DO_IT)
    plan_id = applied["receipt"]["plan_id"]
    code, told = ckpt(capsys, "history", where)
    (change,) = told["changes"]
    assert (change["plan_id"], change["from_batch"], change["to_batch"]) == (plan_id, 5, 3)
    assert change["by"] == f"{getpass.getuser()}@{socket.gethostname()}"
    code, shown = ckpt(capsys, "history", where, "--plan", plan_id)
    assert len(shown["plan"]["actions"]) == applied["receipt"]["actions"]

    assert ckpt(capsys, "undo", where, *DO_IT)[0] == 0
    assert read_all(query.store) == query.files
    states = [item["state"] for item in ckpt(capsys, "history", where)[1]["changes"]]
    assert states == ["undone", "applied"]


def test_forgetting_is_shown_first(query, capsys):
    where = query.store.location
    plan_id = ckpt(capsys, "rollback", where, "--to-batch", 3, *DO_IT)[1]["receipt"]["plan_id"]
    assert ckpt(capsys, "history", where, "--forget", plan_id)[1]["objects_deleted"] is None
    assert ckpt(capsys, "history", where, "--forget", plan_id, "--execute")[1]["objects_deleted"] > 0
    code, refused = ckpt(capsys, "undo", where, *DO_IT)
    assert code == 4 and "deleted for good" in refused["error"]["message"]


def test_people_get_tables(query, capsys):
    where = query.store.location
    assert run(["rollback", where, "--to-batch", "3", *DO_IT]) == 0
    assert "without a watermark" not in capsys.readouterr().out
    assert run(["history", where]) == 0
    assert "applied" in capsys.readouterr().out


def test_a_lock_is_broken_only_by_a_word(query, capsys):
    rollback = ["rollback", query.store.location, "--to-batch", 3, *DO_IT]
    with locked(query.store, "another", "ann@host"):
        code, refused = ckpt(capsys, *rollback)
        assert code == 4 and "ann@host" in refused["error"]["message"]
        assert ckpt(capsys, *rollback, "--break-lock")[0] == 0


@pytest.mark.parametrize("below", [0, 4], ids=["kept", "purged"])
def test_back_to_a_backup_in_place_whether_its_batch_is_kept_or_purged(query, capsys, tmp_path, below):
    root = tmp_path / "backups"
    (backup,) = list_backups(Store.open(str(root)))
    purge(query, below)
    to_backup = ["rollback", query.store.location, "--to-backup", f"{root}/{backup.backup_id}"]
    code, planned = ckpt(capsys, *to_backup, "--sink", "kafka")
    coming = [action["name"] for action in planned["plan"]["actions"] if action["do"] == "copy"]
    assert (code, planned["plan"]["batch_id"]) == (0, 2)
    assert ("offsets/2" in coming, "commits/2" in coming) == (below > 0, below > 0)
    assert planned["plan"]["sink_effects"][0]["effect"] == "duplicated"
    code, applied = ckpt(capsys, *to_backup, *DO_IT)
    assert code == 0 and applied["receipt"]["status"] == "applied"
    assert observe(query.store).latest_committed == observe(query.store).latest_planned == 2
    assert ckpt(capsys, "undo", query.store.location, *DO_IT)[0] == 0
    assert read_all(query.store) == query.files


def test_a_backup_of_another_history_is_to_be_restored_elsewhere(query, capsys, tmp_path):
    root = tmp_path / "backups"
    (backup,) = list_backups(Store.open(str(root)))
    entry = query.store.read("offsets/2")
    query.store.write("offsets/2", entry.replace(b'"batchTimestampMs": 1', b'"batchTimestampMs": 2'))
    code, refused = ckpt(capsys, "rollback", query.store.location, "--to-backup", f"{root}/{backup.backup_id}")
    assert code == 4 and refused["error"]["code"] == "BATCH_NOT_RESTORABLE"
    assert f"ckpt restore {root} {backup.backup_id} --to" in refused["error"]["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--to-batch", 1, "--to-timestamp", "2026-01-01"],
        ["--to-timestamp", "soon"],
        ["--to-offsets", "{"],
        ["--to-backup", "no-root"],
        ["--to-backup", "root/id", "--to-batch", 1],
    ],
)
def test_what_is_no_target_is_a_usage_error(query, arguments):
    assert run(["rollback", query.store.location, *map(str, arguments)]) == 2


def test_the_plan_of_an_undo_prints_how_a_file_sink_forgets_what_the_undo_drops(tmp_path, capsys):
    query, log = FakeQuery(Store.open(str(tmp_path / "orders"))), tmp_path / "table/_spark_metadata"
    log.mkdir(parents=True)
    sink = f"file:{tmp_path / 'table'}"

    def run_batches(*batches: int) -> None:
        for batch_id in batches:
            query.commit(batch_id)
            (log / str(batch_id)).write_text("v1")

    run_batches(0, 1, 2, 3)
    accepted = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "stops", "--json"]
    assert run(["rollback", query.store.location, "--to-batch", "1", "--sink", sink, *accepted]) == 0
    run_batches(2, 3, 4)
    capsys.readouterr()
    assert run(["undo", query.store.location, "--sink", sink, *accepted]) == 0
    (effect,) = json.loads(capsys.readouterr().out)["plan"]["sink_effects"]
    command = shlex.split(effect["remedy"].partition("trim the log of the sink: ckpt ")[2])
    assert (effect["effect"], command[0], sorted(path.name for path in log.iterdir())) == (
        "stops",
        "rollback",
        list("01234"),
    )
    assert run([*command, "--i-know-it-is-stopped", "--quiet-period", "0"]) == 0
    assert sorted(path.name for path in log.iterdir()) == list("0123")


def test_an_interrupted_change_has_the_command_that_completes_it(query):
    plan = replace(make_rollback(Stores(query.store), 2), location="/data/my ck")
    with click.Context(cli.commands["history"], obj=("history", "any", "--undo-to", "/my undo", "--json")):
        said = _how_to_end(plan)
    assert said.startswith(f"The rollback {plan.plan_id} is interrupted, unless its process still runs.")
    begun, taken_back = (shlex.split(part) for part in said.partition("--execute: ")[2].split("; this takes it back: "))
    assert begun == ["ckpt", "rollback", "/data/my ck", "--to-batch", "2", "--undo-to", "/my undo"]
    assert taken_back == ["ckpt", "undo", "/data/my ck", "--undoes", plan.plan_id, "--undo-to", "/my undo"]


def test_a_batch_that_was_in_flight_at_the_time_is_named_in_a_warning(query, capsys):
    where, at_ms = query.store.location, timestamp_ms(3)
    by_time = ["rollback", where, "--to-timestamp", at_ms]
    later = ckpt(capsys, *by_time)[1]["plan"]
    (warning,) = [text for text in later["warnings"] if "was committed after it" in text]
    assert later["batch_id"] == 3 and warning.startswith("Batch 3, which is kept, began before ")
    assert warning.endswith("go back to batch 2: --to-batch 2.")
    os.utime(Path(where.removeprefix("file://")) / "commits/3", (at_ms / 1000, at_ms / 1000))
    before = ckpt(capsys, *by_time)[1]["plan"]
    assert [text for text in before["warnings"] if "was committed after it" in text] == []
    told = ckpt(capsys, "rollback", where, "--to-batch", 3)[1]["plan"]
    assert [text for text in told["warnings"] if "was committed after it" in text] == []
