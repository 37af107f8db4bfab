"""One poll of positions: what it makes of its arguments, before it asks anybody."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.documents.tasks import LagResultDocument, LossResultDocument
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.triggers import position_polls
from airflow_provider_ckpt.triggers.position_polls import LagPoll, LossPoll, Queries
from tests.json_documents import problems
from tests.kafka_checkpoint import commit_batch

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(180)]
NOWHERE = Queries("/nowhere", {"0": "rate"})


@pytest.mark.parametrize(
    ("poll", "says"),
    [
        (LagPoll(NOWHERE, most="many"), "most must be a whole number that is not negative, not 'many'"),
        (LagPoll(NOWHERE, most=-1), "most must be a whole number that is not negative, not -1"),
        (LagPoll(NOWHERE), "neither most nor max_age says how far the query may be behind"),
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
        Queries("/nowhere", sources)


def test_each_source_is_named_with_how_far_it_is_behind(tmp_path):
    commit_batch(tmp_path / "checkpoint", 0, '{"logOffset":-1}', "5")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"1")
    queries = Queries(str(tmp_path / "checkpoint"), {"0": f"file:{tmp_path}/in", "1": "rate"})
    polled = LagPoll(queries, most=0).poll()
    assert not polled.is_done
    assert polled.text.startswith("source 0 is behind by 1 files")
    assert polled.text.endswith("source 1 is behind by a rate source has no end that can be asked for")


def test_a_position_that_cannot_be_read_ends_the_wait(tmp_path):
    commit_batch(tmp_path / "checkpoint", 0, "12.0")
    (tmp_path / "in").mkdir()
    with pytest.raises(CheckpointError, match="of source 0 how far it is behind is not known: .*'12.0'"):
        LagPoll(Queries(str(tmp_path / "checkpoint"), {"0": f"file:{tmp_path}/in"}), most=1_000).poll()


def test_a_source_that_cannot_be_counted_in_full_says_why(kafka, tmp_path):
    topics = {name: kafka.create() for name in ("past", "lost")}
    for name, offset in (("past", 9), ("lost", 1)):
        kafka.produce(topics[name], 5)
        commit_batch(tmp_path / name, 0, {topics[name]: {0: offset}})
    kafka.delete_before(topics["lost"], 3)
    commit_batch(tmp_path / "gone", 0, {"absent": {0: 2}})

    def said(name: str) -> str:
        polled = LagPoll(Queries(str(tmp_path / name), {"0": f"kafka:{kafka.bootstrap}"}), most=1_000).poll()
        assert not polled.is_done
        return polled.text

    past = (
        "and more that cannot be counted: Spark does not start, unless failOnDataLoss is false: the query is past the "
    )
    assert f"{past}end of {topics['past']}-0" in said("past")
    assert "the broker does not have absent-0" in said("gone")
    assert "; 2 unread offsets are lost" in said("lost")


# --- several queries -------------------------------------------------------------------------------------------------


@pytest.fixture
def fleet(tmp_path):
    """Two queries of a directory each, of which the second has a file unread; and their sources."""
    sources = {}
    for name in ("a", "b"):
        commit_batch(tmp_path / name, 0, '{"logOffset":-1}')
        (tmp_path / f"in-{name}").mkdir()
        sources[str(tmp_path / name)] = {"0": f"file:{tmp_path}/in-{name}"}
    (tmp_path / "in-b" / "x").write_bytes(b"1")
    return sources


def test_all_queries_have_to_be_near_and_those_that_are_not_come_first(fleet):
    polled = LagPoll(Queries(list(fleet), fleet), most=0).poll()
    assert not polled.is_done
    assert [(row["location"][-1], row["is_within"]) for row in polled.result["checkpoints"]] == [
        ("b", False),
        ("a", True),
    ]
    assert list(problems(polled.result, LagResultDocument)) == []
    assert all(f"{location}: source 0 is behind by" in polled.text for location in fleet)
    assert LagPoll(Queries(list(fleet), fleet), most=1).poll().is_done


def test_a_query_that_cannot_be_read_is_no_query_that_is_near(fleet):
    places = {**fleet, "/nowhere": {"0": "rate"}}
    with pytest.raises(CheckpointNotFoundError):
        LagPoll(Queries(list(places), places), most=9).poll()


def test_a_result_is_bounded(fleet, monkeypatch):
    monkeypatch.setattr(position_polls, "MOST_QUERIES", 1)
    result = LagPoll(Queries(list(fleet), fleet), most=9).poll().result
    assert (len(result["checkpoints"]), result["others"]) == (1, 1)


@pytest.mark.parametrize(
    ("checkpoint", "sources", "says"),
    [
        ([], {"0": "rate"}, "checkpoint must be a location or a list of them"),
        (5, {"0": "rate"}, "checkpoint must be a location or a list of them, not 5"),
        ([5], {"0": "rate"}, "checkpoint must be a location or a list of them"),
        (["/a", "/b"], {"/a": {"0": "rate"}}, "are given by checkpoint, and not for /b"),
    ],
)
def test_each_checkpoint_has_its_sources(checkpoint, sources, says):
    with pytest.raises(CheckpointError, match=says):
        Queries(checkpoint, sources)


def test_a_loss_of_one_query_is_the_answer_whatever_the_others_say(kafka, tmp_path):
    topics = [kafka.create() for _ in range(2)]
    for topic in topics:
        kafka.produce(topic, 30)
        commit_batch(tmp_path / topic, 0, {topic: {0: 10}})
    places = [*(str(tmp_path / topic) for topic in topics), str(tmp_path / "nowhere")]
    poll = LossPoll(Queries(places[:2], {"0": f"kafka:{kafka.bootstrap}"}), "PT6H")
    assert not poll.poll().is_done
    kafka.delete_before(topics[1], 15)
    polled = LossPoll(Queries(places, {"0": f"kafka:{kafka.bootstrap}"}), "PT6H").poll()
    assert polled.is_done
    assert list(problems(polled.result, LossResultDocument)) == []
    rows = polled.result["checkpoints"]
    assert [row["location"] for row in rows] == [places[1], places[2], places[0]]
    assert [finding["code"] for finding in rows[0]["findings"]] == ["CKPT250"]
    assert rows[1]["error"] is not None
    with pytest.raises(CheckpointNotFoundError):
        LossPoll(Queries([places[0], places[2]], {"0": f"kafka:{kafka.bootstrap}"}), "PT6H").poll()
