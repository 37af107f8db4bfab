"""The output of a new version is not that of the live query, nor inside it, nor around it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.require_apart import require_apart
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store


def opened(text: str):
    sink = parse_sink(text)
    return sink, Store.open(sink.directory) if sink.directory else None


@pytest.mark.parametrize(
    ("shadow", "apart"),
    [
        ("file:/lake/orders-shadow", True),
        ("kafka", True),
        ("file:/lake/orders", False),
        ("parquet:/lake/orders/", False),
        ("file:/lake/orders/shadow", False),
        ("delta:/lake", False),
    ],
)
def test_two_outputs(shadow, apart):
    if apart:
        require_apart("c", opened("file:/lake/orders"), opened(shadow))
    else:
        with pytest.raises(PlanError, match="is the sink of the live query, or one is inside the other"):
            require_apart("c", opened("file:/lake/orders"), opened(shadow))


def test_sinks_without_a_directory():
    require_apart("c", opened("kafka:orders"), opened("kafka:orders-shadow"))
    with pytest.raises(PlanError, match=r"the shadow sink kafka:https://u@h is the sink"):
        require_apart("c", *[opened("kafka:https://u:hunter22@h")] * 2)
