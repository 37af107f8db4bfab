"""Ports of this host for the servers that tests start."""

from __future__ import annotations

import contextlib
import random
import socket

#: Below those that Linux gives to outgoing connections, so that no client takes one before its server listens.
CANDIDATES = range(12_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    chance = random.SystemRandom()
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # another server has it
                one.bind(("127.0.0.1", chance.choice(CANDIDATES)))
                found.append(one.getsockname()[1])
        return found
