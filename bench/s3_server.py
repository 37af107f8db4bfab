"""An S3 API in a process of its own that counts the bytes of objects which clients send and fetch."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

COUNTS = "/bench-counts"


@dataclass(frozen=True)
class CountingS3:
    """A running server."""

    url: str

    def during(self, call: Callable[[], object]) -> tuple[float, Counter[str]]:
        """The seconds that a call takes, and what the server counted meanwhile."""
        self._counts()
        started = time.perf_counter()
        call()
        return time.perf_counter() - started, self._counts()

    def _counts(self) -> Counter[str]:
        with urllib.request.urlopen(self.url + COUNTS) as answer:
            return Counter(json.load(answer))


@contextmanager
def counting_s3() -> Iterator[CountingS3]:
    """Start a server and stop it."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield CountingS3(process.stdout.readline().strip())
        finally:
            process.terminate()


def counting(app: Callable[..., Any]) -> Callable[..., Any]:
    """Count the requests to an app, and tell and forget the counts at COUNTS."""
    counted: Counter[str] = Counter()
    lock = Lock()

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ["PATH_INFO"] == COUNTS:
            with lock:
                told = json.dumps(counted).encode()
                counted.clear()
            start_response("200 OK", [("Content-Type", "application/json")])
            return [told]
        body = b"".join(app(environ, start_response))
        with lock:
            counted["requests"] += 1
            counted.update(payload(environ, len(body)))
        return [body]

    return answer


def payload(environ: dict[str, Any], answered: int) -> dict[str, int]:
    """The bytes of an object in one request; listings have no key, and a copy by the server has none."""
    method, (_, _, key) = environ["REQUEST_METHOD"], environ["PATH_INFO"].lstrip("/").partition("/")
    kind = "state" if "/state/" in key else "other"
    if "HTTP_X_AMZ_COPY_SOURCE" in environ:
        return {f"{kind} copies": 1}
    if not key or method not in ("GET", "PUT", "POST"):
        return {}
    return {f"{kind} bytes": answered if method == "GET" else int(environ.get("CONTENT_LENGTH") or 0)}


def serve() -> None:
    """The whole of the process; prints its URL."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, counting(DomainDispatcherApplication(create_backend_app)), threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve()
