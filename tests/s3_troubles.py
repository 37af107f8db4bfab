"""An S3 API over HTTP that has a trouble with one request: it refuses it, or carries it out and does not say so."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock

from airflow_provider_ckpt.storage.store import Store
from tests.s3_server import Handler, serving

#: What the API answers without doing anything.
REFUSALS = {
    "500": (500, "InternalError", "We encountered an internal error. Please try again."),
    "503": (503, "SlowDown", "Please reduce your request rate."),
}
#: What it does not answer after it has done what was asked.
CLOSED, SILENT = "closed", "silent"
#: How long a client waits for an answer that never comes; a busy machine is quicker than that.
TIMEOUT_S = 2.0


class Troubles:
    """Counts requests, and has a trouble with one of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.requests, self._at, self._what, self._last = 0, 0, "", 0
        self.ended = Event()

    def expect(self, what: str = "", at: int = 0, requests: int = 1) -> None:
        """From now on: a trouble of this name with some requests, the first of which is counted as 1."""
        with self._lock:
            self.requests, self._at, self._last, self._what = 0, at, at + requests, what

    def of_next(self) -> str:
        """The trouble with this request."""
        with self._lock:
            self.requests += 1
            return self._what if self._at <= self.requests < self._last else ""


@contextmanager
def troubled(retries: int, *, timeout_s: float = 60) -> Iterator[tuple[Troubles, Store]]:
    """An API with its troubles, and a bucket in it, whose driver asks so many times, and waits so long each time."""
    troubles = Troubles()

    class Troubled(Handler):
        def run_wsgi(self) -> None:
            what = troubles.of_next()
            if what and self.headers.get("Expect", "").lower() == "100-continue":
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                self.wfile.flush()
                del self.headers["Expect"]
            if what in REFUSALS:
                self._refuse(*REFUSALS[what])
            elif what:
                answer, self.wfile = self.wfile, io.BytesIO()
                super().run_wsgi()
                self.wfile, self.close_connection = answer, True
                if what == SILENT:
                    troubles.ended.wait(60)
            else:
                super().run_wsgi()

        def _refuse(self, code: int, name: str, message: str) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = f"<Error><Code>{name}</Code><Message>{message}</Message></Error>".encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    with serving(Troubled) as url:
        config = {"retries": {"total_max_attempts": 1}, "read_timeout": timeout_s}
        bucket = Store.open("s3://troubled", key="test", secret="test", endpoint_url=url, config_kwargs=config)
        bucket.fs.retries = retries
        if not bucket.fs.exists("troubled"):
            bucket.fs.mkdir("troubled")
        try:
            yield troubles, bucket
        finally:
            troubles.ended.set()
