"""A computation that makes requests gets the same answers, and the same errors, from both drivers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.storage.requests import drive, drive_async


def native(requests: Generator, answer: Callable) -> object:
    """Driven in an event loop, with answers that come in a later turn."""

    async def later(request: str) -> object:
        await asyncio.sleep(0)
        return answer(request)

    return asyncio.run(drive_async(requests, later))


DRIVERS = {"on a thread": drive, "in an event loop": native}


def read(name: str) -> str:
    if name == "gone":
        raise CheckpointNotFoundError("not there", name=name)
    if name == "away":
        raise StoreUnavailableError("does not answer", name=name)
    return name.upper()


def reading(*names: str) -> Generator[str, str, list[str | None]]:
    """What was read under each name; None for what was not found."""
    found: list[str | None] = []
    for name in names:
        try:
            found.append((yield name))
        except CheckpointNotFoundError:
            found.append(None)
    return found


@pytest.mark.parametrize("driven", DRIVERS.values(), ids=DRIVERS)
@pytest.mark.parametrize("names", [(), ("a",), ("a", "b"), ("gone",), ("a", "gone", "b"), ("gone", "gone")])
def test_each_request_is_answered_in_turn(driven, names):
    assert driven(reading(*names), read) == [None if name == "gone" else name.upper() for name in names]


@pytest.mark.parametrize("driven", DRIVERS.values(), ids=DRIVERS)
def test_an_error_that_nobody_catches_ends_the_computation(driven):
    def careless() -> Generator[str, str, str]:
        return (yield "gone")

    with pytest.raises(CheckpointNotFoundError, match="not there"):
        driven(careless(), read)
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        driven(reading("a", "away", "b"), read)
