"""What a kind of source is made of, and what it says when nothing more is said."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.jvm_text import LONG_MAX, LONG_MIN
from airflow_provider_ckpt.codec.source_kind import SourceKind, has_longs, is_flag, is_long


@pytest.mark.parametrize(("value", "is_one"), [
    (0, True), (LONG_MAX, True), (LONG_MIN, True), (LONG_MAX + 1, False), (True, False), (1.0, False), ("1", False), (None, False),
])  # fmt: skip
def test_a_long_is_one_of_java(value, is_one):
    assert is_long(value) is has_longs({"a": value}, "a") is is_one


def test_an_object_needs_each_number():
    assert has_longs({"a": 1, "b": 2}, "a", "b") and not has_longs({"a": 1}, "a", "b") and not has_longs([], "a")


@pytest.mark.parametrize(
    ("value", "is_one"), [({"f": True}, True), ({}, True), ({"f": None}, False), ({"f": 1}, False)]
)
def test_a_flag_may_be_left_out(value, is_one):
    assert is_flag(value, "f") is is_one


def test_a_kind_that_says_no_more_marks_ends_and_counts_nothing():
    kind = SourceKind("mine", is_long, lambda value: {"at": (value,)})
    assert (kind.unit, kind.marks, kind.ordered, kind.identity(1), kind.scales(1)) == (None, "end", True, "", {})
    assert not kind.in_first_snapshot(1) and not kind.ends_partitions and not kind.problem
