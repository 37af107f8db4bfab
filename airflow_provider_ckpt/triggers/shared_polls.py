"""One poll for all that wait on a checkpoint, in one triggerer process.

Ten waits on a checkpoint cost the storage as much as one: a poll is made when the first of them wants it, and all get
it. Stores that block run on a bounded pool of threads, S3 natively in the event loop; both with a bound on how many
polls are under way, so that ten thousand waits do not start at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.progress import Progress
    from airflow_provider_ckpt.storage.async_store import AsyncStore
    from airflow_provider_ckpt.storage.requests import Requests
    from airflow_provider_ckpt.storage.store import Store
    from airflow_provider_ckpt.waiting import Needs
    from airflow_provider_ckpt.waiting.poll import Poller

Result = TypeVar("Result")

#: Threads for stores that block.
THREADS = 16
#: Polls that are under way at once: their answers may all come in one turn of the event loop, at 3 ms each.
POLLS_AT_ONCE = 8
#: Of these threads at most so many ask sources, so that a broker that does not answer leaves some for the storage.
SOURCES_AT_ONCE = 8


class PollPool:
    """The checkpoints that one event loop polls."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str | None, str, str], SharedPoller] = {}
        self._drivers: dict[tuple[str | None, str, str], _Driver] = {}
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ckpt-poll")
        self._slots = asyncio.Semaphore(POLLS_AT_ONCE)
        self._source_slots = asyncio.Semaphore(SOURCES_AT_ONCE)
        self._users = 0

    @contextmanager
    def kept(self) -> Iterator[PollPool]:
        """This pool, kept for as long as somebody uses it."""
        self._users += 1
        try:
            yield self
        finally:
            self._users -= 1
            if not self._users and _POOLS.get(loop := asyncio.get_running_loop()) is self:
                del _POOLS[loop]
                self._pool.shutdown(wait=False)

    @asynccontextmanager
    async def of(
        self, checkpoint_conn_id: str | None, location: str, storage_options: Mapping[str, Any] | None = None
    ) -> AsyncIterator[SharedPoller]:
        """The poller of one checkpoint, kept for as long as somebody uses it."""
        key = (checkpoint_conn_id, location, json.dumps(storage_options or {}, sort_keys=True))
        with self.kept():
            shared = self._shared.setdefault(key, SharedPoller(self, *key))
            shared.users += 1
            try:
                yield shared
            finally:
                shared.users -= 1
                if not shared.users:
                    del self._shared[key]
                    await shared.close()

    async def in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call something that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def ask_sources(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call something that asks sources and so blocks, as soon as there is a slot for it."""
        async with self._source_slots:
            return await self.in_thread(function, *arguments)

    async def poll(self, opened: _Opened, needs: Needs) -> Progress:
        """Poll once, as soon as there is a slot for it."""
        return await self.ask(opened, opened.poller.poll(needs))

    async def ask(self, opened: _Opened, requests: Requests[Progress]) -> Progress:
        """Ask the storage, as soon as there is a slot for it."""
        from airflow_provider_ckpt.storage.requests import answer_from, answer_natively, drive, drive_async

        async with self._slots:
            if opened.native is None:
                return await self.in_thread(drive, requests, answer_from(opened.store))
            return await drive_async(requests, answer_natively(opened.native))

    async def open(self, checkpoint_conn_id: str | None, location: str, options: str = "{}") -> _Opened:
        """Open a checkpoint; those of one connection and bucket share a driver, with its connections."""
        from airflow_provider_ckpt.storage.async_store import AsyncStore
        from airflow_provider_ckpt.waiting.poll import Poller

        hook = CheckpointHook(checkpoint_conn_id, json.loads(options))
        url = await self.in_thread(hook.url, location)
        key = (checkpoint_conn_id, _driver_key(url), options)
        driver = self._drivers.setdefault(key, _Driver(key))
        driver.users += 1
        try:
            async with driver.opening:
                if driver.store is None:
                    store = await self.in_thread(hook.store, location)
                    driver.native = await AsyncStore.beside(store)
                    driver.store = store
        except BaseException:  # a cancelled wait as well
            await self._leave(driver)
            raise
        store = driver.store.at(url)
        return _Opened(store, driver.native.at(url) if driver.native else None, Poller(store.location), driver)

    async def release(self, opened: _Opened) -> None:
        """A checkpoint is not polled any more."""
        await self._leave(opened.driver)

    async def _leave(self, driver: _Driver) -> None:
        driver.users -= 1
        if not driver.users:
            del self._drivers[driver.key]
            if driver.native is not None:
                await driver.native.close()


@dataclass(slots=True)
class _Driver:
    """Driver that several checkpoints of one storage share."""

    key: tuple[str | None, str, str]
    store: Store | None = None
    native: AsyncStore | None = None
    users: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class _Opened:
    """A checkpoint that is polled."""

    store: Store
    native: AsyncStore | None
    poller: Poller
    driver: _Driver


@dataclass(slots=True, eq=False)
class SharedPoller:
    """Polls one checkpoint for all that wait on it.

    Args:
        pool: Pool that opens the checkpoint, and bounds how many polls are under way.
        checkpoint_conn_id: Connection of type ``checkpoint``, or None.
        location: The checkpoint.
        options: Options of the fsspec driver, as JSON.
        users: How many wait on it.
    """

    pool: PollPool
    checkpoint_conn_id: str | None
    location: str
    options: str = "{}"
    users: int = 0
    opened: _Opened | None = None
    _wanted: dict[asyncio.Future[Progress], tuple[float, Needs]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _polling: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The absolute location, once the checkpoint was opened; before that the location as it was given."""
        return self.location if self.opened is None else self.opened.store.location

    async def within(self, pause_s: float, needs: Needs) -> Progress:
        """The next poll: after so many seconds, or earlier when somebody else wants one earlier.

        Raises as :meth:`Poller.poll <airflow_provider_ckpt.waiting.poll.Poller.poll>`.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Progress] = loop.create_future()
        self._wanted[future] = (loop.time() + pause_s, needs)
        self._changed.set()
        if self._polling is None or self._polling.done():
            self._polling = loop.create_task(self._run())
        try:
            return await future
        finally:
            self._wanted.pop(future, None)

    async def with_offsets(self, progress: Progress) -> Progress:
        """Run :meth:`Poller.with_offsets <airflow_provider_ckpt.waiting.poll.Poller.with_offsets>`.

        Returns the progress unchanged when the storage does not answer: the wait has ended all the same.
        """
        if self.opened is not None:
            with suppress(StoreError):
                return await self.pool.ask(self.opened, self.opened.poller.with_offsets(progress))
        return progress

    async def close(self) -> None:
        """Nobody waits any more."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
        if self.opened is not None:
            await self.pool.release(self.opened)

    async def _run(self) -> None:
        """Poll whenever somebody is due, for as long as somebody waits."""
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
            await self._poll()

    async def _poll(self) -> None:
        """One poll for all that wait now."""
        from airflow_provider_ckpt.waiting import Needs

        waiting = list(self._wanted)
        needs = Needs()
        for _, own in self._wanted.values():
            needs |= own
        try:
            if self.opened is None:
                self.opened = await self.pool.open(self.checkpoint_conn_id, self.location, self.options)
            progress = await self.pool.poll(self.opened, needs)
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


def _driver_key(url: str) -> str:
    """Scheme and host of a URL; nothing for a path."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if mark else ""


_POOLS: WeakKeyDictionary[asyncio.AbstractEventLoop, PollPool] = WeakKeyDictionary()


def poll_pool() -> PollPool:
    """The pool of the running event loop; a triggerer has one."""
    loop = asyncio.get_running_loop()
    if loop not in _POOLS:
        _POOLS[loop] = PollPool()
    return _POOLS[loop]
