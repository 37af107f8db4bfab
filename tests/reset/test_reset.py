"""A reset and its undo, with lock and records, on a storage that fails at every call in turn: on disk and over HTTP.

Whatever has happened, the entry is the old one or the new one: a query would go on from where it was, or from where it
was moved to.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.journal import history
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.positions.strategies import ShiftBy
from airflow_provider_ckpt.reset.make import make_reset
from airflow_provider_ckpt.reset.resolve_kafka import KafkaAim
from airflow_provider_ckpt.sinks.declared import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore, calls_to_fail
from tests.reset.kafka_query import KafkaQuery, broker_of

LAST = 2
ENTRY = f"offsets/{LAST}"
SAMPLES = {"local": 5, "s3": 1}
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated"}

Act = Callable[[KafkaQuery], None]


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.exhaustive)])
def place(request, tmp_path) -> tuple[Callable[[str], Store], int]:
    """Opens locations, and how many calls to let fail there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), SAMPLES["s3"]
    return (lambda name: Store.open(str(tmp_path / name))), SAMPLES["local"]


def reset(query: KafkaQuery) -> None:
    """Five offsets back, which is not the same when it is done twice."""
    stores = Stores(query.store)
    plan = make_reset(stores, "0", KafkaAim(broker_of(query), ShiftBy(-5)), sink=parse_sink("kafka"))
    apply(plan, stores, **STOPPED)


def undo(query: KafkaQuery) -> None:
    stores = Stores(query.store)
    try:
        plan = make_undo(stores)
    except PlanError as error:
        assert "no change that can be undone" in str(error)
        return
    apply(plan, stores, **STOPPED)


def prepared(store: Store, act: Act) -> KafkaQuery:
    """Three committed batches and one in flight; moved already when that is to be undone."""
    query = KafkaQuery(FaultyStore.of(store, Fault()), sidecars=store.is_local)
    for batch_id in range(LAST + 1):
        query.commit(batch_id)
    query.plan(LAST + 1)
    if act is undo:
        reset(query)
    return query


def moved(query: KafkaQuery) -> dict[str, bytes]:
    """What a reset leaves of the files."""
    gone = {f"offsets/{LAST + 1}", f"offsets/.{LAST + 1}.crc", f"offsets/.{LAST}.crc"}
    entry = query.files[ENTRY].replace(b'{"0":30,"1":30}', b'{"0":25,"1":25}')
    return {**{name: data for name, data in query.files.items() if name not in gone}, ENTRY: entry}


def assert_old_or_new(query: KafkaQuery, at: int) -> None:
    files = read_all(query.store)
    assert files[ENTRY] in (query.files[ENTRY], moved(query)[ENTRY]), f"after call {at}"
    if files[ENTRY] != query.files[ENTRY]:
        assert f"offsets/{LAST + 1}" not in files, f"moved, and a batch is in flight after call {at}"
    errors = [finding for finding in inspect(query.store, deep=True) if finding.severity == "error"]
    assert errors == [], f"after call {at}"
    left = set(files.items())
    for record in records_of(query.store).ls()[1]:
        left |= set(read_all(records_of(query.store).child(f"{record}/saved/checkpoint")).items())
    assert set(query.files.items()) <= left, f"lost after call {at}"


def assert_completed(query: KafkaQuery, act: Act, at: int) -> None:
    """The same command completes it, also when all that was missing was the answer."""
    done = any(change.state == "applied" and change.plan.kind == "reset" for change in history(query.store))
    if act is undo or not done:  # what was told to be done is not asked for again
        act(query)
    assert read_all(query.store) == (moved(query) if act is reset else query.files), f"completed after call {at}"
    with locked(query.store, "the next one", ""):
        pass
    assert records_of(query.store).ls()[0] == {}, f"the lock of call {at} is no obstacle"


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


class Kill(Fault):
    """Ends the process at a call, as a kill does: nothing is cleared away."""

    def hits(self, call: str, store: Store) -> bool:
        if super().hits(call, store):
            os._exit(9)
        return False


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
