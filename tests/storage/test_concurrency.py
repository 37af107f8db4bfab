"""Several calls under way at once: results in order, steps told one at a time, the first error ends it."""

from __future__ import annotations

import threading
import time

import pytest

from airflow_provider_ckpt.storage import concurrency
from airflow_provider_ckpt.storage.concurrency import in_parallel

NAMES = [f"offsets/{number}" for number in range(200)]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_are_in_the_order_of_the_names(threads):
    assert in_parallel(str.upper, NAMES, threads) == [name.upper() for name in NAMES]


def test_calls_run_beside_each_other():
    both = threading.Barrier(2, timeout=300)
    assert in_parallel(lambda name: both.wait() >= 0, NAMES[:2], 2) == [True, True]


def test_each_step_is_told_once_and_counted_up():
    told, inside = [], threading.Lock()

    def on_step(done: int, total: int, name: str) -> None:
        assert inside.acquire(blocking=False), "two at once"
        told.append((done, total, name))
        time.sleep(0.0001)
        inside.release()

    in_parallel(len, NAMES, 4, on_step)
    assert [done for done, _, _ in told] == list(range(1, 201)) and {total for _, total, _ in told} == {200}
    assert sorted(name for _, _, name in told) == sorted(NAMES)


@pytest.mark.parametrize("where", ["call", "step"])
def test_the_first_error_ends_it(monkeypatch, where):
    """The thread without the error goes no further than name 10 before the calls are stopped, then to the end of its call."""
    called, stopped = [], threading.Event()
    monkeypatch.setattr(concurrency, "Event", lambda: stopped)

    def call(name: str) -> None:
        called.append(name)
        if where == "call" and name == NAMES[5]:
            raise KeyError(name)
        if name in NAMES[10:]:
            stopped.wait(60)

    def on_step(done: int, total: int, name: str) -> None:
        if where == "step" and name == NAMES[5]:
            raise KeyError(name)

    with pytest.raises(KeyError, match=NAMES[5]):
        in_parallel(call, NAMES, 2, on_step)
    assert set(called) <= set(NAMES[:11])
