"""Asking a broker where a source goes: what is asked, what is said of the answer, and what tells two requests apart."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.kafka.extent import to_json
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import (
    FromFile,
    ShiftBy,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
    parse_scope,
)
from tests.changes.reset.kafka_query import ForgedBroker

AT = SourceOffset('{"t":{"0":5,"1":7}}')


def broker() -> ForgedBroker:
    return ForgedBroker({"t": {0: (0, 10), 1: (2, 20)}}, found={("t", 0): 3})


def test_every_partition_is_in_the_offset():
    move = KafkaAim(broker(), ToLatest(), parse_scope(["t:1"])).move("0", AT, None)
    assert (move.kind, move.old, move.new.json) == ("kafka", AT, '{"t":{"0":5,"1":20}}')


def test_the_broker_is_asked_for_a_time_only_when_it_matters():
    asked = broker()
    KafkaAim(asked, ToEarliest()).move("0", AT, None)
    assert asked.asked_ms == []
    move = KafkaAim(asked, ToDatetime(1_000)).move("0", AT, None)
    assert (asked.asked_ms, move.new.json) == ([1_000], '{"t":{"0":3,"1":20}}')
    assert move.notes == (
        "t-0 from 5 to 3, t-1 from 7 to 20.",
        "There is no record from that time on in t-1: the position is the end.",
        "The time is that of the records. What the query has processed since a time is taken back by ckpt rollback "
        "--to-timestamp.",
    )


def test_what_the_topic_does_not_hold_is_a_warning_for_each_partition_up_to_ten():
    move = KafkaAim(broker(), ToOffsets(1)).move("0", AT, None)
    assert move.warnings == ("t-1 does not hold offset 1: it goes to 2.",)
    wide = ForgedBroker({"t": dict.fromkeys(range(12), (5, 9))})
    many = SourceOffset(to_json({("t", number): 5 for number in range(12)}))
    warnings = KafkaAim(wide, ToOffsets(1)).move("0", many, None).warnings
    assert KafkaAim(wide, ToLatest()).move("0", many, None).notes[0].endswith(", and 2 more partitions.")
    assert len(warnings) == 11 and warnings[-1].startswith("So do 2 more partitions")


@pytest.mark.parametrize(
    ("aim", "text"),
    [
        (KafkaAim(broker(), ToEarliest()), "the earliest offsets"),
        (KafkaAim(broker(), ShiftBy(-3), parse_scope(["b:2,1", "a"])), "the committed offsets -3, of a b:1,2 alone"),
    ],
)
def test_what_was_said(aim, text):
    assert aim.text == text


def test_two_lists_of_offsets_are_told_apart():
    texts = {KafkaAim(broker(), strategy).text for strategy in (FromFile({("t", 0): 1}), FromFile({("t", 0): 2}))}
    assert len(texts) == 2 and all(text.startswith("the offsets that were given (digest ") for text in texts)


@pytest.mark.parametrize("text", ["17", '{"t":{"x":5}}', '{"logOffset":3}'])
def test_an_offset_of_another_source_is_refused(text):
    with pytest.raises(PlanError, match="source 0 is not a Kafka source"):
        KafkaAim(broker(), ToEarliest()).move("0", SourceOffset(text), None)
