"""A service over HTTP whose answers a test gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from airflow_provider_ckpt.engines.connection import Connection


class Service:
    """Answers by method and path without its query: a document, a status with a document, or bytes.

    Attributes:
        answers: What is answered; a list is answered one by one, its last one again and again.
        asked: What was asked: method, path with its query, and body.
        headers: The headers of the newest question.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: dict[str, str] = {}
        self.url = ""

    @property
    def connection(self) -> Connection:
        """How it is reached."""
        return Connection("there", host=self.url)

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append((method, path, json.loads(body) if body else None))
        said = self.answers.get(f"{method} {path.partition('?')[0]}", (404, {}))
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        status, document = said if isinstance(said, tuple) else (200, said)
        return status, document if isinstance(document, bytes) else json.dumps(document).encode()


@contextmanager
def serving() -> Iterator[Service]:
    """A service, as long as the block lasts."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            service.headers = dict(self.headers.items())
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, text = service.answer(self.command, self.path, body)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{service.url}/elsewhere")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = _any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=lambda: server.serve_forever(0.01))
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
