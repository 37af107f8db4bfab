"""A repair of a sink's log as a task: what it completes, and its decisions in every form that a template gives."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import CheckpointRepairOperator
from tests.changes.repair.fake_table import FakeTable
from tests.operators.each_change import DO_IT, TASK, made, repair, run, tree
from tests.operators.pages import carried_out
from tests.operators.task import Task

pytestmark = pytest.mark.airflow


@pytest.fixture
def home(tmp_path):
    repair.before(tmp_path, tmp_path)
    return tmp_path


def sink(home):
    return {**DO_IT, "sink": f"file:{home}/out"}


def test_the_log_has_every_entry_again(home):
    done = repair(home)
    assert (done["kind"], done["sink_effect"], done["receipt"]["status"]) == ("repair", "exact", "applied")
    assert {"out/_spark_metadata/19.compact", "out/_spark_metadata/21"} < tree(home).keys()


def test_entries_come_from_a_copy(tmp_path):
    table = FakeTable(tmp_path).run(24)
    copy, before = table.copied(tmp_path / "copy"), table.forget("21")
    (tmp_path / "checkpoint").rename(tmp_path / "orders")
    run(CheckpointRepairOperator, tmp_path, TASK, copy=str(copy), **sink(tmp_path))
    assert table.entries == before


@pytest.mark.parametrize("empty", [21, "21", [21], ["21"], "[21]", (21,)], ids=repr)
def test_a_batch_is_decided_about_in_every_form(home, empty):
    done = run(CheckpointRepairOperator, home, Task(), empty=empty, plan_only=True, **sink(home))
    assert done["sink_effect"] == "skipped"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give the sink whose log is to be completed"),
        ({"sink": "kafka"}, "has no log that ckpt can repair"),
        ({"empty": {"a": 1}}, "'a=1' is no batch"),
        ({"adopt": True}, "adopt must be names or numbers"),
        ({"adopt": 21, "empty": 21}, "both adopted and empty"),
        ({"compact_interval": 0}, "compact_interval must be at least 1"),
        ({"compact_interval": "often"}, "compact_interval must be a whole number"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(home, arguments, said):
    before = tree(home)
    given = {**sink(home), **arguments} if arguments else DO_IT
    with pytest.raises(AirflowFailException, match=said):
        run(CheckpointRepairOperator, home, TASK, **given)
    assert (tree(home), made(home)) == (before, [])


def test_the_task_of_the_page_does_what_it_says(home):
    places = {"s3://lake/checkpoints": str(home), "s3://lake/orders": str(home / "out")}
    page = "docs/how-to/complete-a-sink-log.md"
    (done,) = carried_out(page, "tests/operators/changes/test_repair.py", places, quiet_period=0)
    assert done["receipt"]["status"] == "applied"
