"""Which sources can be moved, and where to."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.goal import SkipSnapshot, SkipVersion, ToSnapshot, ToVersion
from airflow_provider_ckpt.sources.kafka.strategies import Scope, ToEarliest
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.resolve_goal import resolve_aim
from airflow_provider_ckpt.storage.store import Store


@pytest.mark.parametrize(
    ("source", "goal"),
    [
        ("file:/data/in", ToEarliest()),
        ("kafka:h:1", ToVersion(3)),
        ("kafka:h:1", SkipVersion(3)),
        ("delta:/t", SkipSnapshot(3)),
        ("delta:/t", ToSnapshot(3)),
        ("iceberg:/lake/orders", ToVersion(3)),
        ("iceberg:/lake/orders", SkipVersion(3)),
    ],
)
def test_what_cannot_be_moved_like_this_is_refused(source, goal):
    with pytest.raises(PlanError, match="moved"):
        resolve_aim(parse_asked(source), goal, Scope(), Access(Store.open))
