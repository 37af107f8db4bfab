"""What can be said of the sources of the next query, and what makes no sense."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.sources.source_change import SourceChange, change_of_key, is_position, parse_change


def test_positions_are_in_order_and_names_are_sorted():
    assert parse_change(["1=0", "0=new"], ["2"]).continued == (("0", None), ("1", "0"))
    assert parse_change(["b=0", "a=1"], []).continued == (("a", "1"), ("b", "0"))
    assert [new for new, _ in parse_change([f"{n}=0" for n in range(11)], []).continued][-2:] == ["9", "10"]


def test_what_a_change_is_made_of():
    change = parse_change(["a=0", "b=0", "c=new"], ["2", "1"], ["dedupe"])
    assert (change.named, change.begun, change.copied, change.dropped) == (True, ("c",), ("0",), ("1", "2"))
    assert change.text == (
        "Source a continues source 0, source b continues source 0, source c begins at its start, source 1 is dropped, "
        "source 2 is dropped."
    )


WRONG = {
    "nothing": ([], [], "say of each source"),
    "no equals sign": (["0"], [], "'0' is not NEW=OLD"),
    "no NEW": (["=0"], [], "'=0' is not NEW=OLD"),
    "no OLD": (["0="], [], "'0=' is not NEW=OLD"),
    "NEW twice": (["0=0", "0=1"], [], "source 0 of the next query is given twice"),
    "a gap": (["0=0", "2=1"], [], "positions of 2 sources are 0 to 1; 1 is missing"),
    "positions and names": (["0=0", "orders=1"], [], "0 is a position and 'orders' a name"),
    "a hyphen": (["my-orders=0"], [], "'my-orders' is not the name of a source"),
    "not ASCII": (["ordérs=0"], [], "is not the name of a source"),
    "digits alone": (["00=0"], [], "'00' is not the name of a source"),
    "too long": ([f"{'a' * 201}=0"], [], "at most 200 characters"),
    "a source called new": (["new=0"], [], "cannot be called 'new'"),
    "dropped twice": (["0=0"], ["1", "1"], "source 1 is dropped twice"),
    "continued and dropped": (["0=0"], ["0"], "both continued and dropped"),
}


@pytest.mark.parametrize(("continued", "dropped", "says"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_refused_in_one_sentence(continued, dropped, says):
    with pytest.raises(ValueError, match=says):
        parse_change(continued, dropped)


@pytest.mark.parametrize("name", ["orders", "Orders_2", "9th", "_", "a" * 200])
def test_names_that_spark_takes_are_taken(name):
    assert parse_change([f"{name}=0"], []).named


@pytest.mark.parametrize(("text", "is_one"), [("0", True), ("10", True), ("01", False), ("-1", False), ("a", False)])
def test_what_is_a_position(text, is_one):
    assert is_position(text) is is_one


@pytest.mark.parametrize(
    "change",
    [
        parse_change(["0=1", "1=new"], ["0"]),
        parse_change(["a=0", "b=0"], [], ["stateStoreSave", "dedupe"]),
        parse_change(["a=0"], [], []),
    ],
)
def test_a_key_says_the_whole_change(change):
    assert change_of_key(change.key) == change


@pytest.mark.parametrize(
    "key",
    ["", "[]", "{}", '{"as":[]}', '{"as":{"0":1},"drop":[]}', '{"as":{"0":"0"},"drop":{}}', '{"as":{},"drop":[]}'],
)
def test_any_other_text_is_no_key(key):
    with pytest.raises(ValueError, match="."):
        assert isinstance(change_of_key(key), SourceChange)
        assert change_of_key(key).continued == (("0", "1"),)
        raise ValueError("a number is read as a text")
