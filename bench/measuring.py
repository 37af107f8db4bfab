"""How the benchmarks measure: processes, two calls in turn, requests to a real S3 API."""

from __future__ import annotations

import logging
import shutil
import statistics
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from airflow_provider_ckpt.storage.store import Store

#: What is measured, ours, theirs, the ratio, and what it should be.
Row = tuple[str, str, str, str, str]


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds of two calls, measured one after the other, so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, taken in zip((ours, theirs), times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def run(command: list[str], env: Mapping[str, str] | None = None) -> str:
    """The output of a process."""
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def timed(command: list[str]) -> float:
    """The seconds that a process takes."""
    started = time.perf_counter()
    run(command)
    return time.perf_counter() - started


def require_rclone() -> None:
    """End the benchmark when there is nothing to compare with."""
    if shutil.which("rclone") is None:
        raise SystemExit("rclone is what backups are compared with: apt-get install rclone")


@contextmanager
def s3_store() -> Iterator[tuple[Store, list[str]]]:
    """A store in a bucket of its own of a real S3 API, and the requests that it has sent."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    bucket, sent = f"bench-{uuid.uuid4()}", []
    store = Store.open(f"s3://{bucket}/lake", key="k", secret="s", endpoint_url=f"http://{host}:{port}")
    store.fs.mkdir(bucket)
    store.fs.s3.meta.events.register("before-send.s3", lambda event_name, **_: sent.append(event_name))
    try:
        yield store, sent
    finally:
        server.stop()
