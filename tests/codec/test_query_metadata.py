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
        (b'{"id":"x"}', "the query id is not a UUID but 'x'", None),
        (b"{}", "'id' in the query metadata is not a text", None),
    ],
)
def test_what_spark_stops_at(data, problem, spark_error):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        query_metadata.decode(data, "metadata")
    assert refused.value.name == "metadata" and (spark_error is None or refused.value.spark_error == spark_error)
