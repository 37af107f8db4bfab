"""What becomes of the sink: exact, unless a batch in flight has other rows when it runs again."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.sources.sink_effect import effect_of
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from tests.changes.sources.two_sources import COMMITTED, FLYING, ONLY_FLYING

KAFKA, HAS_IT, LACKS_IT = (
    SinkMarker("kafka"),
    SinkMarker("file", "out", last_batch=3),
    SinkMarker("file", "out", last_batch=2),
)
MORE, LESS, COPY, NAMES = ["0=0", "1=1", "2=new"], ["0=1"], ["0=0", "1=1", "2=1"], ["a=0", "b=1"]

EFFECTS = [
    *((COMMITTED, change, marker, "exact") for change in (MORE, LESS, COPY, NAMES) for marker in (KAFKA, HAS_IT)),
    *((FLYING, change, marker, "exact") for change in (MORE, NAMES) for marker in (KAFKA, HAS_IT, LACKS_IT)),
    (FLYING, LESS, KAFKA, "skipped"),
    (FLYING, LESS, LACKS_IT, "skipped"),
    (FLYING, LESS, HAS_IT, "exact"),
    (FLYING, COPY, KAFKA, "unknown"),
    (FLYING, COPY, LACKS_IT, "exact"),
    (FLYING, COPY, HAS_IT, "skipped"),
    (ONLY_FLYING, ["0=0"], KAFKA, "exact"),
    (ONLY_FLYING, ["0=1"], KAFKA, "skipped"),
]


@pytest.mark.parametrize(("view", "said", "marker", "effect"), EFFECTS)
def test_the_effect(view, said, marker, effect):
    dropped = [old for old in ("0", "1") if not any(text.endswith(f"={old}") for text in said)]
    found = effect_of(view, parse_change(said, dropped), marker)
    assert found.effect == effect, found
    assert found.sink == marker.name
    assert bool(found.remedy) == (effect != "exact")


def test_in_real_time_mode_the_logs_do_not_show_every_batch():
    assert effect_of(COMMITTED, parse_change(NAMES, []), KAFKA, real_time=True).effect == "duplicated"
