"""Resets from end to end, with a forged broker: what an entry holds afterwards, the sink, and undo."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy, ToCurrent, ToEarliest, ToLatest, ToOffsets
from airflow_provider_ckpt.sources.move import Move
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.changes.reset.of_kafka import KAFKA, LAST, STOPPED, plan_of, positions, query_at
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore
from tests.kafka_checkpoint import commit_batch, plan_batch


@pytest.mark.parametrize("sidecars", [False, True])
@pytest.mark.parametrize(("version", "sources", "source_id"), [(1, 1, "0"), (1, 2, "1"), (2, 1, "0"), (2, 2, "1")])
def test_one_source_moves_and_all_else_stays_and_undo_gives_the_bytes_back(
    tmp_path, version, sources, source_id, sidecars
):
    query = query_at(tmp_path, version=version, sources=sources, sidecars=sidecars)
    topic = query.TOPICS[int(source_id)]
    plan = plan_of(query, ShiftBy(-35), f"{topic}:1", source_id=source_id)
    receipt = apply(plan, Stores(query.store), **STOPPED)
    assert (receipt.status, receipt.batch_id) == ("applied", LAST)
    assert positions(query, source_id) == {(topic, 0): 40, (topic, 1): 5}
    after = read_all(query.store)
    changed = {name for name in query.files if after.get(name) != query.files[name]}
    assert changed == ({f"offsets/{LAST}", f"offsets/.{LAST}.crc"} if sidecars else {f"offsets/{LAST}"})
    assert after[f"offsets/{LAST}"] == query.files[f"offsets/{LAST}"].replace(
        b'{"%s":{"0":40,"1":40}}' % topic.encode(), b'{"%s":{"0":40,"1":5}}' % topic.encode()
    )
    assert [finding for finding in inspect(query.store, deep=True) if finding.severity == "error"] == []
    assert apply(make_undo(Stores(query.store)), Stores(query.store), **STOPPED).status == "applied"
    assert read_all(query.store) == query.files
    assert [change.state for change in history(query.store)] == ["undone", "applied"]


def test_a_batch_in_flight_goes_first_and_comes_back_with_an_undo(tmp_path):
    query = query_at(tmp_path, sidecars=True)
    query.plan(LAST + 1)
    plan = plan_of(query, ToEarliest())
    assert [f"{action.do} {action.name}" for action in plan.actions] == [
        f"delete offsets/.{LAST + 1}.crc",
        f"delete offsets/{LAST + 1}",
        f"delete offsets/.{LAST}.crc",
        f"replace offsets/{LAST}",
    ]
    assert plan.warnings[0] == "Batch 4 is in flight (planned, not committed); it is dropped first."
    apply(plan, Stores(query.store), **STOPPED)
    assert observe(query.store).latest_planned == LAST and positions(query) == {("orders", 0): 0, ("orders", 1): 0}
    apply(make_undo(Stores(query.store)), Stores(query.store), **STOPPED)
    assert read_all(query.store) == query.files


@pytest.mark.parametrize("strategy", [ToEarliest(), ToCurrent(), ToOffsets(0)])
@pytest.mark.parametrize("planned", [None, 4])
def test_of_a_topic_that_was_created_again_nothing_may_have_been_read(tmp_path, strategy, planned):
    """Nobody knows whether it was, or whether the same topic has lost records."""
    query = query_at(tmp_path)
    if planned is not None:
        query.plan(LAST + 1, {"orders": {"0": planned, "1": planned}})
    broker = broker_of(query)
    broker.spans["orders"] = {0: (0, 9), 1: (0, 60)}
    plan = plan_of(query, strategy, broker=broker)
    (effect,) = (item for item in plan.effects if "created again" in item.reason)
    assert effect.effect == "unknown" and "the rows of at most 49 offsets of source 0: for the first" in effect.reason
    assert not any("second time, in batches with new ids" in item.reason for item in plan.effects)
    assert any("is lost; nobody can say how much that was" in note for note in plan.notes)
    assert apply(plan, Stores(query.store), **STOPPED).status == "applied", "it is not stale by itself"


def test_what_an_offset_leaves_out_of_a_new_topic_is_counted_from_its_beginning(tmp_path):
    query = query_at(tmp_path, sources=1)
    broker = broker_of(query)
    broker.spans["orders"] = {0: (2, 9), 1: (2, 60)}
    plan = plan_of(query, ToOffsets(7), broker=broker)
    assert [item.effect for item in plan.effects] == ["skipped", "unknown"]
    assert "at most 10 offsets of source 0" in plan.effects[0].reason
    assert apply(plan, Stores(query.store), **STOPPED).status == "applied"


def test_a_topic_that_was_created_again_asks_for_a_word_of_a_query_with_state(tmp_path):
    query = query_at(tmp_path, stateful=True)
    broker = broker_of(query, latest=9)
    with pytest.raises(PlanError, match="it would count at most 18 offsets of source 0 a second time"):
        plan_of(query, ToEarliest(), broker=broker)
    assert plan_of(query, ToEarliest(), broker=broker, state_sees_rows_again=True).sink_effect == "unknown"


def test_a_failed_start_is_healed_by_one_command(tmp_path):
    """A topic was created again with 4 records, a start has planned that, and the topic has grown past the position."""
    query = query_at(tmp_path)
    query.plan(LAST + 1, {"orders": {"0": 4, "1": 50}})
    broker = broker_of(query)
    broker.spans["orders"][0] = (0, 60)
    plan = plan_of(query, ToCurrent(), broker=broker)
    assert "The position of orders-0, orders-1 is of an earlier topic of the same name" in plan.notes[2]
    apply(plan, Stores(query.store), **STOPPED)
    assert positions(query) == {("orders", 0): 0, ("orders", 1): 0}, "the whole topic is another one"
    assert observe(query.store).in_flight is None


def test_a_batch_in_flight_whose_entry_is_torn_goes_as_well(tmp_path):
    query = query_at(tmp_path)
    query.store.write(f"offsets/{LAST + 1}", b"v1\n{")
    plan = plan_of(query, ToEarliest())
    assert any("offsets/4 cannot be read" in text and "created again" in text for text in plan.warnings)
    apply(plan, Stores(query.store), **STOPPED)
    assert observe(query.store).latest_planned == LAST and positions(query) == {("orders", 0): 0, ("orders", 1): 0}


def test_what_is_there_already_has_no_steps(tmp_path):
    query = query_at(tmp_path)
    plan = plan_of(query, ToOffsets(40))
    assert (plan.actions, plan.to_accept) == ((), ())
    assert apply(plan, Stores(query.store), **STOPPED).status == "already_applied"
    assert history(query.store) == ()


def test_a_query_that_ran_on_is_taken_back_with_the_reset(tmp_path):
    query = query_at(tmp_path)
    before = dict(query.files)
    apply(plan_of(query, ToEarliest()), Stores(query.store), **STOPPED)
    query.commit(LAST + 1)
    undo = make_undo(Stores(query.store), sink=KAFKA)
    assert undo.sink_effect == "duplicated" and "A query has written batch 4" in undo.warnings[1]
    apply(undo, Stores(query.store), **STOPPED)
    assert read_all(query.store) == before


def test_an_entry_that_was_written_again_is_not_taken_for_that_of_the_reset(tmp_path):
    query = query_at(tmp_path)
    apply(plan_of(query, ToEarliest()), Stores(query.store), **STOPPED)
    query.store.write(f"offsets/{LAST}", query.files[f"offsets/{LAST}"] + b" ")
    with pytest.raises(PlanError, match=f"offsets/{LAST}: the reset .* cannot be undone, because this file was"):
        make_undo(Stores(query.store))


def test_two_resets_are_undone_one_after_the_other(tmp_path):
    query = query_at(tmp_path, sources=2)
    apply(plan_of(query, ToEarliest()), Stores(query.store), **STOPPED)
    between = read_all(query.store)
    apply(plan_of(query, ToEarliest(), source_id="1"), Stores(query.store), **STOPPED)
    for expected in (between, query.files):
        apply(make_undo(Stores(query.store)), Stores(query.store), **STOPPED)
        assert read_all(query.store) == expected


@pytest.mark.parametrize("amount", [-3, 5])
def test_a_shift_is_not_done_twice_by_who_runs_the_command_again(tmp_path, amount):
    query = query_at(tmp_path)
    plan = plan_of(query, ShiftBy(amount))
    apply(plan, Stores(query.store), **STOPPED)
    after = read_all(query.store)
    assert plan_of(query, ShiftBy(amount)) == plan
    assert apply(plan, Stores(query.store), **STOPPED).status == "already_applied"
    assert read_all(query.store) == after
    assert plan_of(query, ShiftBy(amount - 1)).actions, "another distance is another reset"
    query.commit(LAST + 1)
    assert plan_of(query, ShiftBy(-1)).actions
    apply(make_undo(Stores(query.store)), Stores(query.store), **STOPPED)
    assert plan_of(query, ShiftBy(amount)).actions, "it was undone"


@pytest.mark.parametrize("name", [f"commits/{LAST}", "metadata", f"offsets/{LAST - 1}"])
@pytest.mark.parametrize("content", [b"", b"something else"])
def test_what_stops_spark_before_a_reset_and_after_it_is_said(tmp_path, name, content):
    query = query_at(tmp_path)
    query.store.write(name, content)
    (told,) = (text for text in plan_of(query, ShiftBy(-3)).warnings if "Spark does not start" in text)
    assert "before the reset and after it: " in told and name in told


def test_without_the_entry_of_the_newest_commit_there_is_no_position(tmp_path):
    query = query_at(tmp_path)
    query.store.delete(f"offsets/{LAST}")
    with pytest.raises(
        PlanError, match=f"offsets/{LAST}: the offset entry of the newest committed batch is missing"
    ) as refused:
        plan_of(query, ShiftBy(-3))
    assert "--to-backup" in refused.value.hint


def test_what_spark_needs_only_without_the_batch_in_flight_is_not_missed(tmp_path):
    """As after a crash of a query that retains one batch: Spark has purged the entry before the last commit."""
    query = query_at(tmp_path)
    query.plan(LAST + 1)
    query.store.delete(f"offsets/{LAST - 1}")
    with pytest.raises(
        PlanError, match="after the reset the checkpoint would have an error that it does not have now"
    ) as refused:
        plan_of(query, ShiftBy(-3))
    assert refused.value.name == f"offsets/{LAST - 1}"
    assert f"let it commit batch {LAST + 1}" in refused.value.hint
    query.commit(LAST + 1)
    assert plan_of(query, ShiftBy(-3)).actions


def test_an_end_past_an_open_transaction_needs_to_know_how_the_query_reads(tmp_path):
    query = query_at(tmp_path)
    broker = broker_of(query)
    broker.open_at["orders", 0] = 45
    with pytest.raises(PlanError, match=r"a transaction is open in orders-0: .* it reads up to 45 for now"):
        plan_of(query, ToLatest(), broker=broker)
    assert plan_of(query, ToEarliest(), broker=broker).actions
    broker.says_isolation = True
    assert plan_of(query, ToLatest(), broker=broker).actions


# --- what was begun before ------------------------------------------------------------------------------------------


class AtTheEntry(Fault):
    """Fails where the entry is to get its new content."""

    def hits(self, call: str, store: Store) -> bool:
        return call == "write" and store.location.endswith("/orders")


def begun(tmp_path, **options: Any) -> KafkaQuery:
    """A query whose reset was killed before its last step."""
    query = query_at(tmp_path, sidecars=True)
    plan = plan_of(query, ShiftBy(-5), **options)
    with pytest.raises(CheckpointError, match="injected"):
        apply(plan, Stores(FaultyStore.of(query.store, AtTheEntry())), **STOPPED)
    assert [change.state for change in history(query.store)] == ["interrupted"]
    return query


def test_what_was_begun_is_known_by_what_was_asked_and_not_by_its_words(tmp_path, monkeypatch):
    query = begun(tmp_path)
    (was,) = history(query.store)
    monkeypatch.setattr(KafkaAim, "text", "some other words")
    assert plan_of(query, ShiftBy(-5)) == was.plan
    assert plan_of(query, ShiftBy(-6)).plan_id != was.plan.plan_id
    apply(was.plan, Stores(query.store), **STOPPED)
    assert plan_of(query, ShiftBy(-5)) == was.plan, "carried out, it is found and not made again"
    assert positions(query) == {("orders", 0): 35, ("orders", 1): 35}


def test_what_an_earlier_version_has_begun_is_known_by_its_first_note(tmp_path, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.changes.reset.make.ResetRequest.digest", "")
    query = begun(tmp_path)
    monkeypatch.undo()
    (was,) = history(query.store)
    assert "asked" not in was.plan.to_dict() and was.plan.notes[0] == "Source 0 goes to the committed offsets -5."
    assert plan_of(query, ShiftBy(-5)) == was.plan


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sink": parse_sink("noop")}, "begun with the sink kafka, .* cannot be completed with the sink noop"),
        ({"trigger": "realTime"}, "begun with the trigger not declared, .* with the trigger realTime"),
    ],
)
def test_what_was_begun_is_not_completed_with_another_sink_or_trigger(tmp_path, options, problem):
    query = begun(tmp_path)
    with pytest.raises(PlanError, match=problem):
        plan_of(query, ShiftBy(-5), **options)
    (was,) = history(query.store)
    assert plan_of(query, ShiftBy(-5)) == plan_of(query, ShiftBy(-5), sink=None) == was.plan


# --- the sink -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sink", "strategy", "effects"),
    [
        ("kafka", ToEarliest(), ["duplicated"]),
        ("kafka", ToOffsets(99), ["skipped"]),
        ("kafka", ToOffsets({("orders", 0): 0, ("orders", 1): 99}), ["duplicated", "skipped"]),
        ("kafka", ToCurrent(), ["exact"]),
        ("foreachBatch", ToEarliest(), ["unknown"]),
        ("noop", ToEarliest(), ["exact"]),
    ],
)
def test_the_plan_says_what_becomes_of_the_sink(tmp_path, sink, strategy, effects):
    plan = plan_of(query_at(tmp_path), strategy, sink=parse_sink(sink))
    assert [item.effect for item in plan.effects] == effects
    assert plan.to_accept == tuple(effect for effect in effects if effect != "exact" and plan.actions)


def test_a_delta_source_with_a_batch_in_flight_is_moved_in_both_entries(tmp_path):
    delta = '{"sourceVersion":1,"reservoirId":"r","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'
    for batch_id in range(3):
        commit_batch(tmp_path / "c", batch_id, delta % (batch_id + 1))
    plan_batch(tmp_path / "c", 3, delta % 9)
    stores = Stores(Store.open(str(tmp_path / "c")))

    class Past:
        text = key = "the end of version 5, which alone is skipped"
        is_relative = False

        def move(self, source_id, committed, planned, initial=None):
            return Move(source_id, "delta", committed, SourceOffset(delta % 6))

    before = read_all(stores.checkpoint)
    plan = make_reset(stores, "0", Past(), sink=parse_sink("kafka"))
    assert [action.name for action in plan.actions] == ["offsets/3", "offsets/1", "offsets/2"]
    apply(plan, stores, **STOPPED)
    texts = [(tmp_path / "c/offsets" / name).read_text().splitlines()[-1] for name in ("0", "1", "2")]
    assert texts == [delta % 1, delta % 6, delta % 6]
    apply(make_undo(stores), stores, **STOPPED)
    assert read_all(stores.checkpoint) == before


@pytest.mark.parametrize(
    ("sink", "strategy", "effects"),
    [
        ("kafka", ToEarliest(), ["duplicated"]),
        ("kafka", ToOffsets(99), ["duplicated", "skipped"]),
        ("kafka", ToCurrent(), ["duplicated"]),
        ("foreach", ToCurrent(), ["unknown"]),
        ("console", ToEarliest(), ["exact"]),
    ],
)
def test_in_real_time_mode_the_sink_may_have_rows_that_no_log_shows(tmp_path, sink, strategy, effects):
    query = query_at(tmp_path)
    plan = plan_of(query, strategy, sink=parse_sink(sink), trigger="realTime")
    assert [*dict.fromkeys(item.effect for item in plan.effects)] == effects
    assert plan_from_dict(plan.to_dict()).trigger == plan.trigger == "realTime"
    if plan.actions:
        receipt = apply(plan, Stores(query.store), **STOPPED)
        assert receipt.status == "applied", "it is judged again with the trigger that was said"


def test_a_trigger_that_is_none_is_refused(tmp_path):
    with pytest.raises(PlanError, match="'realtime' is not a trigger"):
        plan_of(query_at(tmp_path), ToEarliest(), trigger="realtime")
