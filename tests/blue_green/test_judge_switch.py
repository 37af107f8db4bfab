"""A switch is judged by the checkpoint and by what the sink has; one that is not exact needs its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.blue_green.judge_switch import judge_switch, require_exact, switch_effect, way_back
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import MARKING, parse_sink
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


#: By sink: before it is stopped or with a batch in flight, and in real-time mode with none in flight.
EFFECTS = {
    **dict.fromkeys(MARKING, ("exact", "unknown")),
    "kafka": ("duplicated", "duplicated"),
    "foreachBatch": ("unknown", "unknown"),
    "foreach": ("unknown", "unknown"),
    "console": ("exact", "exact"),
    "noop": ("exact", "exact"),
    "memory": ("exact", "exact"),
    "": ("unknown", "unknown"),
}


@pytest.mark.parametrize("kind", EFFECTS)
def test_the_effect_on_each_sink(kind):
    marker, (in_flight, real_time) = SinkMarker(kind, "out"), EFFECTS[kind]
    assert switch_effect(marker, None, is_stopped=False).effect == in_flight
    assert switch_effect(marker, 7, is_stopped=True).effect == in_flight
    assert switch_effect(marker, None, is_stopped=True, has_gaps=True).effect == in_flight
    assert switch_effect(marker, None, is_stopped=True).effect == "exact", "no batch runs again, whatever the sink is"
    assert switch_effect(marker, None, is_stopped=True, real_time=True).effect == real_time


def test_an_effect_that_is_not_exact_says_what_makes_it_exact():
    for kind in ("kafka", "foreachBatch"):
        effect = switch_effect(SinkMarker(kind), 7, is_stopped=True)
        assert "batch 7" in effect.reason and "stop it when its batch is committed" in effect.remedy


def test_the_ways_back_are_commands():
    on, rolled, kept = way_back("/lake/c p", 41, "file:/lake/out", "/lake/b")
    assert "start the old version on the same checkpoint" in on
    command = "ckpt rollback '/lake/c p' --to-batch 41 --sink file:/lake/out --trim-sink-log --execute"
    assert command in rolled and "ckpt restore /lake/b latest --to NEW_LOCATION" in kept
    assert (
        "--trim-sink-log" not in way_back("c", 1, "kafka", "b")[1]
        and "--sink kafka" in way_back("c", 1, "kafka", "b")[1]
    )
