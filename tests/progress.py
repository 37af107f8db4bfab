"""How far a long run is: a line a minute at most, so that who waits sees that it goes on."""

from __future__ import annotations

import time

import pytest

#: Seconds between two lines.
EVERY = 60.0


class Progress:
    """Tells how many of ``total`` things are done: ``told = Progress(2_000, "tears"); told.done(17)``."""

    def __init__(self, total: int, things: str) -> None:
        self._total, self._things = total, things
        self._began = self._last = time.monotonic()

    def done(self, number: int) -> None:
        """Print a line when the last one is a minute old."""
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            print(f"{number} of {self._total} {self._things} after {now - self._began:.0f} s", flush=True)


def tell(config: pytest.Config, text: str) -> None:
    """Print a line past pytest's capture, from a fixture that takes minutes."""
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n  {text}", end="", flush=True)
