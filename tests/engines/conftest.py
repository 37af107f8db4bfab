"""A service for the engines that ask one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.fake_service import Service, serving


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as here:
        yield here
