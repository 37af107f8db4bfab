"""Calls with a time limit: the results are in order, and one that hangs holds none of the others."""

from __future__ import annotations

import time
from threading import Event

import pytest

from airflow_provider_ckpt.fleet.queries.ask_in_time import Late, in_time


def test_results_are_in_order_and_errors_are_those_of_their_call():
    def fail() -> int:
        raise KeyError("two")

    calls = [lambda: 1, fail, lambda: 3]
    one, two, three = in_time(calls, threads=2, timeout_s=30)
    assert (one(), three()) == (1, 3)
    with pytest.raises(KeyError, match="two"):
        two()


def test_calls_that_hang_are_late_and_hold_nobody():
    hang = Event()
    calls = [hang.wait, hang.wait, *[lambda: 5] * 20, hang.wait]
    began = time.monotonic()
    answers = []
    for answer in in_time(calls, threads=2, timeout_s=0.3):
        try:
            answers.append(answer())
        except Late:
            answers.append("late")
    assert answers == ["late", "late", *[5] * 20, "late"]
    assert time.monotonic() - began < 20  # of three calls that take for ever
    hang.set()


def test_who_asks_for_no_more_lets_no_more_begin():
    begun = []
    answers = in_time([lambda: begun.append(1)] * 1_000, threads=1, timeout_s=30)
    next(answers)()
    answers.close()
    time.sleep(0.05)
    before = len(begun)
    time.sleep(0.05)
    assert len(begun) == before


def test_no_calls_are_none():
    assert list(in_time([], threads=3, timeout_s=1)) == []
