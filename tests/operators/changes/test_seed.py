"""A seed as a task: where the positions come from, and what it refuses."""

from __future__ import annotations

import json
import shutil

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import CheckpointSeedOperator
from tests.fake_query import timestamp_ms
from tests.operators.each_change import TASK, made, run, seed, tree
from tests.operators.pages import carried_out
from tests.operators.task import Task

pytestmark = pytest.mark.airflow

OFFSETS = {"0": {"orders": {"0": 7, "1": 8}}}
TYPES = {"sources": {"0": "kafka"}, "accept_sink": "unknown"}


@pytest.fixture
def home(tmp_path):
    seed.before(tmp_path, tmp_path)
    return tmp_path


def offsets_of(home):
    newest = max((name for name in tree(home) if "/offsets/" in name), key=lambda name: int(name.rpartition("/")[2]))
    return json.loads(tree(home)[newest].split(b"\n")[-1])


@pytest.mark.parametrize(
    ("goal", "batch"),
    [({}, 3), ({"batch": 1}, 1), ({"batch": "1"}, 1), ({"at": timestamp_ms(2)}, 2)],
    ids=str,
)
def test_the_positions_are_those_of_another_checkpoint(home, goal, batch):
    run(CheckpointSeedOperator, home, TASK, origin=str(home / "live/orders"), **goal, **TYPES)
    assert offsets_of(home) == {"orders": {"0": 10 * (batch + 1), "1": 10 * (batch + 1)}}
    assert [(kind, state) for kind, _, state in made(home)] == [("seed", "applied")]


@pytest.mark.parametrize(
    "offsets", [OFFSETS, {0: OFFSETS["0"]}, json.dumps(OFFSETS)], ids=["value", "id that is a number", "text"]
)
def test_the_positions_are_given(home, offsets):
    done = run(CheckpointSeedOperator, home, TASK, offsets=offsets, after_batch=40, **TYPES)
    assert (done["batch_id"], offsets_of(home)) == (40, OFFSETS["0"])


def test_a_plan_is_carried_out_by_another_task(home):
    planned = Task()
    run(CheckpointSeedOperator, home, planned, origin=str(home / "live/orders"), plan_only=True, **TYPES)
    assert tree(home) == {}
    done = run(CheckpointSeedOperator, home, TASK, plan=planned.pushed["plan"], accept_sink="unknown")
    assert (done["plan_id"], done["receipt"]["status"]) == (planned.pushed["plan"]["plan_id"], "applied")


def test_who_is_tried_again_after_the_query_has_run_on_is_done_and_writes_again_where_it_was_cleared(home):
    seed(home)
    (home / "orders/offsets/4").write_bytes((home / "orders/offsets/3").read_bytes())
    there = tree(home)
    assert seed(home)["receipt"]["status"] == "already_applied"
    assert tree(home) == there
    with pytest.raises(AirflowFailException, match="the location is not empty"):
        run(CheckpointSeedOperator, home, TASK, offsets=OFFSETS, **TYPES)
    shutil.rmtree(home / "orders")
    assert seed(home)["receipt"]["status"] == "applied"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "exactly one of origin and offsets"),
        ({"offsets": OFFSETS, "batch": 1}, "batch and at go with origin"),
        ({"offsets": []}, "exactly one of|JSON object by source id"),
        ({"offsets": {0: 1, "0": 1}}, "the keys of each argument must be all texts or all numbers"),
        ({"offsets": {None: 1}}, "give a JSON object by source id, each once, not"),
        ({"offsets": "[1]"}, "give a JSON object by source id"),
        ({"offsets": OFFSETS, "sources": "kafka"}, "sources must be source types by source id"),
        ({"offsets": OFFSETS, "after_batch": -1}, "after_batch must be at least 0, not -1"),
        ({"offsets": OFFSETS, "after_batch": str(10**15 + 1)}, "after_batch must be at most 1000000000000000, not"),
        ({"offsets": OFFSETS, "after_batch": "soon"}, "after_batch must be a whole number"),
        ({"offsets": OFFSETS, "sources": {}}, "types were declared for these: none"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(home, arguments, said):
    with pytest.raises(AirflowFailException, match=said):
        run(CheckpointSeedOperator, home, TASK, **{**TYPES, **arguments})
    assert (tree(home), made(home)) == ({}, [])


def test_batch_and_time_are_not_given_both(home):
    with pytest.raises(AirflowFailException, match="give batch or at, not both"):
        run(CheckpointSeedOperator, home, TASK, origin=str(home / "live/orders"), batch=1, at="now", **TYPES)


def test_the_task_of_the_page_does_what_it_says(home):
    (home / "live/orders").rename(home / "clicks")
    places = {"s3://lake/checkpoints": str(home)}
    (done,) = carried_out("docs/positions.md", "tests/operators/changes/test_seed.py", places)
    assert (done["batch_id"], done["sink_effect"], done["receipt"]["status"]) == (3, "exact", "applied")
    assert (home / "clicks-2/commits/3").exists()
