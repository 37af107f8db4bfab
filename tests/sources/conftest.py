"""How a test asks for the end of a source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_asked, parse_by_id
from airflow_provider_ckpt.sources.open_end import Access, DeclaredEnds, open_end
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import Condition
from airflow_provider_ckpt.waiting.poll import poll_progress


@pytest.fixture
def end() -> Callable[..., Condition]:
    """The end of source 0, declared as a user does."""

    def ask(
        declared: str, stands: str | None = None, at_ms: int | None = None, slack: int = 0, **access: Any
    ) -> Condition:
        access.setdefault("open_store", Store.open)
        offset = None if stands is None else SourceOffset(stands)
        return open_end(parse_asked(declared), "0", Access(**access)).end_at(at_ms, offset, slack)

    return ask


@pytest.fixture
def ends() -> Callable[..., DeclaredEnds]:
    """The ends of the sources of a query, by source id, beside its checkpoint."""

    def declare(checkpoint: Path, **declared: str) -> DeclaredEnds:
        named = {source_id.removeprefix("s"): text for source_id, text in declared.items()}
        return DeclaredEnds(parse_by_id(named), Access(Store.open, Store.open(str(checkpoint))))

    return declare


@pytest.fixture
def progress() -> Callable[[Path], Progress]:
    """How far the query of a checkpoint has come."""
    return lambda checkpoint: poll_progress(Store.open(str(checkpoint)))
