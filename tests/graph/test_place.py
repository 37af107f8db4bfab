"""A place has one key, however its location is spelled."""

from __future__ import annotations

from airflow_provider_ckpt.graph.place import Place


def test_one_place_has_one_key():
    assert Place("delta", "s3a://lake/orders/").key == Place("delta", "s3://lake/orders").key
    assert Place("file", "file:///lake/orders").key == Place("file", "/lake/orders").key


def test_it_is_written_as_it_is_declared():
    assert Place("delta", "s3://lake/orders").text == "delta:s3://lake/orders"
