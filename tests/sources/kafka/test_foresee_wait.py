"""How a query gets to the offsets of a wait, by its limits; and what a wait on a real broker then says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.query.source_options import Limits, QueryOptions
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE, REAL_TIME
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.foresee_wait import WaitForesight, together, way_of
from airflow_provider_ckpt.sources.kafka.next_batch import next_batch
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import AllOf, AnyOf, BatchCommitted, Idle, Stalled
from airflow_provider_ckpt.waiting.foreseen import NOTHING, Foreseen
from tests.kafka_checkpoint import commit_batch

pytestmark = pytest.mark.timeout(180)
T0, T1 = ("t", 0), ("t", 1)


def there(*latest: int) -> Extent:
    ends = {("t", number): end for number, end in enumerate(latest)}
    return Extent({"t": "id"}, dict.fromkeys(ends, 0), ends)


TAIL = Limits(25, 20, trigger=AVAILABLE_NOW)


@pytest.mark.parametrize(
    ("position", "target", "latest", "limits", "slack", "counts"),
    [
        pytest.param({T0: 30}, {T0: 30}, (30,), Limits(), 0, (None, None, None), id="there already"),
        pytest.param({T0: 0}, {T0: 30}, (30,), Limits(), 0, (1, 2, 1), id="a batch under way, and the next"),
        pytest.param({T0: 0}, {T0: 30}, (90,), Limits(9), 0, (3, 31, 4), id="a limit"),
        pytest.param({T0: 0, T1: 0}, {T0: 30}, (30, 60), Limits(9), 0, (3, 31, 10), id="shared with others"),
        pytest.param({T0: 0}, {T0: 30}, (30,), Limits(trigger=ONCE), 0, (1, None, 1), id="once"),
        pytest.param({T0: 0}, {T0: 30}, (30,), Limits(9, trigger=ONCE), 0, (1, None, 1), id="once ignores a limit"),
        pytest.param({T0: 0}, {T0: 30}, (30,), Limits(trigger=REAL_TIME), 0, (1, None, None), id="real time"),
        pytest.param({T0: 0}, {T0: 30}, (30,), Limits(9), 5, (None, None, None), id="a lag that is allowed"),
        pytest.param({T0: 0}, {T0: 31}, (30,), Limits(9), 0, (None, None, None), id="not written yet"),
        pytest.param({T0: 0}, {T0: 25}, (30,), TAIL, 0, (1, 26, 1), id="before the tail"),
        pytest.param({}, {T0: 30}, (30,), Limits(9), 0, (3, 31, 4), id="before the first batch"),
    ],
)
def test_the_number_of_batches_is_bounded(position, target, latest, limits, slack, counts):
    way = way_of("0", position, target, there(*latest), limits, slack=slack)
    assert (way.at_least, way.at_most, way.if_quiet) == counts
    assert way.problem is None and not way.is_final


@pytest.mark.parametrize(
    ("limits", "slack", "says", "is_final"),
    [
        (Limits(0), 0, "maxOffsetsPerTrigger of source 0 is 0, so the query never reads anything.", True),
        (Limits(0, trigger=AVAILABLE_NOW), 0, "maxOffsetsPerTrigger of source 0 is 0", True),
        (TAIL, 0, "the query ends with at most 5 offsets of source 0 unread, until its next start.", False),
        (TAIL, 4, "at most 5 offsets of source 0 unread", False),
    ],
)
def test_a_query_that_does_not_get_there_is_named(limits, slack, says, is_final):
    way = way_of("0", {T0: 25}, {T0: 30}, there(30), limits, slack=slack)
    assert says in way.problem and way.is_final == is_final
    assert (way.at_least, way.at_most, way.if_quiet) == (None, None, None)


def test_a_tail_that_may_be_left_is_no_problem():
    assert way_of("0", {T0: 25}, {T0: 30}, there(30), TAIL, slack=5) == NOTHING


def test_a_batch_that_is_held_back_is_named():
    way = way_of("0", {T0: 25}, {T0: 30}, there(30), Limits(least=20))
    assert (way.at_least, way.problem) == (1, None)
    assert "fewer than minOffsetsPerTrigger=20, so its next batch may be held back for 15 min" in way.held


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=4),
    st.one_of(st.none(), st.integers(1, 30)),
    st.lists(st.lists(st.integers(0, 25), min_size=4, max_size=4), max_size=200),
    st.booleans(),
)
def test_the_bounds_hold_whatever_is_written_meanwhile(unread, most, arrivals, in_flight):
    """A query whose batch may be under way already, planned before the last records came, runs until it is there."""
    target = {("t", number): old + new for number, (old, new) in enumerate(unread)}
    ends = {("t", number): old for number, (old, _) in enumerate(unread)} if in_flight else dict(target)
    limits, at = Limits(most), dict.fromkeys(target, 0)
    way = way_of("0", at, target, there(*target.values()), limits)
    batches = 0
    while any(at[partition] < end for partition, end in target.items()):
        at = dict(next_batch(at, there(*ends.values()), limits).ends)
        batches += 1
        more = arrivals[batches] if batches < len(arrivals) else (0,) * 4
        ends = {
            ("t", number): max(ends["t", number], target["t", number]) + more[number] for number in range(len(ends))
        }
    if batches:
        assert way.at_least <= batches <= way.at_most
        if not arrivals and not in_flight:
            assert way.if_quiet == batches
    else:
        assert way == NOTHING


def test_the_longest_way_of_several_sources_counts():
    assert together([]) == NOTHING
    assert together([Foreseen(2, 9, 3), Foreseen(4, 7, 4)]) == Foreseen(4, 9, 4)
    assert together([Foreseen(2, 9, 3), Foreseen(1)]) == Foreseen(2, None, None)
    assert together([Foreseen(2, 9, 3), Foreseen(problem="a"), Foreseen(problem="b", is_final=True)]).problem == "b"


@pytest.mark.parametrize(
    ("condition", "trigger", "ends_itself"),
    [
        (BatchCommitted(9), AVAILABLE_NOW, True),
        (BatchCommitted(9), ONCE, True),
        (BatchCommitted(9), "processingTime", False),
        (BatchCommitted(9), None, False),
        (Idle(5), AVAILABLE_NOW, False),
        (AllOf((BatchCommitted(9), Stalled(5))), AVAILABLE_NOW, False),
        (AnyOf((BatchCommitted(9), Idle(5))), AVAILABLE_NOW, False),
        (AnyOf((BatchCommitted(9), BatchCommitted(8))), AVAILABLE_NOW, True),
    ],
    ids=str,
)
def test_the_end_of_a_run_is_the_end_of_a_wait_unless_silence_is_waited_for(condition, trigger, ends_itself):
    foresight = WaitForesight(
        parse_by_id({"0": "rate"}), QueryOptions(trigger=trigger), Access(lambda location: Store.open(location))
    )
    assert foresight(condition, Progress(7)) == Foreseen(ends_itself=ends_itself)


# --- a real broker ----------------------------------------------------------------------------------------------------

NOW = ("--timeout", "0.2", "--poll-interval", "0.1")


@pytest.fixture
def wait(kafka, tmp_path, capsys):
    """``ckpt wait --caught-up`` of a query that has read 25 of 30 records: its exit code and what it says."""
    topic = kafka.create()
    kafka.produce(topic, 30)
    commit_batch(tmp_path / "checkpoint", 3, {topic: {0: 25}})

    def ask(*options: str) -> tuple[int, str]:
        place = f"0=kafka:{kafka.bootstrap}/{topic}"
        code = run(["wait", str(tmp_path / "checkpoint"), "--caught-up", "--source", place, *options, *NOW])
        said = capsys.readouterr()
        return code, said.out + said.err

    ask.lose = lambda: kafka.delete_before(topic, 28)
    return ask


LIMITS = ("--source-option", "0.minOffsetsPerTrigger=20", "--source-option", "0.maxOffsetsPerTrigger=25")


def test_a_wait_says_how_many_batches_are_left(wait):
    code, said = wait("--source-option", "0.maxOffsetsPerTrigger=2")
    assert code == 1 and "at least 2 batches, at most 6, 3 if nothing more is written; time unknown" in said
    code, said = wait()
    assert code == 1 and "batches" not in said


def test_a_tail_that_the_query_leaves_is_named_and_ends_the_wait_where_it_may(wait):
    code, said = wait("--trigger", "availableNow", *LIMITS)
    assert code == 1, "a next start would read it"
    assert said.count("ends with at most 5 offsets of source 0 unread, until its next start") >= 2
    code, said = wait("--trigger", "availableNow", *LIMITS, "--fail-fast")
    assert code == 4 and "ends with at most 5 offsets of source 0 unread" in said


def test_a_limit_of_nothing_ends_the_wait_at_once(wait):
    code, said = wait("--source-option", "0.maxOffsetsPerTrigger=0")
    assert code == 4 and "maxOffsetsPerTrigger of source 0 is 0, so the query never reads anything" in said


def test_a_query_that_will_stop_at_lost_records_is_named(wait):
    wait.lose()
    code, said = wait("--source-option", "0.failOnDataLoss=true")
    assert code == 1 and "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE" in said
    assert wait("--source-option", "0.failOnDataLoss=true", "--fail-fast")[0] == 4
    assert "KAFKA_DATA_LOSS" not in wait("--source-option", "0.failOnDataLoss=false")[1]


def test_a_partition_that_is_not_assigned_neither_counts_nor_stops_the_query(kafka, tmp_path, capsys):
    topic = kafka.create(2)
    kafka.produce(topic, 30)
    kafka.produce(topic, 30, partition=1)
    kafka.delete_before(topic, 5, 1)
    commit_batch(tmp_path / "checkpoint", 3, {topic: {0: 25}})
    ask = ("wait", str(tmp_path / "checkpoint"), "--source", f"0=kafka:{kafka.bootstrap}/{topic}", *NOW)
    ask = (*ask, "--offsets", json.dumps({"0": {topic: {"0": 30}}}), "--source-option", "0.minOffsetsPerTrigger=9")
    assert run([*ask]) == 1
    assert "KAFKA_DATA_LOSS" in capsys.readouterr().err, "a partition that is new, and whose first records are lost"
    assert run([*ask, "--source-option", f'0.assign={{"{topic}":[0]}}']) == 1
    said = capsys.readouterr().err
    assert "KAFKA_DATA_LOSS" not in said and "has 5 offsets unread, fewer than minOffsetsPerTrigger=9" in said


@pytest.mark.parametrize("option", ["maxOffsetsPerTrigger=5", "0.maxOffsetsPerTrigger=five", "0.minOffsets=5"])
def test_options_that_make_no_sense_are_refused(wait, option):
    code, said = wait("--source-option", option)
    assert code == 2 and "--source-option" in said


def test_the_answer_in_json_has_the_reason(wait, capsys):
    code, said = wait("--trigger", "availableNow", *LIMITS, "--json")
    document, _ = json.JSONDecoder().raw_decode(said)  # followed by what stderr has
    assert (code, document["status"]) == (1, "timeout")
    assert "unread, until its next start" in document["text"]
