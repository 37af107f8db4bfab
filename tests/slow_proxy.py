"""A proxy in front of a broker: its answers come late, end in the middle, or never come."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class SlowProxy:
    """Forwards what comes to a port. What it does to answers may change at any time.

    Attributes:
        delay_s: By so much each answer is later, seconds.
        holds: Whether answers do not come at all; what is asked does not get through either.
        cuts_after: After so many bytes of answers each connection is broken off; None for never.
        asked: Bytes that were asked with.
    """

    def __init__(self, port: int, target: str) -> None:
        self.delay_s, self.holds, self.asked = 0.0, False, 0
        self.cuts_after: int | None = None
        host, _, target_port = target.rpartition(":")
        self._target = (host, int(target_port))
        self._server = socket.create_server(("127.0.0.1", port), backlog=100)
        self.bootstrap = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._closed = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Stop, and break off every connection; no answer is late any more."""
        self._closed.set()
        for one in (self._server, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(30)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(self._target)
            except OSError:  # the broker is not there, so nobody is
                client.close()
                continue
            self._open += [client, broker]
            for pump in (
                threading.Thread(target=self._ask, args=(client, broker), daemon=True),
                threading.Thread(target=self._answer, args=(broker, client), daemon=True),
            ):
                self._threads.append(pump)
                pump.start()

    def _ask(self, client: socket.socket, broker: socket.socket) -> None:
        with _both(client, broker):
            while data := client.recv(65_536):
                self.asked += len(data)
                if not self.holds:
                    broker.sendall(data)

    def _answer(self, broker: socket.socket, client: socket.socket) -> None:
        given = 0
        with _both(client, broker):
            while data := broker.recv(65_536):
                self._closed.wait(self.delay_s)
                most = None if self.cuts_after is None else max(0, self.cuts_after - given)
                client.sendall(data[:most])
                given += len(data)
                if most is not None and most < len(data):
                    return


@contextlib.contextmanager
def _both(one: socket.socket, other: socket.socket) -> Iterator[None]:
    """When one side ends, so does the other."""
    try:
        with contextlib.suppress(OSError):
            yield
    finally:
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxied(port: int, target: str) -> Iterator[SlowProxy]:
    """A proxy for as long as it is needed; port 0 is any that is free."""
    proxy = SlowProxy(port, target)
    try:
        yield proxy
    finally:
        proxy.close()
