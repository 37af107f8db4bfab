"""The files of a record: what they say, and the sentence for each that was damaged."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.record.read_note import Note
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store


def note_of(tmp_path, data):
    (tmp_path / "begun.json").write_bytes(data)
    store = Store.open(str(tmp_path))
    return Note(store, "begun.json", store.ls()[0])


def test_it_says_what_is_written_and_nothing_of_the_rest(tmp_path):
    note = note_of(tmp_path, b'{"by": "ann", "number": 3, "accepted_sink": ["skipped"]}')
    assert (note.text("by"), note.number("number"), note.texts("accepted_sink")) == ("ann", 3, ("skipped",))
    assert (note.text("asked"), note.number("at_ms"), note.texts("others")) == ("", None, ())


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"by": 1}', b'{"by": ["ann"]}', b'{"by": true}'])
def test_what_is_damaged_is_told_with_its_name(tmp_path, data):
    with pytest.raises(StoreError, match=r"begun\.json: the record of a change is not valid"):
        note_of(tmp_path, data).text("by")
