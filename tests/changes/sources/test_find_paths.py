"""A source whose directory another file names by its path stays where it is."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.changes.sources.find_paths import require_movable
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def place(golden):
    """A checkpoint whose source 1 has the schema log of a Delta source."""
    place = golden("two-sources")
    log = place / "_schema_log_2f4b6a0e"
    log.mkdir()
    entry = {"tableId": "2f4b6a0e", "sourceMetadataPath": f"file:{place}/sources/1", "dataSchemaJson": "{}"}
    (log / "0").write_text(f"v1\n{json.dumps(entry)}")
    (log / ".0.crc").write_bytes(b"crc")
    return place


@pytest.mark.parametrize(
    ("said", "moves"),
    [
        (["0=0", "1=1", "2=new"], False),
        (["0=new", "1=1", "2=0"], False),
        (["0=0", "1=new"], False),
        (["0=1", "1=0"], True),
        (["0=0", "1=1", "2=1"], True),
        (["a=0", "b=1"], True),
    ],
)
def test_a_delta_source_with_a_schema_log_keeps_its_place(place, said, moves):
    store = Store.open(str(place))
    view, change = observe(store, deep=True), parse_change(said, [])
    if not moves:
        require_movable(store, view, change)
        return
    with pytest.raises(PlanError, match="source 1 cannot come to another place") as refused:
        require_movable(store, view, change)
    assert refused.value.name == "_schema_log_2f4b6a0e/0"
