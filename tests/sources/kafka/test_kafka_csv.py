"""Positions as ``kafka-consumer-groups`` exports them: what is read, what is written, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.sources.kafka import kafka_csv
from airflow_provider_ckpt.sources.kafka.kafka_csv import read_csv, write_csv

WHOLE = {("orders", 0): 12, ("orders", 1): 10}

READ = {
    "as it is exported: without an order, and with an empty line": "orders,1,10\norders,0,12\n\n",
    "in quotes": '"orders","0","12"\n"orders","1","10"\n',
    "of one group among several": "billing,orders,0,12\nbilling,orders,1,10\n",
    "with the lines of Windows": "orders,0,12\r\norders,1,10\r\n",
    "without a line break at the end, and with spaces": "orders, 0, 12\norders,1 ,10",
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_what_kafka_writes_is_read(text):
    assert read_csv(text) == WHOLE


REFUSED = {
    "": "the file holds no position",
    "\n\n": "the file holds no position",
    "topic,partition,offset\norders,0,12\n": "line 1: 'partition' is not a partition; the file has no header line",
    "orders,0\n": "line 1 has 2 values, and not topic,partition,offset",
    "a,b,orders,0,12\n": "line 1 has 5 values",
    "orders,0,12\norders,0,13\n": "line 2 names partition orders-0 a second time",
    "a,orders,0,12\nb,orders,1,12\n": "line 2 is of another group: the file has positions of a and b, so give one",
    "or ders,0,12\n": "line 1: 'or ders' is not a name of a topic",
    "..,0,12\n": "line 1: '..' is not a name of a topic",
    f"{'x' * 250},0,12\n": "is not a name of a topic",
    "orders,-1,12\n": "line 1: '-1' is not a partition",
    "orders,2147483648,12\n": "is not a partition",
    "orders,0,-2\n": "line 1: '-2' is not an offset",
    "orders,0,1.5\n": "'1.5' is not an offset",
    "orders,0,٣\n": "is not an offset",
    "orders,0,9223372036854775808\n": "is not an offset",
    'orders,0,"12\n': "line 1 is not CSV",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items())
def test_anything_else_is_an_error_that_names_the_line(text, problem):
    with pytest.raises(ValueError) as refused:
        read_csv(text)
    assert problem in str(refused.value) and len(str(refused.value)) < 300


def test_a_file_that_is_too_long_is_not_parsed(monkeypatch):
    monkeypatch.setattr(kafka_csv, "MOST_CHARACTERS", 20)
    with pytest.raises(ValueError, match="more than 20 characters"):
        read_csv("orders,0,12\n" * 2)


def test_it_is_written_in_the_order_of_the_partitions():
    assert write_csv({("b", 0): 1, ("a", 10): 3, ("a", 9): 2}) == "a,9,2\na,10,3\nb,0,1\n"


@given(
    st.dictionaries(
        st.tuples(st.from_regex(r"[a-z][A-Za-z0-9._-]{0,20}", fullmatch=True), st.integers(0, 2**31 - 1)),
        st.integers(0, 2**63 - 1),
        min_size=1,
    )
)
def test_what_was_written_is_read_back(offsets):
    assert read_csv(write_csv(offsets)) == offsets
