"""Everything that is explained comes from the files of the package, once."""

from __future__ import annotations

from airflow_provider_ckpt.explain.read_index import read_index


def test_the_index_has_the_pages_the_catalogue_and_the_names_of_spark():
    index = read_index()
    assert len(index.pages) >= 29
    assert index.entries
    assert {"DIVIDE_BY_ZERO", "CONCURRENT_STREAM_LOG_UPDATE", "STREAM_FAILED"} <= index.others
    assert read_index() is index


def test_an_entry_names_a_page_that_is_there():
    index = read_index()
    assert {entry.page for entry in index.entries if entry.page} <= {page.name for page in index.pages}
