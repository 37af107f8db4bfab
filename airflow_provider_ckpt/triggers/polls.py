"""One look for all that wait on a checkpoint, in one triggerer process.

Ten waits on a checkpoint cost the storage as much as one: a look is taken when the first of them wants it, and all get
it. Stores that block run on a bounded pool of threads, S3 natively in the event loop; both with a bound on how many
looks are under way, so that ten thousand waits do not start at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from airflow_provider_ckpt.async_store import AsyncStore
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.lifecycle.watching import Asks, List, Watched, answer
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.waiting import Needs

Result = TypeVar("Result")

#: Threads for stores that block.
THREADS = 16
#: Looks that are under way at once: their answers may all come in one turn of the event loop, at 3 ms each.
LOOKS = 8


class Polls:
    """The checkpoints that one event loop looks at."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str | None, str], SharedLooks] = {}
        self._drivers: dict[tuple[str | None, str], _Driver] = {}
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ckpt-look")
        self._slots = asyncio.Semaphore(LOOKS)

    @asynccontextmanager
    async def of(self, checkpoint_conn_id: str | None, location: str) -> AsyncIterator[SharedLooks]:
        """The looks at one checkpoint, kept for as long as somebody uses them."""
        key = (checkpoint_conn_id, location)
        shared = self._shared.setdefault(key, SharedLooks(self, *key))
        shared.users += 1
        try:
            yield shared
        finally:
            shared.users -= 1
            if not shared.users:
                del self._shared[key]
                await shared.close()
            if not self._shared and _POLLS.get(loop := asyncio.get_running_loop()) is self:
                del _POLLS[loop]
                self._pool.shutdown(wait=False)

    async def in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call something that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def look(self, opened: _Opened, needs: Needs) -> Progress:
        """Take a look."""
        async with self._slots:
            asks = opened.watched.look(needs)
            native = opened.native
            if native is None:
                return await self.in_thread(answer, asks, opened.store)
            return await answer_natively(asks, native)

    async def open(self, checkpoint_conn_id: str | None, location: str) -> _Opened:
        """Open a checkpoint; those of one connection and bucket share a driver, with its connections."""
        hook = CheckpointHook(checkpoint_conn_id)
        url = await self.in_thread(hook.url, location)
        key = (checkpoint_conn_id, _driver_key(url))
        driver = self._drivers.setdefault(key, _Driver(key))
        driver.users += 1
        try:
            async with driver.opening:
                if driver.store is None:
                    store = await self.in_thread(hook.store, location)
                    driver.native = await AsyncStore.beside(store)
                    driver.store = store
        except BaseException:
            await self._leave(driver)
            raise
        store = driver.store.at(url)
        return _Opened(store, driver.native.at(url) if driver.native else None, Watched(store.location), driver)

    async def release(self, opened: _Opened) -> None:
        """A checkpoint is not looked at any more."""
        await self._leave(opened.driver)

    async def _leave(self, driver: _Driver) -> None:
        driver.users -= 1
        if not driver.users:
            del self._drivers[driver.key]
            if driver.native is not None:
                await driver.native.close()


@dataclass(slots=True)
class _Driver:
    """What several checkpoints of one storage share."""

    key: tuple[str | None, str]
    store: Store | None = None
    native: AsyncStore | None = None
    users: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class _Opened:
    """A checkpoint that is looked at."""

    store: Store
    native: AsyncStore | None
    watched: Watched
    driver: _Driver


@dataclass(slots=True, eq=False)
class SharedLooks:
    """The looks at one checkpoint.

    Args:
        polls: Where they are taken.
        checkpoint_conn_id: Connection of type ``checkpoint``, or None.
        location: The checkpoint.
        users: How many wait on it.
    """

    polls: Polls
    checkpoint_conn_id: str | None
    location: str
    users: int = 0
    opened: _Opened | None = None
    _wanted: dict[asyncio.Future[Progress], tuple[float, Needs]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _looking: asyncio.Task[None] | None = None

    async def within(self, pause_s: float, needs: Needs) -> Progress:
        """The next look: after so many seconds, or earlier when somebody else wants one earlier.

        Raises as :meth:`Watched.look <airflow_provider_ckpt.lifecycle.watching.Watched.look>`.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Progress] = loop.create_future()
        self._wanted[future] = (loop.time() + pause_s, needs)
        self._changed.set()
        if self._looking is None or self._looking.done():
            self._looking = loop.create_task(self._run())
        try:
            return await future
        finally:
            self._wanted.pop(future, None)

    @property
    def earlier(self) -> Progress | None:
        """An older batch, to take the rate from."""
        return self.opened.watched.earlier if self.opened else None

    async def close(self) -> None:
        """Nobody waits any more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        if self.opened is not None:
            await self.polls.release(self.opened)

    async def _run(self) -> None:
        """Look whenever somebody is due, for as long as somebody waits."""
        while self._wanted:
            self._changed.clear()
            pause_s = min(due for due, _ in self._wanted.values()) - asyncio.get_running_loop().time()
            if pause_s > 0:
                try:
                    await asyncio.wait_for(self._changed.wait(), pause_s)
                except TimeoutError:
                    pass
                else:
                    continue
            await self._look()

    async def _look(self) -> None:
        """One look for all that wait now."""
        waiting = list(self._wanted)
        needs = Needs()
        for _, own in self._wanted.values():
            needs |= own
        try:
            if self.opened is None:
                self.opened = await self.polls.open(self.checkpoint_conn_id, self.location)
            progress = await self.polls.look(self.opened, needs)
        except Exception as error:  # every wait is told, and says so in its own log
            for future in waiting:
                if not future.done():
                    future.set_exception(error)
        else:
            for future in waiting:
                if not future.done():
                    future.set_result(progress)
        for future in waiting:
            self._wanted.pop(future, None)


async def answer_natively(asks: Asks[Result], store: AsyncStore) -> Result:
    """Carry the steps of a look out in the event loop."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            ask = asks.throw(error) if error else asks.send(reply)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        reply, error = None, None
        try:
            reply = await (store.listing(ask.directory) if isinstance(ask, List) else store.fetch(ask.name))
        except CheckpointNotFoundError as missing:
            error = missing


def _driver_key(url: str) -> str:
    """Scheme and host of a URL; nothing for a path."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if mark else ""


_POLLS: WeakKeyDictionary[asyncio.AbstractEventLoop, Polls] = WeakKeyDictionary()


def polls() -> Polls:
    """Those of the running event loop; a triggerer has one."""
    loop = asyncio.get_running_loop()
    if loop not in _POLLS:
        _POLLS[loop] = Polls()
    return _POLLS[loop]
