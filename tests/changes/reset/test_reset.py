"""A reset and its undo, with lock and records, on a storage that fails at every call in turn: on disk and over HTTP.

Whatever has happened, the entry is the old one or the new one: a query would go on from where it was, or from where it
was moved to.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.sweeping import assert_completed, assert_old_or_new, moved, prepared, reset, undo
from tests.fake_query import read_all
from tests.faults import Fault, Kill, calls_to_fail

SAMPLES = {"local": 5, "s3": 1}


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.exhaustive)])
def place(request, tmp_path) -> tuple[Callable[[str], Store], int]:
    """Opens locations, and how many calls to let fail there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), SAMPLES["s3"]
    return (lambda name: Store.open(str(tmp_path / name))), SAMPLES["local"]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "after", [pytest.param(False, marks=pytest.mark.exhaustive, id="refused"), pytest.param(True, id="answer lost")]
)
@pytest.mark.parametrize("act", [reset, undo])
def test_a_fault_at_every_call(place, act, after):
    opened, samples = place
    query = prepared(opened("counted/orders"), act)
    query.store.fault = counted = Fault()
    act(query)
    assert read_all(query.store) == (moved(query) if act is reset else query.files)
    for at in calls_to_fail(counted.calls, samples):
        query = prepared(opened(f"round-{at}/orders"), act)
        query.store.fault = Fault(at, after=after)
        try:
            act(query)
        except CheckpointError as error:
            assert "injected" in str(error), f"call {at}: {error}"
        query.store.fault = Fault()
        assert_old_or_new(query, at)
        assert_completed(query, act, at)


class Gone(Fault):
    """From one call on the storage answers nothing, as for a process that was killed there: nothing is cleared away."""

    def hits(self, call: str, store: Store) -> bool:
        super().hits(call, store)
        return self.at is not None and self.calls >= self.at


@pytest.mark.sweep
@pytest.mark.exhaustive
@pytest.mark.parametrize("after", [False, True], ids=["not begun", "carried out"])
@pytest.mark.parametrize("act", [reset, undo])
def test_killed_at_any_call_over_http_the_same_command_completes_it(s3_store, act, after):
    query = prepared(s3_store("counted/orders"), act)
    query.store.fault = counted = Fault()
    act(query)
    for at in range(1, counted.calls + 1):
        query = prepared(s3_store(f"round-{at}/orders"), act)
        query.store.fault = Gone(at, after=after)
        with pytest.raises(CheckpointError, match="injected"):
            act(query)
        query.store.fault = Fault()
        assert_old_or_new(query, at)
        assert_completed(query, act, at)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("act", [reset, undo])
def test_killed_at_any_call_the_same_command_completes_it(tmp_path, act):
    def opened(name: str) -> Store:
        return Store.open(str(tmp_path / name / "orders"))

    query = prepared(opened("counted"), act)
    query.store.fault = counted = Fault()
    act(query)
    for at in calls_to_fail(counted.calls, SAMPLES["local"]):
        query = prepared(opened(f"round-{at}"), act)
        if (child := os.fork()) == 0:
            query.store.fault = Kill(at)
            act(query)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert_old_or_new(query, at)
        assert_completed(query, act, at)
