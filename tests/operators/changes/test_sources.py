"""A change of sources as a task: its arguments in every form that a template gives, and what it refuses."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import CheckpointSourcesOperator, CheckpointUndoOperator
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery
from tests.operators.each_change import DO_IT, EARLIER, TASK, made, run, sources, tree
from tests.operators.pages import carried_out
from tests.operators.task import Task

pytestmark = pytest.mark.airflow


@pytest.fixture
def home(tmp_path):
    sources.before(tmp_path, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "continued",
    [{"0": "1", "1": "0"}, {0: 1, 1: 0}, '{"0": "1", "1": "0"}', "{0: 1, 1: 0}", ["0=1", "1=0"], "['0=1', '1=0']"],
    ids=repr,
)
def test_what_is_continued_is_the_same_in_every_form(home, continued):
    run(CheckpointSourcesOperator, home, plan := Task(), continued={"0": "1", "1": "0"}, plan_only=True)
    run(CheckpointSourcesOperator, home, other := Task(), continued=continued, plan_only=True)
    assert other.pushed["plan"]["plan"]["asked"] == plan.pushed["plan"]["plan"]["asked"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "say of each source of the next query what it continues"),
        ({"continued": {"0": None, "1": "0"}}, "continued must be names or numbers, .* None"),
        ({"continued": {"0": True, "1": "0"}}, "continued must be names or numbers, .* True"),
        ({"continued": {"0": "0"}}, "1"),
        ({"continued": {"0": "0"}, "dropped": ["0", 1]}, "source 0 is both continued and dropped"),
        ({"continued": "0:1"}, "is not NEW=OLD"),
        ({"continued": {"0": "0", "1": "1"}, "operators": [{}]}, "operators must be names or numbers"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(home, arguments, said):
    before = tree(home)
    with pytest.raises(AirflowFailException, match=said):
        run(CheckpointSourcesOperator, home, TASK, **DO_IT, **arguments)
    assert (tree(home), made(home)) == (before, [])


def test_a_source_is_dropped_and_the_change_is_undone(home):
    before = tree(home)
    done = run(
        CheckpointSourcesOperator, home, TASK, continued={"0": "1"}, dropped=0, **{**DO_IT, "accept_sink": "skipped"}
    )
    assert done["receipt"]["status"] == "applied"
    assert b"payments" in tree(home)["orders/offsets/3"] or tree(home) != before
    run(CheckpointUndoOperator, home, EARLIER, **DO_IT)
    assert tree(home) == before


def test_the_task_of_the_page_adds_a_source(home):
    (home / "orders").rename(home / "joined")
    places = {"s3://lake/checkpoints": str(home)}
    (done,) = carried_out(
        "docs/how-to/change-sources.md", "tests/operators/changes/test_sources.py", places, quiet_period=0
    )
    assert (done["kind"], done["receipt"]["status"]) == ("sources", "applied")
    assert len(KafkaQuery(Store.open(str(home / "joined"))).store.read("offsets/3").split(b"\n")) == 5
