"""The way of each condition through JSON, what people and templates write, and what waits of earlier versions say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.waiting import (
    AnyOf,
    BatchCommitted,
    FilesRead,
    FilesWritten,
    Idle,
    LagAtMost,
    NextBatch,
    OffsetsReached,
    SourceEndReached,
    Stalled,
    WatermarkPassed,
    condition_from_dict,
    is_relative,
)
from tests.waiting.at_noon import KAFKA, MINUTE_MS, NOON_MS, at
from tests.waiting.meanings import meanings


@given(meanings)
def test_every_condition_comes_back_from_json(meaning):
    condition = meaning.condition
    assert condition_from_dict(json.loads(json.dumps(condition.to_dict()))) == condition
    begun = condition.resolved(NOON_MS)
    assert condition_from_dict(json.loads(json.dumps(begun.to_dict()))) == begun


@pytest.mark.parametrize(
    "condition", [FilesWritten("0", 5), FilesRead("0", 5, "a"), replace(at(p0=5), slack=7), LagAtMost(), Stalled(5, 6)]
)
def test_those_that_a_wait_makes_of_others_come_back_too(condition):
    assert condition_from_dict(json.loads(json.dumps(condition.to_dict()))) == condition


SPELLED = {
    "a batch as text": ({"condition": "batch", "batch_id": "7"}, BatchCommitted(7)),
    "a time": ({"condition": "watermark", "watermark_ms": "2026-01-01T12:00:00Z"}, WatermarkPassed(NOON_MS)),
    "a time in a zone": (
        {"condition": "watermark", "watermark_ms": "2026-01-01T13:00+01:00"},
        WatermarkPassed(NOON_MS),
    ),
    "epoch milliseconds as text": ({"condition": "source_end", "at_ms": str(NOON_MS)}, SourceEndReached(NOON_MS)),
    "a day": ({"condition": "next_batch", "after_ms": "2026-01-01"}, NextBatch(NOON_MS - 12 * 60 * MINUTE_MS)),
    "a duration": ({"condition": "idle", "for_ms": "PT5M"}, Idle(5 * MINUTE_MS)),
    "seconds as text": ({"condition": "stalled", "for_ms": "90"}, Stalled(90_000)),
    "milliseconds": ({"condition": "stalled", "for_ms": 90}, Stalled(90)),
    "a lag in time": ({"condition": "lag", "lag_ms": "P1D"}, LagAtMost(lag_ms=86_400_000)),
    "a lag in records": ({"condition": "lag", "lag_units": "1000"}, LagAtMost(lag_units=1000)),
    "now": ({"condition": "source_end", "at_ms": None}, SourceEndReached()),
    "offsets as objects": (
        {"condition": "offsets", "offsets": {0: {"t": {"0": 5}}}, "source_types": KAFKA},
        OffsetsReached({"0": '{"t":{"0":5}}'}, KAFKA),
    ),
    "offsets as JSON": ({"condition": "offsets", "offsets": '{"0": 5}'}, OffsetsReached({"0": "5"})),
    "several": (
        {
            "condition": "any_of",
            "conditions": [{"condition": "batch", "batch_id": "1"}, {"condition": "idle", "for_ms": "PT1S"}],
        },
        AnyOf((BatchCommitted(1), Idle(1_000))),
    ),
}


#: As waits were recorded before conditions had the names of today.
RECORDED = {
    "a batch": ({"target": "batch", "batch_id": 5}, BatchCommitted(5)),
    "the end of the sources": ({"target": "frozen_end", "at_ms": 7}, SourceEndReached(7)),
    "a lag": ({"target": "caught_up", "lag_ms": 5, "lag_units": None}, LagAtMost(lag_ms=5)),
    "offsets": ({"target": "offsets", "offsets": {"0": "5"}, "kinds": KAFKA}, OffsetsReached({"0": "5"}, KAFKA)),
    "one of several": (
        {"target": "any_of", "targets": [{"target": "batch", "batch_id": 1}, {"target": "idle", "for_ms": 5}]},
        AnyOf((BatchCommitted(1), Idle(5))),
    ),
}


@pytest.mark.parametrize(("fields", "condition"), RECORDED.values(), ids=RECORDED)
def test_a_condition_that_was_recorded_earlier_still_reads(fields, condition):
    assert condition_from_dict(fields) == condition


def test_an_earlier_end_of_the_sources_without_a_time_means_now():
    assert is_relative({"target": "frozen_end"}) and not is_relative({"target": "frozen_end", "at_ms": 7})


@pytest.mark.parametrize(("fields", "condition"), SPELLED.values(), ids=SPELLED)
def test_what_people_and_templates_write(fields, condition):
    assert condition_from_dict(fields) == condition


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"condition": "bach", "batch_id": 5},
        {"condition": "batch"},
        {"condition": "batch", "batch_id": "five"},
        {"condition": "batch", "batch_id": 5, "watermark_ms": 5},
        {"condition": "watermark", "watermark_ms": "soon"},
        {"condition": "idle", "for_ms": "P1M"},
        {"condition": "offsets", "offsets": "{"},
        {"condition": "any_of"},
        {"condition": "any_of", "conditions": 5},
        {"condition": "any_of", "conditions": []},
        {"condition": "any_of", "conditions": [5]},
        {"condition": "any_of", "conditions": [{"condition": "batch", "batch_id": 1}], "batch_id": 1},
        {"condition": "batch", "batch_id": -1},
        {"condition": "batch", "batch_id": 2**63},
        {"condition": "offsets", "offsets": "[5]"},
        {"condition": "offsets", "offsets": {"0": "5"}, "kinds": ["kafka"]},
    ],
)
def test_what_is_no_condition(fields):
    with pytest.raises(CheckpointError, match="not a condition: "):
        condition_from_dict(fields)
