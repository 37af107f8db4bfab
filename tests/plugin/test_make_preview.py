"""Making the plan of a preview: the run that it starts makes the very same plan, or refuses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.plan.expectation import expectation_of
from airflow_provider_ckpt.checkpoint.listing import list_tree
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.checkpoint import CheckpointResetOffsetsOperator, CheckpointRollbackOperator
from airflow_provider_ckpt.plugin import read_batches
from airflow_provider_ckpt.plugin.make_preview import make_preview
from airflow_provider_ckpt.plugin.settings import Settings
from airflow_provider_ckpt.sources.kafka import resolve_goal
from airflow_provider_ckpt.sources.kafka.extent import Partition
from airflow_provider_ckpt.storage.roots import OutsideRootsError, parse_roots
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import ForgedBroker
from tests.plugin.kafka_checkpoints import FIRST_MS, MINUTE_MS, write_checkpoint

OPERATORS = {"rollback": CheckpointRollbackOperator, "reset": CheckpointResetOffsetsOperator}


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(
        parse_roots(str(tmp_path / "lake")),
        backup_roots=parse_roots(str(tmp_path / "backups")),
        brokers=frozenset({"broker:9092"}),
    )


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    (tmp_path / "backups").mkdir()
    place = write_checkpoint(tmp_path / "lake" / "orders", 6)
    take_backup(Store.open(str(place)), Store.open(str(tmp_path / "backups")))
    return place


def plan_of_the_run(kind: str, conf: dict) -> object:
    """The plan that the task ``plan`` of the DAG makes of the conf of its run."""
    arguments = {name: value for name, value in conf.items() if name != "expected_plan"}
    return OPERATORS[kind](task_id="plan", plan_only=True, **arguments).planned()[0]


ROLLBACKS = {
    "a batch": ({"to_batch": 2}, 2),
    "a time": ({"to_timestamp": str(FIRST_MS + 3 * MINUTE_MS + 1)}, 3),
    "offsets": ({"to_offsets": {"0": {"orders": {"0": 25}}}, "sources": "0=kafka"}, 1),
    "types as a link has them": ({"to_batch": 1, "sources": '{"0": "kafka"}', "sink": "kafka"}, 1),
    "the newest batch": ({"to_batch": 5}, 5),
}


@pytest.mark.parametrize("case", ROLLBACKS)
def test_the_run_makes_the_plan_that_was_previewed(checkpoint, settings, case):
    asked, batch_id = ROLLBACKS[case]
    before = list_tree(Store.open(str(checkpoint.parents[1])))
    preview = make_preview("rollback", str(checkpoint), asked, settings)
    assert preview.plan.batch_id == batch_id and preview.conf["to_batch"] == batch_id
    made = plan_of_the_run("rollback", preview.conf)
    assert expectation_of(made) == preview.conf["expected_plan"]
    assert {*made.warnings} <= {*preview.plan.warnings}, "a person reads all that the run will say"
    assert list_tree(Store.open(str(checkpoint.parents[1]))) == before, "nothing was written, no lock was taken"


def test_a_backup_whose_files_come_back(checkpoint, settings, tmp_path):
    (checkpoint / "commits" / "5").unlink()
    (checkpoint / "offsets" / "4").unlink()
    (backup_id,) = (path.name for path in (tmp_path / "backups").iterdir())
    asked = {"to_backup": f"{tmp_path / 'backups'}/{backup_id[:12]}"}
    preview = make_preview("rollback", str(checkpoint), asked, settings)
    assert preview.conf["to_backup"] == f"{tmp_path / 'backups'}/{backup_id}", "its whole name"
    assert expectation_of(plan_of_the_run("rollback", preview.conf)) == preview.conf["expected_plan"]


def test_a_batch_that_is_purged_becomes_its_backup_without_a_root_beside_it(checkpoint, settings, tmp_path):
    (checkpoint / "commits" / "5").unlink()
    (checkpoint / "offsets" / "4").unlink()
    preview = make_preview("rollback", str(checkpoint), {"to_batch": 5, "backup_root": f"{tmp_path}/backups"}, settings)
    assert "to_backup" in preview.conf and "backup_root" not in preview.conf
    assert expectation_of(plan_of_the_run("rollback", preview.conf)) == preview.conf["expected_plan"]


@pytest.mark.parametrize("roots", ["lake", "lake/orders, lake/out"])
def test_who_has_read_what_is_dropped_is_said_and_searched_for_below_the_roots(checkpoint, tmp_path, roots):
    out = tmp_path / "lake" / "out"
    (out / "_spark_metadata").mkdir(parents=True)
    for batch_id in range(6):
        status = {"path": f"file://{out}/{batch_id}", "size": 1, "isDir": False, "modificationTime": 1}
        status |= {"blockReplication": 1, "blockSize": 1, "action": "add"}
        (out / "_spark_metadata" / str(batch_id)).write_text(f"v1\n{json.dumps(status)}")
    settings = Settings(parse_roots(", ".join(f"{tmp_path}/{root}" for root in roots.split(", "))))
    asked = {"to_batch": 2, "sink": f"file:{out}", "trim_sink_log": True}
    plan = make_preview("rollback", str(checkpoint), asked, settings).plan
    (told,) = (warning for warning in plan.warnings if warning.startswith("Who has read what batches 3 to 5 wrote"))
    assert ("is not below a root that the pages may read" in told) == (roots != "lake")


@dataclass
class GrowingBroker(ForgedBroker):
    """A topic that grows by one record each time that somebody asks for its end."""

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Where each ends now."""
        first, end = self.spans["orders"][0]
        self.spans["orders"] = dict.fromkeys((0, 1), (first, end + 1))
        return super().latest(partitions)


@pytest.fixture
def broker(monkeypatch) -> None:
    forged = GrowingBroker({"orders": dict.fromkeys((0, 1), (5, 60))})
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda servers, config: forged)


RESETS = {
    "earliest": {"to_earliest": True},
    "the end of a topic that grows": {"to_latest": True},
    "a distance": {"shift_by": -20},
    "some partitions": {"shift_by": -20, "topics": ["orders:0"]},
    "offsets": {"to_offsets": {"orders": {"0": 10}}},
    "staying": {"to_current": True},
}


@pytest.mark.parametrize("case", RESETS)
def test_a_reset_is_to_the_offsets_that_were_found(checkpoint, settings, broker, case):
    asked = {"source": "0=kafka:broker:9092", "sink": "kafka", **RESETS[case]}
    preview = make_preview("reset", str(checkpoint), asked, settings)
    assert expectation_of(plan_of_the_run("reset", preview.conf)) == preview.conf["expected_plan"]
    assert ("to_offsets" in preview.conf) == (case != "staying")


REFUSED: dict[str, tuple[str, dict[str, object], str]] = {
    "two goals": ("rollback", {"to_batch": 1, "to_timestamp": "2026-01-01"}, "give exactly one of"),
    "a batch that is not there": ("rollback", {"to_batch": 77}, "77"),
    "no time": ("rollback", {"to_timestamp": "soon"}, "soon"),
    "a sink of somebody else": ("rollback", {"to_batch": 1, "sink": "file:/etc"}, "/etc: this location is not below"),
    "a backup of somebody else": ("rollback", {"to_backup": "/etc/x"}, "/etc: this location is not below"),
    "a root of somebody else": ("rollback", {"to_batch": 1, "backup_root": "s3://o/x"}, "s3://o/x: this location"),
    "a type of nothing": ("rollback", {"to_batch": 1, "sources": "0=nothing"}, "is no type of a source"),
    "types that are no JSON": ("rollback", {"to_batch": 1, "sources": "{"}, "types of sources are given as 0=kafka"),
    "a broker of somebody else": ("reset", {"source": "0=kafka:other:9092", "to_earliest": True}, "may not ask other"),
    "one of two brokers": ("reset", {"source": "0=kafka:broker:9092,o:1", "to_latest": True}, "may not ask o:1"),
    "a connection of somebody else": (
        "reset",
        {"source": "0=kafka:broker:9092", "kafka_conn_id": "x", "to_earliest": True},
        "may not ask conn=x",
    ),
    "a table of somebody else": ("reset", {"source": "0=delta:/etc", "to_version": 1}, "/etc: this location"),
    "no source": ("reset", {"to_earliest": True}, "the source is ID=TYPE:PLACE"),
    "no snapshot": ("reset", {"source": "0=kafka:broker:9092", "to_snapshot": "x"}, "'x' is no id of a snapshot"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why_and_connects_to_nothing(checkpoint, settings, monkeypatch, case):
    kind, asked, said = REFUSED[case]
    monkeypatch.setattr(resolve_goal, "KafkaBroker", lambda *_: pytest.fail("a broker was asked"))
    with pytest.raises(CheckpointError) as error:
        make_preview(kind, str(checkpoint), asked, settings)
    assert said in str(error.value)


def test_a_checkpoint_outside_of_the_roots_is_not_there(tmp_path, settings):
    with pytest.raises(OutsideRootsError):
        make_preview("rollback", str(tmp_path / "other"), {"to_batch": 1}, settings)


def test_logs_that_are_too_long_are_for_the_command(checkpoint, settings, monkeypatch):
    monkeypatch.setattr(read_batches, "MOST_ENTRIES", 10)
    with pytest.raises(CheckpointError, match="the logs have 12 entries.*ckpt rollback"):
        make_preview("rollback", str(checkpoint), {"to_batch": 1}, settings)
