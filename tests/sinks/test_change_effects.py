"""What a change does at a sink is foretold from what the sink remembers."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.query.sink import MARKING
from airflow_provider_ckpt.sinks.change_effects import (
    delta_restore,
    flight_effect,
    in_real_time,
    reset_effects,
    rollback_effect,
    undo_effect,
    with_state,
)


def sink(kind: str, *batches: int | None, last: int | None = None, undone: tuple[int, ...] = ()) -> SinkMarker:
    """A sink with a commit for each batch, at versions 100, 101, …; None is somebody else's."""
    commits = tuple(
        SinkCommit(str(100 + at), batch, "STREAMING UPDATE" if batch is not None else "OPTIMIZE")
        for at, batch in enumerate(batches)
    )
    return SinkMarker(kind, "/lake/orders", "" if kind == "file" else "query-1", last, commits, undone)


RESTORED = SinkMarker(
    "delta",
    "/lake/orders",
    "query-1",
    5,
    (SinkCommit("102", 2, "STREAMING UPDATE"), SinkCommit("106", None, "RESTORE")),
    (5, 4, 3),
)

# The rollback goes to batch 2; batch 5 is the newest that was planned.
CASES = {
    "a file sink holds the batches": (sink("file", 0, 1, 2, 3, last=3), "skipped", "--trim-sink-log"),
    "a file sink ends where the rollback goes": (sink("file", 0, 1, 2, last=2), "exact", ""),
    "a file sink is behind": (sink("file", 0, 1, last=1), "exact", ""),
    "a directory without a sink log": (sink("file"), "unknown", "check which rows the sink has"),
    "a Delta table holds the batches": (sink("delta", 1, 2, 3, 4, 5, last=5), "skipped", ".restore(101,"),
    "a Delta table was restored, its marker not": (RESTORED, "skipped", ".restore(102,"),
    "a Delta table and its marker were restored": (sink("delta", 1, 2, last=2), "exact", ""),
    "a Delta table was restored too far": (
        sink("delta", 0, last=2, undone=(2, 1)),
        "skipped",
        "Roll back to batch 0",
    ),
    "a Delta marker has expired": (sink("delta", 2, 3, 4), "duplicated", "RESTORE TABLE delta.`/lake/orders`"),
    "a Delta table of another query": (sink("delta", None, None), "unknown", "check which rows the sink has"),
    "a Delta log that begins after the target": (sink("delta", 4, 5, last=5), "skipped", "has expired"),
    "an Iceberg table holds the batches": (sink("iceberg", 2, 3, 4, last=4), "skipped", "snapshot_id => 100"),
    "an Iceberg table was rolled back": (sink("iceberg", 1, 2, last=2, undone=(3, 4)), "exact", ""),
    "a Hudi table holds the batches": (sink("hudi", 2, 3, 4, last=4), "skipped", "instant_time => '102'"),
    "a history holds the batches": (sink("history", 2, 3, 4, last=4), "skipped", '"query-1", 2)'),
    "a history was taken back": (sink("history", 1, 2, last=2, undone=(3, 4)), "exact", ""),
    "Kafka": (SinkMarker("kafka"), "duplicated", "Let consumers drop"),
    "foreachBatch": (SinkMarker("foreachBatch"), "unknown", "txnAppId"),
    "the console": (SinkMarker("console"), "exact", ""),
    "an unknown sink": (SinkMarker("unknown"), "unknown", "Declare the sink"),
    "no sink was declared": (SinkMarker(""), "unknown", "Declare the sink"),
}


@pytest.mark.parametrize(("marker", "effect", "remedy"), CASES.values(), ids=CASES)
def test_what_becomes_of_each_sink(marker, effect, remedy):
    found = rollback_effect(marker, 2, 5)
    assert found.effect == effect
    assert remedy in found.remedy
    assert bool(found.remedy) == bool(remedy)


@pytest.mark.parametrize("kind", MARKING)
def test_a_query_with_state_stops_where_its_sink_computes_nothing_of_what_it_skips(kind):
    """Measured: Spark 4.3 and its file sink, 4.1 and Delta, 3.5 and Hudi write no state of such a batch."""
    marker = sink(kind, 0, 1, 2, 3, 4, 5, last=5)
    skipped = rollback_effect(marker, 2, 5)
    found = with_state(skipped, marker, 2, stateful=True)
    computes = kind in ("iceberg", "history")  # a history refuses the batch, and says so itself
    assert found.effect == ("skipped" if computes else "stops") and found.remedy == skipped.remedy
    assert computes or "stops for good at batch 6, because the state of batch 5 is missing" in found.reason
    assert with_state(skipped, marker, 2, stateful=False) == skipped


def test_what_no_sink_skips_does_not_stop_a_query_with_state():
    marker = sink("file", 0, 1, 2, last=2)
    exact = rollback_effect(marker, 2, 5)
    assert with_state(exact, marker, 2, stateful=True) == exact
    (left_out,) = reset_effects(marker, 2, 2, left_out="5 records", stateful=True)
    assert left_out.effect == "skipped"
    (dropped,) = reset_effects(sink("file", 0, 1, 2, 3, last=3), 2, 3, stateful=True)
    assert dropped.effect == "stops" and "If the query can commit batch 3" in dropped.remedy


def test_trimming_makes_a_file_sink_exact():
    found = rollback_effect(sink("file", 0, 1, 2, 3, 4, last=4), 2, 5, trimmed=True)
    assert found.effect == "exact"
    assert "batches 3 to 4 are removed" in found.reason


def test_kafka_gets_nothing_twice_when_no_batch_runs_again():
    assert rollback_effect(SinkMarker("kafka"), 5, 5).effect == "exact"


def test_rows_that_are_gone_are_told_from_rows_that_stay():
    assert "neither the old nor the new rows" in rollback_effect(RESTORED, 2, 5).reason
    assert "keeps the old rows" in rollback_effect(sink("delta", 2, 3, last=3), 2, 3).reason


def test_what_others_wrote_is_named_when_a_restore_takes_it_back():
    remedy = rollback_effect(sink("delta", 2, 3, None, 4, last=4), 2, 4).remedy
    assert "also reverts the commits of others: OPTIMIZE 102." in remedy
    assert ".restore(100," in remedy


def test_the_python_of_a_remedy_survives_any_location():
    location = 's3://lake/it\'s "odd"/$HOME'
    marker = SinkMarker("delta", location, "q", 3, (SinkCommit("7", 2), SinkCommit("8", 3)))
    command = rollback_effect(marker, 2, 3).remedy.split("commit: ", 1)[1].split(". RESTORE TABLE", 1)[0]
    python, flag, code = shlex.split(command)
    assert (python, flag) == ("python", "-c")
    assert code == delta_restore(location, "7", "q", 2)
    compile(code, "remedy", "exec")


histories = st.lists(st.one_of(st.none(), st.integers(0, 8)), max_size=10)


@given(st.sampled_from(MARKING), histories, st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 8))
def test_exact_means_that_no_batch_is_skipped_and_none_is_there_twice(kind, batches, last, target):
    marker = sink(kind, *batches, last=last)
    effect = rollback_effect(marker, target, 9).effect
    again = range(target + 1, 10)
    skipped = [batch for batch in again if last is not None and batch <= last]
    twice = [batch for batch in again if batch in batches and batch not in skipped]
    assert (effect == "skipped") == bool(skipped)
    if effect == "exact":
        assert not twice
    assert effect != "duplicated" or twice


@given(histories, st.integers(0, 8))
def test_the_version_to_go_back_to_holds_nothing_later(batches, target):
    marker = sink("delta", *batches)
    version = marker.version_of(target)
    if version is not None:
        kept = batches[: int(version) - 100 + 1]
        assert all(batch is None or batch <= target for batch in kept)
        assert len(kept) < len(batches), "a table cannot be restored to the version that it is at"


@given(st.sampled_from(MARKING), histories, st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 8))
def test_what_is_not_exact_says_what_to_do(kind, batches, last, target):
    effect = rollback_effect(sink(kind, *batches, last=last), target, 9)
    assert effect.effect == "exact" or effect.remedy


@pytest.mark.parametrize(("last_batch", "effect"), [(5, "exact"), (4, "skipped"), (None, "skipped")])
def test_an_undo_is_exact_when_the_sink_still_has_every_batch_that_comes_back(last_batch, effect):
    assert undo_effect(SinkMarker("file", "/lake/orders", last_batch=last_batch), 5).effect == effect


@pytest.mark.parametrize(
    ("marker", "effect"),
    [
        (sink("file", 1, 2, 3, last=3), "exact"),  # it skips the batch, whose rows it has
        (sink("file", 1, 2, last=2), "exact"),  # it takes the batch, whose rows it lacks
        (sink("delta", 1, 2, 3, last=2), "duplicated"),  # its record of the batch has expired
        (SinkMarker("delta", "/table"), "unknown"),
        (SinkMarker("kafka"), "duplicated"),
        (SinkMarker("foreachBatch"), "unknown"),
        (SinkMarker("noop"), "exact"),
        (SinkMarker(""), "unknown"),
    ],
)
def test_a_batch_that_comes_back_in_flight_runs_again_with_its_own_rows(marker, effect):
    assert flight_effect(marker, 3).effect == effect


@pytest.mark.parametrize(("marker", "effect", "remedy"), CASES.values(), ids=CASES)
def test_in_real_time_mode_only_a_sink_that_keeps_nothing_is_exact(marker, effect, remedy):
    found = in_real_time(rollback_effect(marker, 2, 5), marker)
    assert found.effect == ("unknown" if effect == "exact" and marker.kind in MARKING else effect)
    assert found.effect == "exact" or found.remedy


def test_kafka_may_have_rows_of_a_batch_that_is_in_no_log():
    found = in_real_time(rollback_effect(SinkMarker("kafka"), 5, 5), SinkMarker("kafka"))
    assert found.effect == "duplicated" and "writes no entry" in found.reason


# Positions are moved after batch 2; batch 3 is the newest that was planned, or 2.
AGAIN, LEFT_OUT = "at most 4 offsets of source 0", "at most 2 offsets of source 0"
RESETS = {
    "nothing moves": (sink("file", 0, 1, 2, last=2), 2, "", "", ["exact"]),
    "rows come again: no marker knows the new ids": (sink("file", 0, 1, 2, last=2), 2, AGAIN, "", ["duplicated"]),
    "so in a Delta table": (sink("delta", 1, 2, last=2), 2, AGAIN, "", ["duplicated"]),
    "and in Kafka": (SinkMarker("kafka"), 2, AGAIN, "", ["duplicated"]),
    "rows are left out": (SinkMarker("kafka"), 2, "", LEFT_OUT, ["skipped"]),
    "both": (SinkMarker("kafka"), 2, AGAIN, LEFT_OUT, ["duplicated", "skipped"]),
    "the sink has the batch in flight: its id is skipped": (sink("file", 0, 1, 2, 3, last=3), 3, "", "", ["skipped"]),
    "so has a Delta table": (sink("delta", 1, 2, 3, last=3), 3, AGAIN, "", ["duplicated", "skipped"]),
    "Kafka may have rows of the batch in flight": (SinkMarker("kafka"), 3, "", "", ["duplicated"]),
    "the file sink does not have it": (sink("file", 0, 1, 2, last=2), 3, "", "", ["exact"]),
    "a sink that keeps nothing": (SinkMarker("noop"), 3, AGAIN, LEFT_OUT, ["exact"]),
    "a function": (SinkMarker("foreachBatch"), 2, AGAIN, "", ["unknown"]),
    "nobody knows the sink": (SinkMarker(""), 2, AGAIN, LEFT_OUT, ["skipped", "unknown"]),
}


@pytest.mark.parametrize(("marker", "newest", "again", "left_out", "effects"), RESETS.values(), ids=RESETS)
def test_what_becomes_of_a_sink_when_positions_are_moved(marker, newest, again, left_out, effects):
    found = reset_effects(marker, 2, newest, again=again, left_out=left_out)
    assert [item.effect for item in found] == effects
    assert all(item.reason for item in found)


def test_a_batch_in_flight_is_best_finished_first():
    (effect,) = reset_effects(sink("file", 0, 1, 2, 3, last=3), 2, 3)
    assert effect.remedy.startswith("If the query can commit batch 3, start it, stop it after that batch"), (
        "a batch that stops at a record never does"
    )


@pytest.mark.parametrize("kind", ["kafka", "file", "delta"])
def test_rows_that_come_twice_go_where_rows_can_go(kind):
    (effect,) = reset_effects(SinkMarker(kind), 2, 2, again=AGAIN)[:1]
    assert effect.effect == "duplicated"
    assert ("Delete those rows" in effect.remedy) == (kind != "kafka")
    assert ("drop duplicates by a key" in effect.remedy) == (kind == "kafka")


@pytest.mark.parametrize("kind", ["kafka", "file", "delta", "foreachBatch", ""])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"again": AGAIN, "late_before": "noon"}, "rows whose event time is before that as late"),
        ({"perhaps": AGAIN}, "for the first time if the topic was created again"),
    ],
)
def test_rows_that_may_not_come_are_not_to_be_deleted(kind, options, reason):
    found = reset_effects(SinkMarker(kind, last_batch=2), 2, 2, **options)
    (effect,) = (item for item in found if reason in item.reason)
    assert effect.effect == "unknown" and "elete nothing from the sink" in effect.remedy
    assert all("Delete those rows" not in item.remedy for item in found)


def test_a_watermark_drops_nothing_that_is_not_read_again():
    (effect,) = reset_effects(SinkMarker("kafka"), 2, 2, late_before="noon")
    assert effect.effect == "exact"
