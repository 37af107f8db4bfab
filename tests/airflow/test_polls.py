"""Shared looks: what they cost, who gets them, what is left when nobody waits any more."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest

from airflow_provider_ckpt.errors import CheckpointFormatError, StoreUnavailableError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.storage.async_store import AsyncStore
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.triggers import shared_polls as module
from airflow_provider_ckpt.triggers.shared_polls import POLLS_AT_ONCE, poll_pool
from airflow_provider_ckpt.waiting import Idle, Needs
from tests.fake_query import FakeQuery

pytestmark = pytest.mark.airflow

OFFSETS = Needs(offsets=True)


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Whatever a test does, in the end nobody looks."""
    yield
    assert not module._POOLS


@pytest.fixture
def lake(s3_store, s3_server, monkeypatch) -> Store:
    """A checkpoint in S3, and the connection ``lake`` to it."""
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    connection = {"conn_type": "checkpoint", "extra": {"storage_options": options}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))
    return write(s3_store("orders"))


@pytest.fixture
def local(tmp_path) -> Store:
    return write(Store.open(str(tmp_path / "orders")))


@pytest.fixture
def asked() -> Counter[str]:
    """What the S3 API was asked for, counted there."""
    counted: Counter[str] = Counter()

    class Count(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            counted["list" if "list-type" in record.getMessage() else "read"] += 1

    handler, logger = Count(), logging.getLogger("tests.s3_server")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield counted
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(handler)


@pytest.fixture
def opened_as(monkeypatch):
    """Lets every location be opened as another kind of store, which does something of its own."""

    def use(kind: type[Store]) -> None:
        monkeypatch.setattr(CheckpointHook, "store", lambda self, location: kind.open(location))

    return use


def hold_back(opened_as) -> tuple[threading.Event, threading.Event]:
    """A storage that answers when it is told to: set when it was asked, to be set when it may answer."""
    asked, answer = threading.Event(), threading.Event()

    class HeldBack(Store):
        def ls(self, directory: str = ""):
            asked.set()
            assert answer.wait(300), "nobody has let it answer"
            return super().ls(directory)

    opened_as(HeldBack)
    return asked, answer


def write(store: Store, batches: int = 3) -> Store:
    query = FakeQuery(store)
    for batch_id in range(batches):
        commit(query, batch_id)
    return store


def commit(query: FakeQuery, batch_id: int) -> None:
    query.plan(batch_id)
    query._write(f"commits/{batch_id}", b"v1\n{}")


async def together(*waits):
    """All at once, none longer than a test may take."""
    return await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 30)


# --- sharing ---------------------------------------------------------------------------------------------------------


def test_ten_waits_cost_the_storage_as_much_as_one(lake, asked):
    async def look(waits: int) -> list[Counter[str]]:
        costs = []
        async with poll_pool().of("lake", lake.location) as poller:
            for _ in range(3):
                asked.clear()
                seen = await together(*(poller.within(0.0, OFFSETS) for _ in range(waits)))
                assert [progress.batch_id for progress in seen] == [2] * waits
                costs.append(Counter(asked))
        return costs

    one = asyncio.run(look(1))
    assert one == [{"list": 1, "read": 2}, {"list": 1, "read": 1}, {"list": 1}], "the second reads the rate"
    assert asyncio.run(look(10)) == one


def test_a_checkpoint_that_is_not_there_yet_costs_no_more(lake, asked):
    async def look() -> None:
        async with poll_pool().of("lake", f"{lake.location}-later") as poller:
            for _ in range(3):
                asked.clear()
                assert (await poller.within(0.0, OFFSETS)).batch_id is None
                assert asked.total() <= 2

    asyncio.run(look())


def test_a_shared_look_brings_what_each_of_them_needs(local):
    async def look():
        async with poll_pool().of(None, local.location) as poller:
            return await together(poller.within(0.0, OFFSETS), poller.within(0.0, Idle(0).needs))

    first, second = asyncio.run(look())
    assert first is second
    assert first.offsets is not None and first.planned == 2


def test_a_wait_that_is_due_earlier_wakes_the_others(local):
    async def look():
        async with poll_pool().of(None, local.location) as poller:
            patient = asyncio.ensure_future(poller.within(3600.0, OFFSETS))
            await asyncio.sleep(0.1)
            assert not patient.done()
            return await together(poller.within(0.05, OFFSETS), patient)

    first, second = asyncio.run(look())
    assert first is second


def test_who_comes_while_a_look_is_under_way_gets_the_next_one(local, opened_as):
    """What it has seen may be older than the wait."""
    under_way, answer = hold_back(opened_as)

    async def look():
        async with poll_pool().of(None, local.location) as poller:
            first = asyncio.ensure_future(poller.within(0.0, OFFSETS))
            assert await asyncio.to_thread(under_way.wait, 30)
            second = asyncio.ensure_future(poller.within(0.0, OFFSETS))
            await asyncio.sleep(0.01)  # it has asked
            answer.set()
            return await together(first, second)

    first, second = asyncio.run(look())
    assert first is not second and first.polled_at_ms <= second.polled_at_ms


def test_checkpoints_of_one_bucket_share_a_driver(lake, monkeypatch):
    drivers, beside = [], AsyncStore.beside

    async def counted(store: Store):
        drivers.append(await beside(store))
        return drivers[-1]

    monkeypatch.setattr(AsyncStore, "beside", counted)

    async def look(name: str):
        async with poll_pool().of("lake", f"{lake.location}{name}") as poller:
            return await poller.within(0.0, OFFSETS)

    async def look_at_many():
        return await together(*(look(name) for name in ("", *map(str, range(20)))))

    assert [progress.batch_id for progress in asyncio.run(look_at_many())] == [2] + [None] * 20
    assert len(drivers) == 1, "all of them came at once"


def test_looks_are_bounded(tmp_path, opened_as):
    under_way, most, lock = [0], [0], threading.Lock()

    class Watched(Store):
        def ls(self, directory: str = ""):
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            time.sleep(0.02)
            with lock:
                under_way[0] -= 1
            return super().ls(directory)

    opened_as(Watched)

    async def look(number: int):
        async with poll_pool().of(None, str(tmp_path / str(number))) as poller:
            return await poller.within(0.0, Needs())

    async def look_at_many():
        return await together(*map(look, range(5 * POLLS_AT_ONCE)))

    assert {progress.batch_id for progress in asyncio.run(look_at_many())} == {None}
    assert 1 < most[0] <= POLLS_AT_ONCE


# --- trouble ---------------------------------------------------------------------------------------------------------


def test_one_that_gives_up_does_not_harm_the_others(local, opened_as):
    under_way, answer = hold_back(opened_as)

    async def look():
        async with poll_pool().of(None, local.location) as poller:
            waits = [asyncio.ensure_future(poller.within(0.0, OFFSETS)) for _ in range(3)]
            assert await asyncio.to_thread(under_way.wait, 30)
            waits[0].cancel()
            await asyncio.sleep(0.01)  # it has gone
            answer.set()
            return await together(*waits)

    gone, *others = asyncio.run(look())
    assert isinstance(gone, asyncio.CancelledError)
    assert [progress.batch_id for progress in others] == [2, 2]


def test_when_the_earliest_gives_up_the_others_still_get_their_look(local):
    async def look():
        async with poll_pool().of(None, local.location) as poller:
            waits = [asyncio.ensure_future(poller.within(pause, OFFSETS)) for pause in (0.2, 0.4)]
            await asyncio.sleep(0.05)
            waits[0].cancel()
            return await together(*waits)

    assert asyncio.run(look())[1].batch_id == 2


def test_an_error_reaches_all_and_the_next_look_is_not_hurt(local):
    entry = local.read("offsets/2")
    local.write("offsets/2", b"")

    async def look():
        async with poll_pool().of(None, local.location) as poller:
            errors = await together(*(poller.within(0.0, OFFSETS) for _ in range(3)))
            local.write("offsets/2", entry)
            return errors, await poller.within(0.0, OFFSETS)

    errors, progress = asyncio.run(look())
    assert len(errors) == 3 and all(isinstance(error, CheckpointFormatError) for error in errors)
    assert progress.batch_id == 2


def test_a_storage_that_cannot_be_opened_is_opened_anew(local, monkeypatch):
    opens, store = [], CheckpointHook.store

    def flaky(self, location):
        opens.append(location)
        if len(opens) == 1:
            raise StoreUnavailableError("away", location=location)
        return store(self, location)

    monkeypatch.setattr(CheckpointHook, "store", flaky)

    async def look():
        async with poll_pool().of(None, local.location) as poller:
            first = await together(poller.within(0.0, OFFSETS), poller.within(0.0, OFFSETS))
            return first, await poller.within(0.0, OFFSETS)

    first, progress = asyncio.run(look())
    assert [type(error) for error in first] == [StoreUnavailableError] * 2
    assert progress.batch_id == 2 and len(opens) == 2


# --- release ---------------------------------------------------------------------------------------------------------


def test_all_is_released_when_the_last_one_ends(lake, monkeypatch):
    closed, close = [], AsyncStore.close

    async def counted(self):
        client = await self.fs.set_session()
        await close(self)
        closed.append(client)

    monkeypatch.setattr(AsyncStore, "close", counted)

    async def look():
        first, second = poll_pool().of("lake", lake.location), poll_pool().of("lake", lake.location)
        poller, same = await first.__aenter__(), await second.__aenter__()
        assert poller is same
        await poller.within(0.0, OFFSETS)
        waiting = asyncio.ensure_future(same.within(3600.0, OFFSETS))
        await first.__aexit__(None, None, None)
        assert not closed and not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await second.__aexit__(None, None, None)
        assert len(closed) == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}
        async with poll_pool().of("lake", lake.location) as again:
            assert (await again.within(0.0, OFFSETS)).batch_id == 2, "and opened anew when somebody comes again"

    asyncio.run(look())
    assert len(closed) == 2
    for client in closed:
        sessions = client._endpoint.http_session._sessions or {}
        assert all(session.closed for session in sessions.values()), "no connection is left open"


def test_a_wait_that_is_cancelled_while_the_storage_is_opened_leaves_nothing(lake):
    async def look():
        async with poll_pool().of("lake", lake.location) as poller:
            await poller.within(0.0, OFFSETS)

    async def cancel_at(pause_s: float) -> None:
        task = asyncio.ensure_future(look())
        await asyncio.sleep(pause_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert not module._POOLS

    for pause_s in (0.0, 0.001, 0.01, 0.03, 0.1, 0.2):
        asyncio.run(cancel_at(pause_s))


# --- event loops -----------------------------------------------------------------------------------------------------


def test_natively_and_on_threads_a_look_shows_the_same(lake, monkeypatch):
    async def look(name: str):
        async with poll_pool().of("lake", f"{lake.location}{name}") as poller:
            seen = [await poller.within(0.0, Needs(offsets=True, planned_after_ms=0)) for _ in range(2)]
            earlier = [progress.earlier.batch_id if progress.earlier else None for progress in seen]
            seen = [replace(progress, polled_at_ms=0, earlier=None) for progress in seen]
            return seen, poller.opened.native, earlier

    def looks() -> list:
        return [asyncio.run(look(name)) for name in ("", "-later")]

    natively = looks()
    assert all(native is not None for _, native, _ in natively)

    async def none(store: Store) -> None:
        return None

    monkeypatch.setattr(AsyncStore, "beside", none)
    on_threads = looks()
    assert all(native is None for _, native, _ in on_threads)
    assert [(seen, earlier) for seen, _, earlier in natively] == [(seen, earlier) for seen, _, earlier in on_threads]
    lake.write("offsets/2", b"")
    with pytest.raises(CheckpointFormatError) as refused:
        asyncio.run(look(""))
    assert refused.value.location == lake.location


def test_a_slow_storage_never_blocks_the_event_loop(tmp_path, opened_as):
    threads, ticked = set(), threading.Event()

    class Slow(Store):
        def ls(self, directory: str = ""):
            threads.add(threading.get_ident())
            assert ticked.wait(300), "the event loop stands still"
            return super().ls(directory)

    opened_as(Slow)

    async def look(number: int):
        async with poll_pool().of(None, str(tmp_path / str(number))) as poller:
            return await poller.within(0.0, Needs())

    async def beside() -> None:
        waits = asyncio.gather(*map(look, range(4)))
        while not threads:
            await asyncio.sleep(0.01)
        for _ in range(5):
            await asyncio.sleep(0.01)
        ticked.set()
        await waits

    asyncio.run(beside())
    assert threads and threading.get_ident() not in threads


def test_two_event_loops_in_one_process_do_not_mix(lake):
    """As ``dags test`` has them, one after the other, and a test of a user's at once."""
    both = threading.Barrier(2)
    seen = []

    async def look(meet: bool):
        async with poll_pool().of("lake", lake.location) as poller:
            progress = await poller.within(0.0, OFFSETS)
            if meet:
                both.wait(300)
                assert len(module._POOLS) == 2
                both.wait(300)
            again = await poller.within(0.0, OFFSETS)
            seen.append((progress.batch_id, again.batch_id))

    threads = [threading.Thread(target=lambda: asyncio.run(look(True))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    for _ in range(2):
        asyncio.run(look(False))
    assert seen == [(2, 2)] * 4
