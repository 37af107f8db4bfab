"""What is exported of each committed batch: of both versions of the log, of several sources, never of a planned batch."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError
from airflow_provider_ckpt.sources.export_position import export_position
from airflow_provider_ckpt.storage.store import Store
from tests.views import METADATA

BATCHES = 4


def shard(number: int) -> dict[str, str]:
    return {
        "iteratorType": "AFTER_SEQUENCE_NUMBER",
        "iteratorPosition": str(number),
        "subSequenceNumber": "-1",
        "isLast": "true",
    }


def kinesis(batch_id: int) -> str:
    value = {"metadata": {"streamName": "s", "batchId": str(batch_id)}, "shardId-0": shard(100 * batch_id)}
    return json.dumps(value, separators=(",", ":"))


#: By name: the offset in the entry of each batch, the form, and its text after each batch.
SOURCES = {
    "orders": (
        lambda batch: f'{{"orders":{{"1":{7 * batch},"0":{batch}}}}}',
        {
            "startingOffsets": lambda batch: f'{{"orders":{{"0":{batch},"1":{7 * batch}}}}}',
            "csv": lambda batch: f"orders,0,{batch}\norders,1,{7 * batch}",
        },
    ),
    "audit": (
        lambda batch: (
            f'{{"sourceVersion":1,"reservoirId":"r","reservoirVersion":{batch},"index":-1,"isStartingVersion":false}}'
        ),
        {"startingVersion": str},
    ),
    "clicks": (kinesis, {"startingPosition": lambda batch: kinesis(batch + 1)}),
}


@pytest.fixture(params=[1, 2])
def query(request, tmp_path) -> tuple[Store, dict[str, str]]:
    """Three sources; batches are committed but for the last one, which is planned. And the id of each source."""
    store = Store.open(str(tmp_path))
    ids = {name: name if request.param == 2 else str(number) for number, name in enumerate(SOURCES)}
    store.create("metadata", METADATA)
    for batch in range(BATCHES + 1):
        offsets = [(ids[name], SourceOffset(at(batch))) for name, (at, _) in SOURCES.items()]
        entry = OffsetSeq(request.param, OffsetSeqMetadata(0, 1_000 + batch, {}), tuple(offsets))
        store.create(f"offsets/{batch}", entry.encode())
        if batch < BATCHES:
            store.create(f"commits/{batch}", b"v1\n{}")
    return store, ids


CASES = [(name, form) for name, (_, forms) in SOURCES.items() for form in forms]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_the_text_of_each_committed_batch(query, name, form):
    store, ids = query
    text_after = SOURCES[name][1][form]
    for batch in range(BATCHES):
        exported = export_position(store, form, ids[name], batch)
        assert (exported.source_id, exported.batch_id, exported.text) == (ids[name], batch, text_after(batch))
    newest = export_position(store, form, ids[name])
    assert (newest.batch_id, newest.text) == (BATCHES - 1, text_after(BATCHES - 1))


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_planned_batch_is_no_position(query, name, form):
    store, ids = query
    with pytest.raises(CheckpointNotFoundError, match="the commit log does not have this batch"):
        export_position(store, form, ids[name], BATCHES)


@pytest.mark.parametrize(
    ("name", "form"), [("orders", "startingVersion"), ("audit", "startingPosition"), ("clicks", "startingOffsets")]
)
def test_the_form_of_another_source_is_refused(query, name, form):
    store, ids = query
    with pytest.raises(MalformedEntryError, match="not an offset of the source type"):
        export_position(store, form, ids[name])
