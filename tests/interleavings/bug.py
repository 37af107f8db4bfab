"""A protocol with a bug, to see that the search finds it: a patch of the package, where it shows, and by what."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from tests.interleavings.search import Scenario


@dataclass(frozen=True, slots=True)
class Bug:
    """A protocol that is wrong.

    Args:
        name: What it does wrong.
        patch: Makes it so.
        scenario: Where that shows.
        broken: The invariants of which one finds it.
        bound: The preemptions that it takes.
        kind: Of the storage.
        is_long: Whether that takes seconds, so that `make interleavings` alone searches for it.
    """

    name: str
    patch: Callable[[], AbstractContextManager[Any]]
    scenario: Callable[[str], Scenario]
    broken: tuple[str, ...]
    bound: int = 1
    kind: str = "disk"
    is_long: bool = False


def replaced(target: object, name: str, new: object) -> Callable[[], AbstractContextManager[Any]]:
    """A patch of one function."""
    return lambda: mock.patch.object(target, name, new)


def nothing(*arguments: object, **options: object) -> None:
    """Is left out."""
