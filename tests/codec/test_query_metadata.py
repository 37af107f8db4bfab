"""The id of the query: a UUID, or Spark does not start."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec import query_metadata
from airflow_provider_ckpt.errors import MalformedEntryError

QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"


def test_the_id_is_read_and_the_file_stays_as_it_was():
    data = f' {{ "id" : "{QUERY_ID}" }}\n'.encode()
    read = query_metadata.decode(data, "metadata")
    assert read.query_id == QUERY_ID and read.encode() == data


@pytest.mark.parametrize(
    ("data", "problem", "spark_error"),
    [
        (b'{"id":null}', "the query id is null", "NullPointerException"),
        (b"null", "the query metadata is null", "NullPointerException"),
        (b'{"id":"x"}', "the query id is not a UUID but 'x'", "IllegalArgumentException"),
        (b"{}", "'id' in the query metadata is not a text", None),
    ],
)
def test_what_spark_stops_at(data, problem, spark_error):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        query_metadata.decode(data, "metadata")
    assert refused.value.name == "metadata" and (spark_error is None or refused.value.spark_error == spark_error)


@pytest.mark.parametrize(
    ("query_id", "spark_error"),
    [
        (QUERY_ID.upper(), None),
        (QUERY_ID[:-1], None),  # each number may be shorter
        ("7fffffffffffffff-1-1-1-+1", None),
        (QUERY_ID.replace("9a1b", "9r1b"), "NumberFormatException"),
        ("8000000000000000-1-1-1-1", "NumberFormatException"),
        ("1--1-1-1", "NumberFormatException"),
        (f"{QUERY_ID}0", "IllegalArgumentException"),
        (QUERY_ID.replace("-", "0", 1), "IllegalArgumentException"),
        ("1-1-1-1-1-1", "IllegalArgumentException"),
    ],
)
def test_an_id_is_what_java_reads_as_a_uuid(query_id, spark_error):
    data = f'{{"id":"{query_id}"}}'.encode()
    if spark_error is None:
        assert query_metadata.decode(data, "metadata").query_id == query_id
    else:
        with pytest.raises(MalformedEntryError, match="is not a UUID") as refused:
            query_metadata.decode(data, "metadata")
        assert refused.value.spark_error == spark_error
