"""Permissions are tested as a user who does not have them all, as root does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def without_rights() -> Iterator[None]:
    """Root is nobody for a while, whatever happens meanwhile; any other user stays who it is."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)
