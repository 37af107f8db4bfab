"""A source is asked only with offsets of its own type, of each batch that a restart goes on from."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.source import Source, parse_by_id
from airflow_provider_ckpt.sources.fitting import fitting
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate


@pytest.mark.parametrize("line", ["insert offsets/{N} 1 ''", "insert offsets/{N} 2 ''", "line offsets/{N} 2 hello",
                                  "line offsets/{N-1} 2 '{\"logOffset\":\"3\"}'"])  # fmt: skip
def test_an_offset_of_another_type(line, golden):
    checkpoint = golden("file-to-parquet-5")
    store, declared = Store.open(str(checkpoint)), parse_by_id({"0": "file:/landing"})
    assert fitting(observe(store), declared) == declared
    mutate(checkpoint, [line])
    assert fitting(observe(store), declared) == {}
    assert fitting(observe(store), {"0": Source("0")}).keys() == {"0"}, "of no type is nothing wrong"
