"""What is shown of the sources of a query."""

from __future__ import annotations

from airflow_provider_ckpt.changes.sources.read_sources import read_sources
from airflow_provider_ckpt.storage.store import Store


def test_the_sources_with_their_types_offsets_and_files(golden):
    found = read_sources(Store.open(str(golden("two-sources"))))
    assert [source["source_id"] for source in found.sources] == ["0", "1"]
    assert {source["source_type"] for source in found.sources} == {"file"}
    assert {source["committed_offset"] for source in found.sources} == {'{"logOffset":3}'}
    assert [source["files"] for source in found.sources] == [4, 4]
    assert found.leftovers == []


def test_a_type_that_no_file_tells_is_not_guessed(golden):
    (source,) = read_sources(Store.open(str(golden("rate")))).sources
    assert (source["source_type"], source["files"]) == (None, 1)


def test_what_belongs_to_no_source(golden):
    place = golden("two-sources")
    (place / "sources/2").mkdir()
    (place / "sources/old").mkdir()
    (place / "sources/old/0").write_text("v1")
    found = read_sources(Store.open(str(place)))
    assert found.leftovers == [{"name": "sources/2", "files": 0}, {"name": "sources/old", "files": 1}]


def test_a_checkpoint_without_a_batch_has_none(tmp_path):
    (tmp_path / "metadata").write_text('{"id":"7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}')
    found = read_sources(Store.open(str(tmp_path)))
    assert (found.sources, found.leftovers) == ((), [])
