"""Positions in a real mirror: a copy with the timestamps kept and other offsets; ``test_translation.py`` has the table.

The mirror of most tests is another topic of the same broker. `make exhaustive` has two brokers, and lets a real query of
Spark begin in the second one.
"""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.translate import translate_position
from airflow_provider_ckpt.sources.kafka.translation import offset_of
from airflow_provider_ckpt.sources.read_position import read_position
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch
from tests.kafka_lab import Broker, run_query, session_of

pytestmark = pytest.mark.timeout(600)
START_MS = 1_767_225_600_000


def write(
    lab: Broker, topic: str, stamps: list[int], partition: int = 0, first: int = 0, *, holes: bool = False
) -> None:
    """Records with these timestamps, numbered; with holes, each in a transaction of its own, whose end has an offset."""
    more = {"transactional.id": uuid.uuid4().hex} if holes else {}
    producer: Producer = lab.producer(**more)
    if holes:
        producer.init_transactions(30)
    for number, stamp in enumerate(stamps, first):
        if holes:
            producer.begin_transaction()
        producer.produce(topic, f"{number}".encode(), partition=partition, timestamp=START_MS + stamp)
        if holes:
            producer.commit_transaction(30)
    assert producer.flush(30) == 0


@pytest.fixture
def translated(kafka, tmp_path):
    """Translate the position of a query to another topic of the same broker."""

    def call(topic: str, copy: str, offsets: dict[int, int], **more: int):
        commit_batch(tmp_path / "q", 4, {topic: offsets})
        position = read_position(Store.open(str(tmp_path / "q")))
        broker = KafkaBroker(kafka.bootstrap, {})
        return translate_position(position, broker, KafkaBroker(kafka.bootstrap, {}), names={topic: copy}, **more)

    return call


def test_a_copy_with_holes_and_without_its_beginning(kafka, translated):
    topic, copy = kafka.create(4), kafka.create(4)
    stamps = [10 * number for number in range(8)]
    write(kafka, topic, stamps)
    write(kafka, copy, stamps, holes=True)
    write(kafka, topic, stamps, 1)
    write(kafka, copy, stamps[:2], 1)
    write(kafka, topic, [5, 30, 20, 10, 40], 2)
    write(kafka, copy, [5, 30, 20, 10, 40], 2)
    found = translated(topic, copy, {0: 3, 1: 4, 2: 3})
    assert [(item.offset, item.read_again, item.not_proven) for item in found] == [
        (6, 0, 0),
        (2, 2, 0),
        (1, 2, 0),
        (0, 0, 0),
    ]
    assert [item.there for item in found] == [(copy, number) for number in range(4)]
    assert "No unread record" in found[1].notes[0] and "does not know" in found[3].notes[0]


def test_a_copy_that_lacks_unread_records_is_not_proven(kafka, translated):
    topic, copy = kafka.create(4), kafka.create(4)
    stamps = [10 * number for number in range(8)]
    for partition in range(4):
        write(kafka, topic, stamps, partition)
    write(kafka, copy, stamps, 0)
    kafka.delete_before(copy, 6)
    write(kafka, copy, stamps[6:], 1, 6)  # begun late
    write(kafka, copy, stamps[3:], 2, 3)  # begun with the first unread record
    write(kafka, copy, stamps[1:], 3, 1)
    found = translated(topic, copy, {0: 3, 1: 3, 2: 3, 3: 0})
    assert [(item.offset, item.not_proven) for item in found] == [(6, 5), (0, 5), (0, 0), (0, 8)]
    assert f"Unread records of {topic}-0 may be missing in {copy}-0" in found[0].doubts[0]
    kafka.delete_before(topic, 5, partition=2)
    lost = translated(topic, copy, {2: 3})[2]
    assert (lost.offset, lost.not_proven) == (2, 2) and "2 unread records" in lost.doubts[0]


def test_few_records_prove_only_what_the_broker_has_stamped(kafka, translated):
    topic, copy = kafka.create(), kafka.create()
    stamped = kafka.create(message_timestamp_type="LogAppendTime")
    for name in (topic, copy, stamped):
        write(kafka, name, list(range(8)))
    assert translated(topic, copy, {0: 3}, most=2)[0].not_proven == 3
    assert translated(topic, copy, {0: 3}, most=5)[0].not_proven == 0
    (item,) = translated(stamped, copy, {0: 8})
    assert (item.offset, item.not_proven) == (8, 0)
    (item,) = translated(stamped, copy, {0: 3}, most=2)
    assert (item.offset, item.not_proven) == (8, 0), "the copy is older, so no unread record is in it"


def test_what_is_no_mirror_is_refused(kafka, translated):
    topic, wider, stamped = kafka.create(), kafka.create(2), kafka.create(message_timestamp_type="LogAppendTime")
    write(kafka, topic, [1, 2])
    for copy, offset, says in (
        (wider, 1, "has 1 partitions, and .* in the other cluster has 2"),
        ("absent", 1, "the other cluster has no topic absent.*--rename"),
        (stamped, 1, "timestamps of its own"),
        (topic, 9, "is at offset 9 of partition .*-0, which ends at 2"),
    ):
        with pytest.raises(PlanError, match=says):
            translated(topic, copy, {0: offset})


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (
            {"order": "a.orders"},
            "topic order, which is to have another name, is not one of the source.* clicks, orders",
        ),
        ({"orders": "a", "clicks": "a"}, "topics clicks and orders would both be a in the other cluster"),
        ({"orders": "clicks"}, "topics clicks and orders would both be clicks"),
    ],
)
def test_a_wrong_name_is_refused_before_a_broker_is_asked(tmp_path, names, says):
    commit_batch(tmp_path / "q", 4, {"orders": {0: 3}, "clicks": {0: 2}})
    nobody = KafkaBroker("127.0.0.1:1", {"socket.timeout.ms": "500"})
    with pytest.raises(PlanError, match=says):
        translate_position(read_position(Store.open(str(tmp_path / "q"))), nobody, nobody, names=names)


def test_the_command_prints_the_position_and_says_what_is_read_again(kafka, tmp_path, capsys):
    topic, copy = kafka.create(), kafka.create()
    for name in (topic, copy):
        write(kafka, name, [1, 2, 2, 2, 3])
    commit_batch(tmp_path / "q", 4, {topic: {0: 3}})
    place = f"kafka:{kafka.bootstrap}"
    there = ("--source", f"0={place}", "--to-cluster", place, "--rename", f"{topic}={copy}")
    export = ("export", str(tmp_path / "q"), "--as")
    assert run([*export, "startingOffsets", *there]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {copy: {"0": 1}}
    assert "at most 2 offsets will be read a second time; nothing unread is skipped." in said.err
    assert run([*export, "csv", *there, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["text"], document["translated"][0]["timestamp_ms"]) == (f"{copy},0,1", START_MS + 2)
    assert run([*export, "csv", *there, "--read-at-most", "1"]) == 4
    assert "--accept-not-proven" in capsys.readouterr().err
    assert run([*export, "csv", *there, "--read-at-most", "1", "--accept-not-proven"]) == 0
    assert "1 unread offsets are not proven" in capsys.readouterr().err


# --- two brokers, and Spark ------------------------------------------------------------------------------------------


@pytest.fixture
def second(tmp_path) -> Iterator[Broker]:
    """The broker of another cluster."""
    broker = Broker(tmp_path)
    yield broker
    broker.stop()


@pytest.mark.exhaustive
def test_a_query_goes_on_in_another_cluster_without_a_gap(kafka, second, spark, tmp_path):
    """20 topics by chance: out of order, equal timestamps, copies that began later or are behind, offsets with holes."""
    session = session_of(spark)
    for seed in range(20):
        rng = random.Random(seed)
        topic = kafka.create(2)
        second.create_named(topic, 2)
        records = [[rng.randrange(40) if seed % 2 else 10 * number for number in range(12)] for _ in range(2)]
        began, cut = rng.randrange(3), rng.randrange(6, 13)
        for partition, stamps in enumerate(records):
            write(kafka, topic, stamps, partition, holes=seed % 3 == 1)
            write(second, topic, stamps[began:cut], partition, began, holes=seed % 3 == 0)
        read = run_query(session, kafka, topic, tmp_path / f"a{seed}", limit=rng.randrange(2, 12))
        position = read_position(Store.open(str(tmp_path / f"a{seed}")))
        found = translate_position(position, KafkaBroker(kafka.bootstrap, {}), KafkaBroker(second.bootstrap, {}))
        for partition, stamps in enumerate(records):  # what the mirror had not copied yet
            write(second, topic, stamps[cut:], partition, cut, holes=seed % 3 == 0)
        starting = offset_of(found).json
        values = _values(session, second, topic, tmp_path / f"b{seed}", starting)
        known = _values_of(session, kafka, topic)
        done = {known[partition, offset] for _, partition, offset in read}
        expected = {value for value in known.values() if value not in done and value[1] >= began}
        assert expected <= set(values), f"seed {seed}: an unread record was passed over"
        again = [value for value in values if value in done]
        assert len(again) <= sum(item.read_again for item in found), f"seed {seed}: more was read again than was said"
        assert max(Counter(values).values(), default=1) == 1


def _values(session, lab: Broker, topic: str, checkpoint: Path, starting: str) -> list[tuple[int, int]]:
    """Partition and number of the records that a query reads from there on."""
    numbers = _values_of(session, lab, topic)
    read = run_query(session, lab, topic, checkpoint, startingOffsets=starting)
    return [numbers[partition, offset] for _, partition, offset in read]


def _values_of(session, lab: Broker, topic: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Partition and number of each record, by partition and offset."""
    options = {"kafka.bootstrap.servers": lab.bootstrap, "subscribe": topic}
    rows = session.read.format("kafka").options(**options).load().select("partition", "offset", "value").collect()
    return {(row.partition, row.offset): (row.partition, int(row.value)) for row in rows}
