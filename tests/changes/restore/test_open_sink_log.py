"""A fork into a new directory of a file sink: the restore begins its log, and can be killed at any point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.open_sink_log import find_new
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import CheckpointError, PlanError, StalePlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore

FORK_ID = "0b1f3a9c-0000-4000-8000-000000000001"
ENTRIES = {"_spark_metadata/9.compact", "_spark_metadata/10", "_spark_metadata/11"}


@pytest.fixture
def root(goldens, tmp_path: Path) -> Store:
    """The root with a backup of batch 11."""
    found = Store.open(str(tmp_path / "backups"))
    take_backup(Store.open(str(goldens["4.3.0/file-to-parquet-12"] / "checkpoint")), found)
    return found


class Fork:
    """A fork at ``new/ck``, whose sink is ``new/out``; ``fault`` is of both stores."""

    def __init__(self, root: Store, home: Path, fault: Fault | None = None) -> None:
        self.root, self.fault = root, fault or Fault()
        self.target, self.out = (self._open(home / "new" / name) for name in ("ck", "out"))
        self.sinks = [(Sink("file", self.out.location), self.out)]

    def _open(self, path: Path) -> Store:
        store = Store.open(str(path))
        faulty = FaultyStore(store.fs, store.root, store.location)
        faulty.fault = self.fault
        return faulty

    def plan(self, query_id: str | None = FORK_ID) -> Plan:
        return make_restore(self.root, find_backup(self.root), self.target, query_id, sinks=self.sinks)

    def carry_out(self, plan: Plan) -> None:
        restore(plan, self.root, self.target, by="me", sinks=self.sinks)


def test_the_log_is_whole_before_the_checkpoint_is(root, tmp_path):
    fork = Fork(root, tmp_path)
    plan = fork.plan()
    assert (plan.sink_effect, plan.sink, plan.writes("sink")) == ("exact", fork.out.location, ENTRIES)
    assert {step.place for step in plan.actions[: len(ENTRIES)]} == {"sink"}
    assert plan_from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    fork.carry_out(plan)
    assert set(fork.out.find()) == ENTRIES
    assert fork.target.find().keys() == plan.writes()
    assert fork.plan().plan_id == plan.plan_id, "it is known again"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("part-00000-x.parquet", b"PAR1"),
        ("day=1/part-00000-x.parquet", b"PAR1"),
        ("_spark_metadata/12", b"v1"),
        ("_spark_metadata/9.compact", b"v1\n{}"),
    ],
)
def test_a_directory_that_has_anything_else_is_left_alone(root, tmp_path, name, content):
    fork = Fork(root, tmp_path)
    planned = fork.plan()
    fork.out.create(name, content)
    assert fork.plan().sink == "" and fork.plan().sink_effect != "exact"
    with pytest.raises(StalePlanError, match="was empty when the plan was made"):
        fork.carry_out(planned)
    assert not fork.target.find() and set(fork.out.find()) == {name}


def test_a_query_that_keeps_its_id_has_its_own_sink(root, tmp_path):
    """A move goes on in the directory of the original, and an empty one is not that."""
    with pytest.raises(PlanError, match="has no log of batches"):
        Fork(root, tmp_path).plan(None)


def test_without_the_sink_nothing_is_restored(root, tmp_path):
    fork = Fork(root, tmp_path)
    plan = fork.plan()
    fork.sinks = []
    with pytest.raises(PlanError, match="which was not given to open"):
        fork.carry_out(plan)
    assert not fork.target.find()


@pytest.mark.sweep
@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_call_the_same_command_completes_it(root, tmp_path, after):
    counted = Fault()
    reference = Fork(root, tmp_path / "reference", counted)
    reference.carry_out(reference.plan())
    for at in sorted({*range(1, 12), *range(12, counted.calls, max(1, counted.calls // 8)), counted.calls}):
        home = tmp_path / str(at)
        broken = Fork(root, home, Fault(at, after=after))
        with pytest.raises(CheckpointError, match="injected"):
            broken.carry_out(broken.plan())
        again = Fork(root, home)
        again.carry_out(again.plan())
        assert set(again.out.find()) == ENTRIES, at
        assert again.target.find().keys() == reference.target.find().keys(), at


def test_half_written_entries_are_cleared_away(root, tmp_path):
    fork = Fork(root, tmp_path)
    plan = fork.plan()
    fork.out.create("_spark_metadata/.10.0b1f3a9c-0000-4000-8000-000000000001.tmp", b"v")
    assert find_new(fork.sinks, 11) is fork.out
    fork.carry_out(plan)
    assert set(fork.out.find()) == ENTRIES


def test_the_command_needs_no_other_option(root, tmp_path, capsys):
    checkpoint, sink = str(tmp_path / "new/ck"), f"file:{tmp_path}/new/out"
    command = ["restore", root.location, "--new-query-id", "--to", checkpoint, "--sink", sink]
    assert run([*command, "--execute", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["sink_effect"], done["receipt"]["actions"]) == ("exact", len(done["plan"]["actions"]))
    gate = ["gate", checkpoint, "--sink", sink, "--json"]
    assert run(gate) in (0, 1)
    assert not [item for item in json.loads(capsys.readouterr().out)["findings"] if item["code"].startswith("CKPT14")]
