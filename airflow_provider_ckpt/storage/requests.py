"""Requests to a storage, made by a generator and answered by whoever drives it: on a thread, or in an event loop.

A computation that needs something of the storage yields a request, is sent the answer, and returns its result. So its
steps are written once and do no IO, whether a store is read, a backup copies what is read, or a driver speaks asyncio.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from airflow_provider_ckpt.errors import CheckpointNotFoundError, UnreadableError
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.storage.async_store import AsyncStore

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


class List(NamedTuple):
    """The objects of a directory, by name."""

    directory: str


class Read(NamedTuple):
    """The bytes of an object."""

    name: str


#: A computation that lists and reads.
Requests = Generator[List | Read, Any, Result]


def drive(requests: Generator[Request, Answer, Result], answer: Callable[[Request], Answer]) -> Result:
    """Answer each request with a call that blocks. It may catch that an object was not found, or opened."""
    try:
        request = next(requests)
        while True:
            try:
                reply = answer(request)
            except (CheckpointNotFoundError, UnreadableError) as missing:
                request = requests.throw(missing)
            else:
                request = requests.send(reply)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def drive_async(
    requests: Generator[Request, Answer, Result], answer: Callable[[Request], Awaitable[Answer]]
) -> Result:
    """:func:`drive` with calls that are awaited."""
    try:
        request = next(requests)
        while True:
            try:
                reply = await answer(request)
            except (CheckpointNotFoundError, UnreadableError) as missing:
                request = requests.throw(missing)
            else:
                request = requests.send(reply)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def answer_from(store: Store) -> Callable[[List | Read], Any]:
    """Answer requests by calls of a store that blocks."""
    return lambda request: store.ls(request.directory)[0] if isinstance(request, List) else store.read(request.name)


def answer_natively(store: AsyncStore) -> Callable[[List | Read], Awaitable[Any]]:
    """Answers out of a store whose driver speaks asyncio."""
    return lambda asked: store.listing(asked.directory) if isinstance(asked, List) else store.fetch(asked.name)
