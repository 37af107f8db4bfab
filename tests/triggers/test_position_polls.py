"""One poll of positions: what it makes of its arguments, before it asks anybody."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.triggers.position_polls import LagPoll, LossPoll, Query
from tests.kafka_checkpoint import commit_batch

pytestmark = pytest.mark.airflow
NOWHERE = Query("/nowhere", {"0": "rate"})


@pytest.mark.parametrize(
    ("poll", "says"),
    [
        (LagPoll(NOWHERE, most="many"), "most must be a whole number, not 'many'"),
        (LagPoll(NOWHERE, max_age="soon"), "max_age: 'soon' is not a duration"),
        (LossPoll(NOWHERE, "soon"), "will_lose_data_within: 'soon' is not a duration"),
        (LossPoll(NOWHERE, 5, {"0.maxOffsets": 1}), "source_options: '0.maxOffsets' is no option of a source"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_read(poll, says):
    with pytest.raises(CheckpointError, match=says) as refused:
        poll.poll()
    assert not isinstance(refused.value, CheckpointNotFoundError)


@pytest.mark.parametrize("sources", ["0=rate", ["rate"], 5], ids=repr)
def test_sources_are_a_mapping(sources):
    with pytest.raises(CheckpointError, match="sources must be a mapping"):
        Query("/nowhere", sources)


def test_each_source_is_named_with_how_far_it_is_behind(tmp_path):
    commit_batch(tmp_path / "checkpoint", 0, '{"logOffset":-1}', "5")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"1")
    query = Query(str(tmp_path / "checkpoint"), {"0": f"file:{tmp_path}/in", "1": "rate"})
    polled = LagPoll(query, most=0).poll()
    assert not polled.is_done
    assert polled.text.startswith("source 0 is behind by 1 files")
    assert polled.text.endswith("source 1 is behind by a rate source has no end that can be asked for")
