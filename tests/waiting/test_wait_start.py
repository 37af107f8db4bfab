"""When a wait is lost, and when it is not: random histories are in test_histories."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.waiting import Start, start_from_dict, take_start, why_lost


def stands(*batches: int, query: str | None = "one", at: dict[int, int | None] | None = None) -> Progress:
    """A commit log with these batches, each committed at its own number unless ``at`` says otherwise."""
    return Progress(
        max(batches, default=None), query_id=query, commits={batch: batch for batch in batches} | (at or {})
    )


BEGAN = stands(3, 4, 5)
LOST = {
    "another query": (stands(3, 4, 5, query="two"), "now belongs to query two; when the wait began it belonged to one"),
    "another query that is further": (stands(7, 8, query="two"), "now belongs to query"),
    "rolled back below": (stands(3, 4), "newest committed batch is 4, but it was 5 when the wait began"),
    "everything is gone": (stands(), "newest committed batch is none"),
    "rolled back below and come back to it": (stands(3, 4, 5, at={5: 9}), "batch 5 was committed again"),
    "rolled back below and come past it": (stands(4, 5, 6, 7, at={5: 9}), "batch 5 was committed again"),
}
NOT_LOST = {
    "nothing new": BEGAN,
    "further": stands(3, 4, 5, 6),
    "its batch is purged": stands(8, 9),
    "the query is not known now": stands(3, 4, 5, 6, query=None),
    "a storage without times": stands(3, 4, 5, at={5: None}),
    "an older batch was committed anew": stands(3, 4, 5, 6, at={4: 9}),
}


@pytest.mark.parametrize(("now", "why"), LOST.values(), ids=LOST)
def test_a_wait_is_lost(now, why):
    assert why in why_lost(take_start(BEGAN), now)


@pytest.mark.parametrize("now", NOT_LOST.values(), ids=NOT_LOST)
def test_a_wait_is_not_lost(now):
    assert why_lost(take_start(BEGAN), now) is None


def test_a_query_that_has_not_run_yet_has_nothing_to_lose():
    assert why_lost(Start(), BEGAN) is None
    assert why_lost(take_start(stands(query=None)), stands(0)) is None


def test_a_start_goes_through_json():
    assert start_from_dict(json.loads(json.dumps(take_start(BEGAN).to_dict()))) == Start("one", 5, 5)
    with pytest.raises(CheckpointError, match="not the start of a wait"):
        start_from_dict({"batch": 5})
