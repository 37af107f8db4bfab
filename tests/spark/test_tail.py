"""``spark.readStream.format("checkpoint")``: Spark's contract of a micro-batch stream, without Spark and in it."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from itertools import pairwise

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from airflow_provider_ckpt.batches.columns import BATCHES, named
from airflow_provider_ckpt.batches.rows import PURGED
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.spark import register, tail
from airflow_provider_ckpt.spark.discovery import discover
from airflow_provider_ckpt.spark.options import StreamOptions
from airflow_provider_ckpt.spark.tail import TailReader
from tests.batches.fleet_story import FleetStory

KEY = named(BATCHES, ["location", "timeline", "batch_id", "problem"])
ALL = ReadAllAvailable()
#: Everything is polled each time.
AT_ONCE = {"pollinterval": "0", "maxpollinterval": "0", "discoverinterval": "0"}


@pytest.fixture
def story(tmp_path):
    story = FleetStory(tmp_path / "fleet")
    story.commit("orders", 4)
    story.commit("clicks", 2)
    return story


def reader(story, **options):
    return TailReader(StreamOptions.parse({"path": str(story.root), **AT_ONCE, **options}), KEY)


def sent(offset):
    """An offset as it comes back from Spark's log."""
    return json.loads(json.dumps(offset))


def rows(stream, start, end):
    """The rows between two offsets, read by copies of the reader, as executors do."""
    found = []
    for part in pickle.loads(pickle.dumps(stream.partitions(sent(start), sent(end)))):
        copy = pickle.loads(pickle.dumps(stream))
        found += [tuple(row.values()) for batch in copy.read(part) for row in batch.to_pylist()]
    return [(location.rpartition("/")[2], *others) for location, *others in found]


def test_the_initial_offset_is_a_constant(story):
    stream = reader(story)
    before = stream.initialOffset()
    story.commit("orders")
    assert reader(story).initialOffset() == stream.initialOffset() == before == {"v": 1, "at": {}}


def test_rows_between_two_offsets_are_the_same_whenever_they_are_read(story):
    stream = reader(story)
    first = stream.latestOffset(stream.initialOffset(), ALL)
    read = rows(stream, stream.initialOffset(), first)
    assert read == [("clicks", 0, 0, None), ("clicks", 0, 1, None), *(("orders", 0, batch, None) for batch in range(4))]
    story.commit("orders", 2)
    story.commit("returns")
    second = stream.latestOffset(sent(first), ALL)
    assert rows(stream, first, second) == [("orders", 0, 4, None), ("orders", 0, 5, None), ("returns", 0, 0, None)]
    again = reader(story)  # after a restart
    assert rows(again, again.initialOffset(), first) == read
    assert rows(again, first, second) == rows(stream, first, second)


def test_with_nothing_new_the_offset_is_the_very_same_text(story):
    stream = reader(story)
    end = sent(stream.latestOffset(stream.initialOffset(), ALL))
    assert stream.latestOffset(end, ALL) is end
    assert reader(story).latestOffset(end, ALL) is end
    assert stream.partitions(end, end) == []


def test_the_limit_is_in_proportion(story):
    stream = reader(story, maxbatchespertrigger="3")
    assert stream.getDefaultReadLimit() == ReadMaxRows(3)
    ends = [stream.initialOffset()]
    for _ in range(3):
        ends.append(stream.latestOffset(sent(ends[-1]), ReadMaxRows(3)))
    parts = [rows(stream, *pair) for pair in pairwise(ends)]
    assert [[row[::2] for row in part] for part in parts] == [
        [("clicks", 0), ("orders", 0), ("orders", 1)],
        [("clicks", 1), ("orders", 2), ("orders", 3)],
        [],
    ]


def test_available_now_reads_what_was_there_and_ends(story):
    stream = reader(story)
    stream.prepareForTriggerAvailableNow()
    first = stream.latestOffset(stream.initialOffset(), ReadMaxRows(2))
    story.commit("orders", 5)
    story.commit("returns")
    second = stream.latestOffset(sent(first), ReadMaxRows(100))
    assert stream.latestOffset(second, ReadMaxRows(100)) is second
    read = rows(stream, stream.initialOffset(), first) + rows(stream, first, second)
    assert sorted(row[::2] for row in read) == sorted(
        (*(("orders", n) for n in range(4)), ("clicks", 0), ("clicks", 1))
    )


def test_a_directory_that_nobody_may_list_ends_no_stream_over_others(story, monkeypatch, caplog):
    closed = FleetRow(f"{story.root}/closed", error=f"{story.root}/closed: Permission denied")
    found = discover(StreamOptions.parse({"path": str(story.root)}).places)[0]
    monkeypatch.setattr(tail, "discover", lambda places, known: (found, [closed]))
    stream = reader(story)
    end = stream.latestOffset(stream.initialOffset(), ALL)
    assert len(rows(stream, stream.initialOffset(), end)) == 6
    assert "is searched again later" in caplog.text and "closed: Permission denied" in caplog.text
    monkeypatch.setattr(tail, "discover", lambda places, known: ([], [closed]))
    with pytest.raises(CheckpointError, match="closed: Permission denied"):
        reader(story).latestOffset(stream.initialOffset(), ALL)


def test_purged_batches_end_the_query_or_are_rows(story):
    stream = reader(story)
    end = stream.latestOffset(stream.initialOffset(), ALL)
    story.purge("orders", keep=1)
    with pytest.raises(Exception, match="batches 0 to 2 were purged before the stream had read them"):
        rows(stream, stream.initialOffset(), end)
    tolerant = reader(story, failondataloss="false")
    read = rows(tolerant, stream.initialOffset(), end)
    assert read[2:] == [*(("orders", 0, batch, PURGED) for batch in range(3)), ("orders", 0, 3, None)]


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(100, 140))])
def test_a_random_fleet_is_read_exactly_once(story, seed):
    """What a stream reads is what happened: each batch of each timeline once, with restarts at any moment."""
    names, chance = ("orders", "clicks", "returns", "refunds"), random.Random(seed)
    stream, timeline = reader(story, failondataloss="false"), Counter()
    end = sent(stream.latestOffset(stream.initialOffset(), ALL))
    read = rows(stream, stream.initialOffset(), end)
    expected = Counter((name, 0, batch) for name, log in story.logs.items() for batch in log)
    for _ in range(120):
        before = {name: list(log) for name, log in story.logs.items()}
        what, name = story.happens(chance, names)
        now, then = story.logs[name], before.get(name, [])
        if what == "rolled back":
            timeline[name] += 1
            expected[name, timeline[name], now[-1]] += 1
        else:
            expected.update((name, timeline[name], batch) for batch in now if batch not in then)
        if chance.random() < 0.2:
            stream = reader(story, failondataloss="false")
        start, end = end, sent(stream.latestOffset(end, ALL))
        read += rows(stream, start, end)
    assert Counter(row[:3] for row in read) == expected
    assert set(expected.values()) == {1}
    assert timeline.total() > 3
    assert {row[3] for row in read} == {None}


# --- in Spark -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(spark):
    own = spark.newSession()
    register(own)
    return own


def drain(session, story, where, **options):
    """Run until what is there is read: the rows, by micro-batch."""
    batches = []
    stream = session.readStream.format("checkpoint").options(
        **{**AT_ONCE, "sourceTypes": '{"0": "rate-micro-batch"}', **options}
    )

    def keep(frame, batch_id):
        found = frame.select("location", "timeline", "batch_id", "advanced", "problem").collect()
        batches.append(sorted((row[0].rpartition("/")[2], *row[1:]) for row in found))

    query = stream.load(str(story.root)).writeStream.foreachBatch(keep).option("checkpointLocation", str(where))
    query = query.trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    return batches


def test_a_fleet_through_rollbacks_purges_and_restarts(session, story, tmp_path, capsys):
    where = tmp_path / "audit"
    first = drain(session, story, where, maxBatchesPerTrigger=3)
    assert [len(batch) for batch in first] == [3, 3]
    assert drain(session, story, where) == []
    story.roll_back("orders", 1)
    assert drain(session, story, where) == [[]]  # a new timeline, on which nothing was committed yet
    story.commit("orders", 3)
    story.commit("clicks", 5)
    story.purge("clicks", keep=3)
    story.commit("returns")
    with pytest.raises(Exception, match="batches 2 to 3 were purged before the stream had read them"):
        drain(session, story, where)
    [second] = drain(session, story, where, failOnDataLoss="false")
    assert second == [
        ("clicks", 0, 2, None, PURGED),
        ("clicks", 0, 3, None, PURGED),
        ("clicks", 0, 4, None, None),
        ("clicks", 0, 5, 10, None),
        ("clicks", 0, 6, 10, None),
        *(("orders", 1, batch, 10, None) for batch in (2, 3, 4)),
        ("returns", 0, 0, 10, None),
    ]
    # The stream's own checkpoint is one that we know.
    assert run(["diff", str(where), "0", "3", "--source", "0=checkpoint", "--json"]) == 0
    [source] = json.loads(capsys.readouterr().out)["sources"]
    counted = {location.rpartition("/")[2]: count for location, count in source["partitions"].items()}
    assert (source["unit"], counted) == ("batches", {"clicks": 6, "orders": 3, "returns": 1})
    assert run(["check", str(where), "--deep"]) == 0
