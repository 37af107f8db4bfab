"""A reset and its undo, done on a storage that may fail, and what is right of a checkpoint whatever has happened."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore

LAST = 2
ENTRY = f"offsets/{LAST}"
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated"}

Act = Callable[[KafkaQuery], None]


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
