"""A real S3 API over HTTP for the tests: moto's, without what makes its own server slow.

That one serves all of AWS, so it looks at 180 directories for each request to find out which service is meant, and it
closes the connection after each.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock, Thread

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

#: Gets a record for each request, with its method and path.
REQUESTS = logging.getLogger("tests.s3_server")
#: S3 creates an object under a condition at once; moto looks first and writes then, and lists what goes meanwhile.
_WRITES = Lock()


class Handler(MotoRequestHandler):
    """Answers the requests of one connection, one after another, until the client closes it."""

    wbufsize = -1  # head and body of an answer are sent at once: the kernel would wait between two small packets

    def run_wsgi(self) -> None:
        """Answer one request."""
        environ = self.make_environ()
        size = None if environ.get("wsgi.input_terminated") else int(environ.get("CONTENT_LENGTH") or 0)
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(size))  # an error may leave some of it unread
        is_plain_read = self.command in ("GET", "HEAD") and "list-type" not in self.path
        with nullcontext() if is_plain_read else _WRITES:
            body = b"".join(self.server.app(environ, self._begin))
        has_body = self.command != "HEAD" and self._code not in (204, 304)
        if has_body and "content-length" not in self._names:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if has_body:
            self.wfile.write(body)

    def handle_expect_100(self) -> bool:
        """Ask for the body of a request, once: a second 100 would pass for the answer."""
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.wfile.flush()
        return True

    def _begin(self, status: str, fields: Iterable[tuple[str, str]], exc_info: object = None) -> None:
        code, _, text = status.partition(" ")
        self._code, self._names = int(code), set()
        self.send_response(self._code, text)
        for name, value in fields:
            self.send_header(name, value)
            self._names.add(name.lower())

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Tell of a request those tests that count them, before it is answered; a test may send a thousand."""
        REQUESTS.debug("%s %s", self.command, self.path)


@contextmanager
def serving(handler: type[Handler] = Handler) -> Iterator[str]:
    """Starts the server and ends it; its URL."""
    server = make_server("127.0.0.1", 0, create_backend_app("s3"), threaded=True, request_handler=handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
