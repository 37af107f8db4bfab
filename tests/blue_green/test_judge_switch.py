"""A switch is judged by the checkpoint and by what the sink has; one that is not exact needs its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.blue_green.judge_switch import judge_switch, require_exact
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import Query


@pytest.fixture
def live(tmp_path: Path) -> Query:
    """A query that has committed batches 0 to 2."""
    return Query(tmp_path).run(0, 1, 2)


def judge(query: Query, sink: str, *, is_stopped: bool = True):
    declared = parse_sink(sink)
    store = Store.open(str(query.out)) if declared.kind == "file" else None
    view, effects = judge_switch(Store.open(str(query.checkpoint)), [(declared, store)], is_stopped=is_stopped)
    return view.in_flight, [item.effect for item in effects], effects


def test_a_query_that_was_stopped_between_batches_is_switched_exactly(live):
    assert judge(live, "kafka")[:2] == (None, ["exact"])
    assert judge(live, "kafka", is_stopped=False)[:2] == (None, ["duplicated"])


def test_a_batch_in_flight_counts(live):
    live.plan(3, {"offset": 12})
    assert judge(live, "kafka")[:2] == (3, ["duplicated"])
    assert judge(live, f"file:{live.out}")[:2] == (3, ["exact"])


def test_logs_with_gaps_are_those_of_async_progress_tracking(live):
    live.run(9, rows=False)
    assert judge(live, "kafka")[:2] == (None, ["duplicated"])


def test_a_sink_of_another_query_is_refused(live, tmp_path):
    other = Query(tmp_path / "other").run(0, 1, 2, 3, 4)
    with pytest.raises(PlanError, match="does not fit the query"):
        judge_switch(
            Store.open(str(live.checkpoint)),
            [(parse_sink(f"file:{other.out}"), Store.open(str(other.out)))],
            is_stopped=True,
        )


def test_an_effect_is_accepted_by_its_name_alone(live):
    _, _, effects = judge(live, "kafka", is_stopped=False)
    with pytest.raises(PlanError, match="the effect of a switch on kafka is duplicated") as refused:
        require_exact("c", effects, ["unknown"])
    assert "accept_sink='duplicated'" in refused.value.hint
    require_exact("c", effects, ["duplicated", "unknown"])
    require_exact("c", effects, ["duplicated"])
    with pytest.raises(PlanError, match="is not a sink effect"):
        require_exact("c", effects, ["anything"])
