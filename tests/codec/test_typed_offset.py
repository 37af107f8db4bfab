"""Offsets as values: how they compare, what lies between them, how they are merged, and where they say they cannot."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import Order

DELTA = '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":%d,"index":%d,"isStartingVersion":false}'
KINESIS = '{"metadata":{"streamName":"s","batchId":"1"},"shard-1":{"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"%s"}}'

#: kind: (earlier, later, what lies between by partition, or None where it cannot be counted)
STEPS = {
    "kafka": ('{"t":{"0":5,"1":7}}', '{"t":{"0":9,"1":7}}', {"t-0": 4, "t-1": 0}),
    "eventhubs": ('{"hub":{"0":-1}}', '{"hub":{"0":23}}', {"hub-0": 24}),
    "file": ('{"logOffset":3}', '{"logOffset":5}', {"log": 2}),
    "rate": ("3", "10", {"value": 7}),
    "rate-micro-batch": ('{"offset":10,"timestamp":1000}', '{"offset":20,"timestamp":2000}', {"offset": 10}),
    "delta": (DELTA % ("t", 4, 8), DELTA % ("t", 6, 0), {"table": 2}),
    "kinesis": (
        KINESIS % "49590338271490256608559692538361571095921575989136588898",
        KINESIS % "49590338271490256608559692538361571095921575989136588899",
        None,
    ),
    "pulsar": ('{"t":[8,11,16,101,24,1]}', '{"t":[8,11,16,-25,1,24,1]}', None),
    "pubsub": ('{"sourceVersion":1,"seqNum":3,"fetchEpoch":9}', '{"sourceVersion":1,"seqNum":4,"fetchEpoch":1}', None),
    "sequential-union": (
        '{"activeSourceName":"a","allSourceNames":["a","b"],"completedSourceNames":[]}',
        '{"activeSourceName":"b","allSourceNames":["a","b"],"completedSourceNames":["a"]}',
        {"sources": 1},
    ),
    "hudi": ('{"commitTime":"20240101120000"}', '{"commitTime":"20240101120000001"}', None),
    "paimon": (
        '{"snapshotId":3,"index":7,"scanSnapshot":true}',
        '{"snapshotId":4,"index":0,"scanSnapshot":false}',
        {"table": 1},
    ),
    "cloudFiles": (
        '{"seqNum":234,"sourceVersion":1}',
        '{"seqNum":300,"sourceVersion":3,"lastInputPath":"x"}',
        {"files": 66},
    ),
}


@pytest.mark.parametrize(("kind", "step"), STEPS.items())
def test_order_and_distance(kind, step):
    earlier, later = (SourceOffset(text).view(kind) for text in step[:2])
    assert later.has_reached(earlier)
    assert later.has_reached(later)
    assert not earlier.has_reached(later)
    if step[2] is None:
        with pytest.raises(ValueError, match="can be ordered but not counted"):
            later.minus(earlier)
    else:
        assert later.minus(earlier) == step[2]


def test_a_target_names_the_partitions_that_count():
    current = SourceOffset('{"t":{"0":9,"1":2}}').view("kafka")
    assert current.has_reached(SourceOffset('{"t":{"0":5}}').view("kafka"))
    assert not current.has_reached(SourceOffset('{"t":{"0":5,"1":3}}').view("kafka"))
    assert not current.has_reached(SourceOffset('{"t":{"2":0}}').view("kafka")), "a partition that is not there yet"


@pytest.mark.parametrize(("kind", "first", "read"), [
    ("file", '{"logOffset":0}', {"log": 1}), ("file", "2", {"log": 3}),
    ("socket", "4", {"value": 5}), ("rate", "3", {"value": 3}),
    ("rate-micro-batch", '{"offset":10,"timestamp":0}', {"offset": 10}),
])  # fmt: skip
def test_the_first_batch_counts_from_where_its_source_begins(kind, first, read):
    assert SourceOffset(first).view(kind).minus(None) == read


@pytest.mark.parametrize(("kind", "first"), [
    ("kafka", '{"t":{"0":9}}'), ("eventhubs", '{"hub":{"0":9}}'), ("delta", DELTA % ("t", 6, 0)),
    ("cloudFiles", '{"seqNum":234,"sourceVersion":1}'),
])  # fmt: skip
def test_where_a_source_began_may_be_unknown(kind, first):
    with pytest.raises(ValueError, match="does not say where"):
        SourceOffset(first).view(kind).minus(None)


#: Delta's positions, ascending; those of one row are the same.
DELTA_ORDER = [
    [(1, 4, 8)],
    [(1, 5, -1), (1, 5, -100)],
    [(3, 5, -20)],
    [(3, 5, -19)],
    [(1, 5, 0)],
    [(1, 5, 7)],
    [(1, 6, -1), (3, 6, -100)],
]


def test_the_order_of_delta_is_that_of_its_indices_as_version_3_writes_them():
    text = '{"sourceVersion":%d,"reservoirId":"t","reservoirVersion":%d,"index":%d,"isStartingVersion":false}'
    rows = [[SourceOffset(text % position).view("delta") for position in row] for row in DELTA_ORDER]
    for at, row in enumerate(rows):
        for one in row:
            assert [one.has_reached(other) for others in rows for other in others] == [
                there <= at for there, others in enumerate(rows) for _ in others
            ]


def kinesis(**shards):
    """Shards as ``TYPE position [sub]``."""
    value = {"metadata": {"streamName": "s", "batchId": "7"}}
    for shard, text in shards.items():
        kind, position, *sub = text.split(" ")
        value[shard] = {"iteratorType": kind, "iteratorPosition": position, "subSequenceNumber": (sub or ["-1"])[0]}
    return SourceOffset(json.dumps(value)).view("kinesis")


#: Where a shard can stand, ascending.
SHARD_ORDER = (
    "TRIM_HORIZON ", "AT_SEQUENCE_NUMBER 5", "AFTER_SEQUENCE_NUMBER 5 0", "AFTER_SEQUENCE_NUMBER 5 3",
    "AFTER_SEQUENCE_NUMBER 5", "AT_SEQUENCE_NUMBER 6", "AFTER_SEQUENCE_NUMBER 4959" + "0" * 52, "SHARD_END ",
)  # fmt: skip


def test_the_order_of_a_shard():
    stands = [kinesis(a=text) for text in SHARD_ORDER]
    for at, one in enumerate(stands):
        assert [one.has_reached(other) for other in stands] == [there <= at for there in range(len(stands))]


@pytest.mark.parametrize("other", ["AT_TIMESTAMP 1700000000000", "LATEST ", "SOMETHING 5", "AFTER_SEQUENCE_NUMBER x"])
def test_a_shard_that_cannot_be_compared_says_so_and_spoils_no_other(other):
    mixed, plain = kinesis(a=other, b="AFTER_SEQUENCE_NUMBER 5"), kinesis(a="AFTER_SEQUENCE_NUMBER 5")
    assert "b" in mixed.positions
    assert mixed.has_reached(kinesis(b="AFTER_SEQUENCE_NUMBER 4"))
    with pytest.raises(ValueError, match="a is a "):
        mixed.has_reached(plain)


def test_iceberg_snapshots_have_no_order():
    first = SourceOffset('{"version":1,"snapshot_id":5,"position":0,"scan_all_files":false}').view("iceberg")
    second = SourceOffset('{"version":1,"snapshot_id":4,"position":0,"scan_all_files":false}').view("iceberg")
    assert first.has_reached(first)
    with pytest.raises(ValueError, match="cannot be ordered without the table"):
        first.has_reached(second)


def test_two_delta_tables_cannot_be_compared():
    with pytest.raises(ValueError, match="the sources are not the same"):
        SourceOffset(DELTA % ("a", 1, 0)).view("delta").has_reached(SourceOffset(DELTA % ("b", 1, 0)).view("delta"))


def test_kinds_are_not_mixed():
    with pytest.raises(ValueError, match="source type kafka, the other one eventhubs"):
        SourceOffset('{"t":{"0":1}}').view("kafka").has_reached(SourceOffset('{"t":{"0":2}}').view("eventhubs"))


# --- compare, by partition ------------------------------------------------------------------------------------------

BEFORE, SAME, AFTER, PARTLY, HERE, THERE, UNKNOWN = Order


def view(kind: str, value):
    return SourceOffset(value if isinstance(value, str) else json.dumps(value)).view(kind)


def delta(version: int, index: int = -1, *, first: bool = False, table: str = "t") -> dict:
    return {
        "sourceVersion": 1,
        "reservoirId": table,
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": first,
    }


def shard(position: str, kind: str = "AFTER_SEQUENCE_NUMBER", **more: str) -> dict:
    return {"iteratorType": kind, "iteratorPosition": position, "subSequenceNumber": "-1", "isLast": "true", **more}


def iceberg(snapshot_id: int, position: int = 0) -> dict:
    return {"version": 1, "snapshot_id": snapshot_id, "position": position, "scan_all_files": False}


BIG = "49590338271490256608559692538361571095921575989136588898"
#: kind: (one offset, another, the order of the one by the other, partition by partition)
ORDERS = [
    (
        "kafka",
        {"t": {"0": 5, "1": 7, "2": 1}},
        {"t": {"0": 9, "1": 7, "2": 0}},
        {"t-0": BEFORE, "t-1": SAME, "t-2": AFTER},
    ),
    ("kafka", {"t": {"0": 5}}, {"t": {"1": 5}, "u": {"0": 1}}, {"t-0": HERE, "t-1": THERE, "u-0": THERE}),
    ("eventhubs", {"hub": {"0": -1}}, {"hub": {"0": 0}}, {"hub-0": BEFORE}),
    ("file", "3", {"logOffset": 3}, {"log": SAME}),
    ("rate", "3", "2", {"value": AFTER}),
    ("delta", delta(5), delta(5, -100), {"table": SAME}),
    ("delta", delta(5, 3), delta(6), {"table": BEFORE}),
    ("delta", delta(5, 3, first=True), delta(6), {"table": BEFORE}),
    ("delta", delta(5, 3, first=True), delta(5), {"table": PARTLY}),
    ("delta", delta(5, 3, first=True), delta(2), {"table": PARTLY}),
    ("delta", delta(6), delta(5, 3, first=True), {"table": AFTER}),
    ("delta", delta(5, 9), delta(5, 3, first=True), {"table": PARTLY}),
    ("delta", delta(5, 3, first=True), delta(5, 4, first=True), {"table": BEFORE}),
    ("delta", delta(5, 3, first=True), delta(6, 1, first=True), {"table": PARTLY}),
    ("iceberg", iceberg(5, 2), iceberg(5, 2), {"table": SAME}),
    ("kinesis", {"a": shard(BIG)}, {"a": shard(BIG[:-1] + "9")}, {"a": BEFORE}),
    (
        "kinesis",
        {"a": shard("10"), "b": shard("1")},
        {"a": shard("9"), "c": shard("1")},
        {"a": AFTER, "b": HERE, "c": THERE},
    ),
    ("kinesis", {"a": shard("5", subSequenceNumber="3")}, {"a": shard("5")}, {"a": SAME}),
    ("kinesis", {"a": shard("5", subSequenceNumber="3", isLast="false")}, {"a": shard("5")}, {"a": BEFORE}),
    (
        "kinesis",
        {"a": shard("5"), "b": shard("9")},
        {"a": shard("5", "AT_TIMESTAMP"), "b": shard("8")},
        {"a": UNKNOWN, "b": AFTER},
    ),
    (
        "kinesis",
        {"a": shard("", "LATEST"), "b": shard("9")},
        {"a": shard("", "LATEST"), "b": shard("8")},
        {"a": SAME, "b": AFTER},
    ),
    ("kinesis", {"a": shard("x")}, {"a": shard("y")}, {"a": UNKNOWN}),
    ("kinesis", {"a": shard("", "trim_horizon")}, {"a": shard("", "SHARD_END")}, {"a": BEFORE}),
    ("hudi", {"commitTime": "20240101"}, {"commitTime": "202401010000"}, {"table": SAME}),
    ("hudi", {"offsetCommitTime": "20240102"}, {"commitTime": "20240101"}, {"table": UNKNOWN}),
    ("paimon", {"snapshotId": 3, "index": -1}, {"snapshotId": 3, "index": 0}, {"table": BEFORE}),
]


@pytest.mark.parametrize(("kind", "one", "other", "orders"), ORDERS)
def test_where_one_offset_is_by_another(kind, one, other, orders):
    assert view(kind, one).compare(view(kind, other)) == orders


OPPOSITE = {BEFORE: AFTER, AFTER: BEFORE, HERE: THERE, THERE: HERE}


@pytest.mark.parametrize(("kind", "one", "other", "orders"), ORDERS)
def test_the_order_is_the_opposite_from_the_other_side(kind, one, other, orders):
    opposite = {partition: OPPOSITE.get(order, order) for partition, order in orders.items()}
    assert view(kind, other).compare(view(kind, one)) == opposite


@pytest.mark.parametrize(("kind", "one", "other", "orders"), ORDERS)
def test_reached_and_passed_follow_from_the_order(kind, one, other, orders):
    here, there = view(kind, one), view(kind, other)
    if UNKNOWN in orders.values():
        for question in (here.has_reached, here.has_passed):
            with pytest.raises(ValueError, match=" in one offset and a "):
                question(there)
        return
    assert here.has_reached(there) == all(order in (SAME, AFTER, HERE) for order in orders.values())
    assert here.has_passed(there) == any(order in (AFTER, PARTLY) for order in orders.values())


@pytest.mark.parametrize(("one", "other", "why"), [
    (("kafka", {"t": {"0": 1}}), ("eventhubs", {"t": {"0": 1}}), "one offset has the source type kafka, the other one eventhubs"),
    (("delta", delta(1)), ("delta", delta(1, table="u")), "the sources are not the same: t, u"),
    (("iceberg", iceberg(5)), ("iceberg", iceberg(4)), "offsets of the source type iceberg cannot be ordered without the table"),
    (("kinesis", {"metadata": {"streamName": "s"}, "a": shard("1")}), ("kinesis", {"metadata": {"streamName": "r"}, "a": shard("1")}),
     "the sources are not the same: s, r"),
])  # fmt: skip
def test_what_has_no_order_at_all_says_why(one, other, why):
    with pytest.raises(ValueError) as said:
        view(*one).compare(view(*other))
    assert str(said.value) == why == view(*one).why_not_comparable(view(*other))


# --- subtract -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "one", "other", "units"), [
    ("kafka", {"t": {"0": 5, "1": 9}}, {"t": {"0": 7, "1": 2, "2": 1}}, {"t-1": 7}),
    ("delta", delta(5, 3), delta(5), {"table": 1}), ("delta", delta(7), delta(5, 3), {"table": 2}),
    ("delta", delta(7, 1), delta(5, 3), {"table": 2}), ("delta", delta(5), delta(5, 3), {}),
])  # fmt: skip
def test_how_far_an_offset_is_ahead_at_most(kind, one, other, units):
    assert view(kind, one).ahead_of(view(kind, other)) == units


# --- merge ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "one", "other", "partitions", "merged"), [
    ("kafka", {"t": {"0": 5, "1": 5}}, {"t": {"0": 9, "1": 9}}, ["t-1"], {"t": {"0": 5, "1": 9}}),
    ("kafka", {"a-1": {"0": 5}}, {"a-1": {"1": 9}, "u": {"0": 2}}, ["a-1-1", "u-0"], {"a-1": {"0": 5, "1": 9}, "u": {"0": 2}}),
    ("kafka", {"t": {"0": 5, "1": 5}}, {"t": {"0": 9}}, ["t-1"], {"t": {"0": 5}}),
    ("pulsar", {"t": [8, 1], "u": [8, 2]}, {"t": [8, 9], "u": [8, 9]}, ["u"], {"t": [8, 1], "u": [8, 9]}),
    ("kinesis", {"metadata": {"streamName": "s", "batchId": "7"}, "a": shard("1"), "b": shard("1")},
     {"metadata": {"streamName": "s", "batchId": "9"}, "a": shard("2"), "b": shard("2")}, ["b"],
     {"metadata": {"streamName": "s", "batchId": "7"}, "a": shard("1"), "b": shard("2")}),
])  # fmt: skip
def test_partitions_of_two_offsets_in_one(kind, one, other, partitions, merged):
    made = view(kind, one).merged(view(kind, other), partitions)
    assert made.value == merged and view(kind, made.json) == made


@pytest.mark.parametrize(("kind", "one", "other", "lowest", "highest"), [
    ("kafka", {"t": {"0": 5, "1": 9}}, {"t": {"0": 7, "1": 2}}, {"t": {"0": 5, "1": 2}}, {"t": {"0": 7, "1": 9}}),
    ("kafka", {"t": {"0": 5, "1": 9}}, {"t": {"0": 5, "2": 2}}, {"t": {"0": 5}}, {"t": {"0": 5, "1": 9, "2": 2}}),
    ("delta", delta(5), delta(6), delta(5), delta(6)), ("delta", delta(6), delta(5), delta(5), delta(6)),
    ("iceberg", iceberg(5), iceberg(5), iceberg(5), iceberg(5)),
    ("kinesis", {"a": shard("1"), "b": shard("9")}, {"a": shard("2"), "b": shard("8")},
     {"a": shard("1"), "b": shard("8")}, {"a": shard("2"), "b": shard("9")}),
])  # fmt: skip
def test_the_lower_and_the_higher_of_each_partition(kind, one, other, lowest, highest):
    here, there = view(kind, one), view(kind, other)
    assert (here.lowest(there).value, here.highest(there).value) == (lowest, highest)


@pytest.mark.parametrize(("kind", "one", "other", "why"), [
    ("kinesis", {"a": shard("1")}, {"b": shard("1")}, "which position of a is the later one"),  # did it end, or not begin?
    ("kinesis", {"a": shard("1")}, {"a": shard("1", "AT_TIMESTAMP")}, "which position of a is the later one"),
    ("delta", delta(5, 3, first=True), delta(4), "which position of table is the later one"),
    ("iceberg", iceberg(5), iceberg(4), "cannot be ordered without the table"),
])  # fmt: skip
def test_what_is_not_known_is_neither_lower_nor_higher(kind, one, other, why):
    for question in (view(kind, one).lowest, view(kind, one).highest):
        with pytest.raises(ValueError, match=why):
            question(view(kind, other))


@pytest.mark.parametrize(("one", "other", "why"), [
    (("rate", "1"), ("rate", "2"), "an offset of a rate source is of one piece"),
    (("kafka", {"t": {"0": 1}}), ("eventhubs", {"t": {"0": 1}}), "the other one kafka"),
])  # fmt: skip
def test_what_cannot_be_merged(one, other, why):
    with pytest.raises(ValueError, match=why):
        view(*one).merged(view(*other), ["t-0"])


# --- the docs -------------------------------------------------------------------------------------------------------

DOCS = (Path(__file__).parents[2] / "docs/positions.md").read_text()
[EXAMPLE] = re.findall(r"```python\n(from airflow_provider_ckpt.api import SourceOffset\n.*?)```", DOCS, re.DOTALL)


def test_the_example_of_the_docs_says_what_it_gives():
    said = [line.partition("  # ") for line in EXAMPLE.splitlines() if "  # " in line]
    names: dict = {}
    exec("\n".join(line for line in EXAMPLE.splitlines() if "  # " not in line), names)
    assert len(said) == 5
    for expression, _, result in said:
        assert eval(expression, names) == ast.literal_eval(result), expression
