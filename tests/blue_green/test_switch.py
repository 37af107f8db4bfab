"""What a switch does at each sink: a table, before the query is stopped and after."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.switch import switch_effect, way_back
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.query.sink import MARKING

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
