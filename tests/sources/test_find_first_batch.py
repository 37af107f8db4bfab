"""The first batch that has read something, as far back as the offset log goes."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.sources.find_first_batch import find_first_batch
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch


@pytest.mark.parametrize(("taken", "first"), [(0, 3), (2, 3), (4, 4), (7, 7), (9, 7)])
def test_the_newest_batch_has_read_it_and_those_before_as_far_as_their_offsets_say(tmp_path, taken, first):
    for batch_id in range(3, 8):
        commit_batch(tmp_path, batch_id, json.dumps({"logOffset": batch_id}))
    store = Store.open(str(tmp_path))
    found = find_first_batch(
        store, observe(store), lambda offsets: file_offset.decode(dict(offsets)["0"].json) >= taken
    )
    assert found == first


def test_an_entry_that_cannot_be_read_is_an_error(tmp_path):
    commit_batch(tmp_path, 0, json.dumps({"logOffset": 0}))
    (tmp_path / "offsets/0").write_text("v1\n{")
    store = Store.open(str(tmp_path))
    with pytest.raises(CheckpointFormatError):
        find_first_batch(store, observe(store), lambda offsets: True)
