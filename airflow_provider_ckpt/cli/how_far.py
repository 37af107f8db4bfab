"""Progress messages of a command that reads for long, so that nobody believes that it hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_provider_ckpt.cli.render import say

#: How often it is said, seconds.
EVERY_S = 10.0


@contextmanager
def telling(how_far: Callable[[], str]) -> Iterator[None]:
    """Say on stderr how far it is, each ten seconds until the end; in a job of cron or of Airflow as well."""
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(EVERY_S):
            say(how_far(), err=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
