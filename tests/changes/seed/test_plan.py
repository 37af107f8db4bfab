"""The plan of a seed: what is in the new checkpoint, and with which batch it begins."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.seed.plan import (
    Positions,
    committed_batch,
    new_confs,
    plan_seed,
    require_positions,
    seed_effect,
)
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError

KAFKA = SourceOffset('{"t":{"0":5}}')
DELTA = SourceOffset('{"sourceVersion":1,"reservoirId":"r","reservoirVersion":5,"index":-1,"isStartingVersion":false}')
QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"


def plan(positions: Positions, batch_id: int):
    return plan_seed("c", positions, query_id=QUERY_ID, batch_id=batch_id, planned_at_ms=9, effects=())


@pytest.mark.parametrize(
    ("batch_id", "names"),
    [(0, ["offsets/0", "metadata", "commits/0"]), (7, ["offsets/7", "metadata", "commits/7", "offsets/6"])],
)
def test_the_entry_without_which_spark_does_not_start_comes_last(batch_id, names):
    made = plan(Positions((("0", KAFKA),)), batch_id)
    assert [action.name for action in made.actions] == names
    assert (made.kind, made.batch_id, made.query_id) == ("seed", batch_id, QUERY_ID)
    for action in made.actions:
        codec.decode(action.name, action.data.encode())


@pytest.mark.parametrize(
    ("positions", "lines"),
    [
        (Positions((("0", KAFKA), ("1", DELTA))), ["v1", KAFKA.json, DELTA.json]),
        (Positions((("orders", KAFKA),), version=2, conf={}), ["v2", f"orders:{KAFKA.json}"]),
    ],
)
def test_both_entries_hold_the_positions(positions, lines):
    by_name = {action.name: action.data for action in plan(positions, 7).actions}
    assert by_name["offsets/7"] == by_name["offsets/6"]
    first, metadata, *rest = by_name["offsets/7"].split("\n")
    assert [first, *rest] == lines
    assert '"batchTimestampMs":9' in metadata


def test_a_new_query_gets_what_an_empty_checkpoint_would_give_it():
    """A restart without these confs would take the values of before they existed; the others stay the session's."""
    confs = new_confs()
    assert confs["spark.sql.streaming.join.stateFormatVersion"] == "2"
    assert confs["spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan"] == "false"
    assert "spark.sql.shuffle.partitions" not in confs


@pytest.mark.parametrize(
    ("offsets", "types", "kind", "problem"),
    [
        ([("0", KAFKA)], {}, PlanError, "for these sources: 0; types were declared for these: none"),
        ([("0", KAFKA)], {"0": "kafka", "1": "kafka"}, PlanError, "types were declared for these: 0, 1"),
        ([], {}, PlanError, "for these sources: none"),
        ([("a", KAFKA)], {"a": "kafka"}, PlanError, "the ids of sources have to be 0, 1"),
        ([("1", KAFKA)], {"1": "kafka"}, PlanError, "the ids of sources have to be 0, 1"),
        (
            [("0", SourceOffset('{"logOffset":3}'))],
            {"0": "file"},
            PlanError,
            "a source of the type file cannot be seeded",
        ),
        ([("0", DELTA)], {"0": "kafka"}, MalformedEntryError, "not an offset of the source type kafka"),
        ([("0", SourceOffset('{"t":{"0":-2}}'))], {"0": "kafka"}, PlanError, "the offset of partition t-0 is negative"),
        (
            [("0", SourceOffset(DELTA.json.replace('"reservoirVersion":', '"reservoirVersion":-')))],
            {"0": "delta"},
            PlanError,
            "its version is negative",
        ),
        ([("0", SourceOffset("{}"))], {"0": "kafka"}, PlanError, "source 0 cannot be a start: it is empty"),
    ],
)
def test_what_is_no_position_is_refused(offsets, types, kind, problem):
    with pytest.raises(kind, match=problem):
        require_positions(offsets, types, 1)


def test_names_of_sources_are_for_the_second_version():
    require_positions([("orders", KAFKA), ("clicks", DELTA)], {"clicks": "delta", "orders": "kafka"}, 2)


def file(last: int | None) -> SinkMarker:
    return SinkMarker("file", "/out", last_batch=last)


def table(last: int | None) -> SinkMarker:
    return SinkMarker("delta", "/t", "app", last)


@pytest.mark.parametrize(
    ("markers", "used", "after", "batch_id"),
    [
        ([], 0, 0, 1),
        ([], 8, 0, 8),
        ([], 8, 9, 9),
        ([SinkMarker("kafka")], 0, 0, 1),
        ([table(None)], 0, 0, 1),
        ([table(41)], 8, 0, 41),
        ([table(41)], 50, 0, 50),
        ([file(41)], 0, 0, 41),
        ([file(0)], 0, 0, 0),
        ([file(41), table(40)], 0, 41, 41),
        ([file(41), file(41)], 0, 0, 41),
        pytest.param([file(41)], 42, 0, 41, id="the batch in flight has not reached the file sink"),
    ],
)
def test_no_sink_has_seen_the_first_batch(markers, used, after, batch_id):
    assert committed_batch(markers, used, after) == batch_id


@pytest.mark.parametrize(
    ("markers", "after", "problem"),
    [
        ([file(None)], 0, "file:/out has no log yet, and its log has to begin with batch 0"),
        (
            [file(41)],
            42,
            "the log of file:/out ends with batch 41, but the checkpoint would have to begin after batch 42",
        ),
        ([table(50), file(41)], 0, "would have to begin after batch 50"),
        ([file(3), file(9)], 0, "would have to begin after batch 9"),
        ([file(9), file(3)], 0, "would have to begin after batch 9"),
        ([file(9), file(None)], 0, "has no log yet"),
    ],
)
def test_the_log_of_a_file_sink_gets_no_hole(markers, after, problem):
    with pytest.raises(PlanError, match=problem):
        committed_batch(markers, 0, after)


@pytest.mark.parametrize(
    ("marker", "read_to", "newest", "effect"),
    [
        (file(41), 41, 41, "exact"),
        (SinkMarker("kafka"), 41, 41, "exact"),
        pytest.param(file(41), 41, 42, "exact", id="the batch in flight has not reached the file sink"),
        pytest.param(file(42), 41, 42, "duplicated", id="the batch in flight has reached the file sink"),
        (file(41), 39, 41, "duplicated"),
        (SinkMarker("kafka"), 41, 42, "duplicated"),
        (file(41), None, None, "unknown"),
        (SinkMarker(""), 41, 41, "unknown"),
    ],
)
def test_the_effect_on_a_sink_depends_on_what_is_read_again(marker, read_to, newest, effect):
    assert seed_effect(marker, 41, read_to, newest).effect == effect
