"""Thousands of waits in one triggerer process: the delay of its event loop, memory, requests, commit to event.

The storage is a real S3 API in a process of its own. Every query commits a batch per poll interval, so that most polls
find something new, and its watermark does not move, so that no wait may poll more seldom because its target is far. The
waits are real triggers, run as the triggerer runs them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

INTERVAL_S = 30.0
WAITS_PER_CHECKPOINT = 10
CHECKPOINTS_PER_BUCKET = 50
#: Batches that each commit log keeps.
KEPT_BATCHES = 5
#: A triggerer starts 50 a second; here they come five times as fast.
STARTED_AT_ONCE, STARTED_EVERY_S = 50, 0.2
#: The first poll of a wait comes within half an interval; what is measured after that is longer than an interval.
SETTLE_S, STEADY_S = 17.0, 32.0
#: The process that waits for nothing is measured for less.
IDLE_S = 10.0
PROBE_S = 0.1
NATIVE, THREADS = "S3 natively", "S3 on threads"
RUNS = ((NATIVE, 0), (NATIVE, 100), (NATIVE, 1_000), (NATIVE, 10_000), (THREADS, 1_000))
CONNECTION = "waits"
COLUMNS = (
    f"{WAITS_PER_CHECKPOINT} waits a checkpoint, poke_interval {INTERVAL_S:g} s",
    *(f"{waits:,} waits" + (", threads" if storage == THREADS else "") for storage, waits in RUNS),
    "aim",
)


def measure(directory: Path) -> Iterator[tuple[str, ...]]:
    """Run every number of waits in a process of its own; no waits are the machine's own delay."""
    runs = [measure_in_a_process(storage, waits) for storage, waits in RUNS]
    for what, (show, aim) in ROWS.items():
        yield what, *(show(got) if got["waits"] or "loop" in what else "-" for got in runs), aim


def measure_in_a_process(storage: str, waits: int) -> dict[str, Any]:
    """One number of waits."""
    with s3_in_a_process(max(1, waits // WAITS_PER_CHECKPOINT)) as url:
        command = [sys.executable, __file__, "wait", url, str(waits), storage]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=airflow_env(url))
    return json.loads(done.stdout.splitlines()[-1])


#: What is shown of a run, and what it should be.
ROWS: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    "event loop, delay p50 / p99 / max, ms": (lambda got: delays_text(got["delays_s"]), "p99 < 100"),
    "event loop, of that by its own work": (lambda got: delays_text(got["own_delays_s"]), ""),
    "  while the waits start": (lambda got: delays_text(got["starting_delays_s"]), ""),
    "requests a poll": (lambda got: f"{got['requests'] / got['polls']:.2f}", "<= 2"),
    "polls a checkpoint in 30 s": (
        lambda got: f"{got['polls'] * WAITS_PER_CHECKPOINT / got['waits'] * 30 / STEADY_S:.2f}",
        "",
    ),
    "memory a wait": (lambda got: f"{got['grown_kib'] / got['waits']:.1f} KiB", ""),
    "CPU of one core": (lambda got: f"{got['cpu']:.0%}", ""),
    "waits that fired, of those that were due": (lambda got: f"{len(got['late_s']):,} of {got['due']:,}", "all"),
    "from commit to event, p50 / max, s": (
        lambda got: f"{statistics.median(got['late_s']):.1f} / {max(got['late_s']):.1f}",
        "",
    ),
}


def delays_text(delays_s: list[float]) -> str:
    """Median, 99th percentile and maximum, milliseconds."""
    ordered = sorted(delays_s)
    picked = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1]
    return " / ".join(f"{delay * 1000:.1f}" for delay in picked)


def airflow_env(url: str) -> dict[str, str]:
    """Environment of the process that waits: a connection that opens the storage."""
    options = {"key": "k", "secret": "s", "endpoint_url": url}
    connection = {"conn_type": "checkpoint", "extra": {"storage_options": options}}
    return {**os.environ, f"AIRFLOW_CONN_{CONNECTION.upper()}": json.dumps(connection)}


def location(checkpoint: int) -> tuple[str, str]:
    """Bucket and prefix of a checkpoint."""
    return f"lake-{checkpoint // CHECKPOINTS_PER_BUCKET}", f"queries/{checkpoint}"


def query_id(checkpoint: int) -> str:
    """Id of the query of a checkpoint."""
    return str(uuid.UUID(int=checkpoint))


# --- the process that waits ------------------------------------------------------------------------------------------


class Waits:
    """The waits of one process, and when which of them fired."""

    def __init__(self, url: str, count: int) -> None:
        self.url, self.count = url, count
        self.tasks: list[asyncio.Task[None]] = []
        self.due = 0
        self.fired: list[tuple[str, float]] = []
        self.delays_s: list[float] = []
        self.own_delays_s: list[float] = []

    async def measure(self) -> dict[str, Any]:
        """Start them, and see what they cost once all have begun."""
        if self.count:
            first = self._wait(0, {"condition": "batch", "batch_id": 0})
            await asyncio.create_task(first)  # what is loaded once is loaded
        probe = asyncio.create_task(self._probe())
        before_kib = memory_kib()
        await self._start()
        if self.count:
            await asyncio.sleep(SETTLE_S)
        await self._ask("reset")
        started, cpu_s = len(self.delays_s), time.process_time()
        await asyncio.sleep(STEADY_S if self.count else IDLE_S)
        counted = await self._ask("counts")
        cpu, grown_kib = (time.process_time() - cpu_s) / STEADY_S, memory_kib() - before_kib
        probe.cancel()
        for task in self.tasks:
            task.cancel()
        ended = await asyncio.gather(*self.tasks, return_exceptions=True)
        for error in filter(lambda end: isinstance(end, Exception), ended):
            raise error
        late = [at_s - counted["commits"][batch] for batch, at_s in self.fired if batch in counted["commits"]]
        return {
            "starting_delays_s": self.delays_s[:started],
            "delays_s": self.delays_s[started:],
            "own_delays_s": self.own_delays_s[started:],
            "grown_kib": grown_kib,
            "cpu": cpu,
            "due": self.due,
            "late_s": late,
            "waits": self.count,
            "requests": counted["requests"] if self.count else 0,
            "polls": counted["polls"] if self.count else 0,
        }

    async def _start(self) -> None:
        """As the triggerer: a few, then a pause."""
        for number in range(self.count):
            checkpoint, nth = divmod(number, WAITS_PER_CHECKPOINT)
            target = {"condition": "watermark", "watermark_ms": 2 * 10**12}
            if nth == 0:
                target = {"condition": "next_batch", "after_ms": int(time.time() * 1000)}
                self.due += 1
            self.tasks.append(asyncio.create_task(self._wait(checkpoint, target, {"query_id": query_id(checkpoint)})))
            if number % STARTED_AT_ONCE == STARTED_AT_ONCE - 1:
                await asyncio.sleep(STARTED_EVERY_S)

    async def _wait(self, checkpoint: int, target: dict[str, Any], start: dict[str, Any] | None = None) -> None:
        """One wait, to its event."""
        import greenback

        from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger

        await greenback.ensure_portal()
        bucket, prefix = location(checkpoint)
        trigger = CheckpointProgressTrigger(
            checkpoint=f"s3://{bucket}/{prefix}",
            condition=target,
            start=start,
            checkpoint_conn_id=CONNECTION,
            poke_interval=INTERVAL_S,
        )
        async with aclosing(trigger.run()) as events:
            event = (await anext(events)).payload
        if event["status"] != "reached":
            raise RuntimeError(f"a wait ended with {event}")
        if start is not None:
            self.fired.append((f"{checkpoint}/{event['batch_id']}", time.time()))

    async def _probe(self) -> None:
        """How late the event loop is, as the triggerer's watchdog sees it."""
        while True:
            began_s, cpu_s = time.perf_counter(), time.thread_time()
            await asyncio.sleep(PROBE_S)
            delay_s = max(0.0, time.perf_counter() - began_s - PROBE_S)
            self.delays_s.append(delay_s)
            self.own_delays_s.append(min(delay_s, time.thread_time() - cpu_s))

    async def _ask(self, what: str) -> dict[str, Any]:
        response = await asyncio.to_thread(urllib.request.urlopen, f"{self.url}/bench/{what}")
        return json.loads(response.read())


def memory_kib() -> int:
    """What the process holds in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def wait_here(url: str, count: str, storage: str) -> None:
    """The whole of the process that waits; prints what it has measured."""
    from airflow_provider_ckpt.storage.async_store import AsyncStore

    logging.disable(logging.INFO)
    if storage == THREADS:

        async def none(store: object) -> None:
            """There is no native driver."""

        AsyncStore.beside = none
    print(json.dumps(asyncio.run(Waits(url, int(count)).measure())))


# --- the process that is the storage ---------------------------------------------------------------------------------


class Queries:
    """Queries that commit into a real S3 API, each in its own phase of the interval."""

    def __init__(self, count: int) -> None:
        from moto.s3.models import s3_backends

        self.backend = s3_backends["123456789012"]["aws"]
        self.lock = threading.Lock()
        self.counted: Counter[str] = Counter()
        self.commits: dict[str, float] = {}
        now_s = time.time()
        self.next_s = [now_s + random.uniform(0, INTERVAL_S) for _ in range(count)]
        self.next_batch = [KEPT_BATCHES] * count
        for number in range(0, count, CHECKPOINTS_PER_BUCKET):
            self.backend.create_bucket(location(number)[0], "us-east-1")
        for checkpoint, next_s in enumerate(self.next_s):
            self._put(checkpoint, "metadata", json.dumps({"id": query_id(checkpoint)}), now_s)
            for batch in range(KEPT_BATCHES):
                self._batch(checkpoint, batch, next_s - (KEPT_BATCHES - batch) * INTERVAL_S)

    def run(self) -> None:
        """Commit what is due, for ever."""
        while True:
            time.sleep(0.02)
            now_s = time.time()
            due = [checkpoint for checkpoint, at_s in enumerate(self.next_s) if at_s <= now_s]
            with self.lock:
                for checkpoint in due:
                    self._commit(checkpoint, now_s)

    def _commit(self, checkpoint: int, now_s: float) -> None:
        batch = self.next_batch[checkpoint]
        self._batch(checkpoint, batch, now_s)
        bucket, prefix = location(checkpoint)
        for log in ("offsets", "commits"):
            self.backend.delete_object(bucket, f"{prefix}/{log}/{batch - KEPT_BATCHES}")
        self.commits[f"{checkpoint}/{batch}"] = now_s
        self.next_s[checkpoint] += INTERVAL_S
        self.next_batch[checkpoint] += 1

    def _batch(self, checkpoint: int, batch: int, at_s: float) -> None:
        metadata = {"batchWatermarkMs": 10**12, "batchTimestampMs": int(at_s * 1000) - 100, "conf": {}}
        offsets = {"events": {str(partition): batch * 1000 for partition in range(12)}}
        self._put(checkpoint, f"offsets/{batch}", f"v1\n{json.dumps(metadata)}\n{json.dumps(offsets)}", at_s)
        self._put(checkpoint, f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}', at_s)

    def _put(self, checkpoint: int, name: str, text: str, at_s: float) -> None:
        bucket, prefix = location(checkpoint)
        key = self.backend.put_object(bucket, f"{prefix}/{name}", text.encode(), disable_notification=True)
        key.last_modified = datetime.fromtimestamp(at_s, UTC).replace(tzinfo=None)

    def counting(self, app: Callable[..., Any]) -> Callable[..., Any]:
        """The S3 API, which counts what it is asked for and tells it."""

        def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            with self.lock:
                if environ["PATH_INFO"].startswith("/bench/"):
                    told = {**self.counted, "commits": self.commits}
                    if environ["PATH_INFO"].endswith("/reset"):
                        self.counted.clear()
                    start_response("200 OK", [("Content-Type", "application/json")])
                    return [json.dumps(told).encode()]
                self.counted["requests"] += 1
                self.counted["polls"] += "commits%2F" in environ["QUERY_STRING"]
                return app(environ, start_response)

        return answer


def serve(count: str) -> None:
    """The whole of the process that is the storage; prints its URL."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    queries = Queries(int(count))
    app = queries.counting(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=queries.run, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


@contextmanager
def s3_in_a_process(checkpoints: int) -> Iterator[str]:
    """The URL of a storage in which so many queries commit."""
    process = subprocess.Popen([sys.executable, __file__, "serve", str(checkpoints)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", count]:
            serve(count)
        case ["wait", url, count, storage]:
            wait_here(url, count, storage)
