"""What a stateful operator says of itself, and what Spark stops at in that."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec import state_metadata
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError, UnsupportedVersionError

STORE = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}
FIELDS = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": [STORE]}


def file(version: int, **fields: object) -> bytes:
    return f"v{version}\n{json.dumps(FIELDS | fields)}".encode()


@pytest.mark.parametrize(
    ("data", "paths", "properties"),
    [
        (file(1), None, None),
        (file(2, operatorPropertiesJson="{}"), (), "{}"),
        (file(2, operatorPropertiesJson="", stateStoreInfo=[STORE | {"stateSchemaFilePaths": ["/a"]}]), ("/a",), ""),
    ],
)
def test_an_operator_names_its_stores(data, paths, properties):
    read = state_metadata.decode(data, "state/0/_metadata/metadata")
    (store,) = read.stores
    assert (read.operator_id, read.operator_name, read.operator_properties) == (0, "stateStoreSave", properties)
    assert (store.store_name, store.num_partitions, store.state_schema_file_paths) == ("default", 2, paths)
    assert read.encode() == data


@pytest.mark.parametrize(
    ("data", "error", "problem"),
    [
        (b"", IncompleteLogFileError, "the operator state metadata is empty"),
        (b"v3\n{}", UnsupportedVersionError, "operator state metadata entry has version v3"),
        (b"v1\n{}", MalformedEntryError, "'operatorId' in the operatorInfo is not a number"),
        (file(1, stateStoreInfo=[7]), MalformedEntryError, "stateStoreInfo has an element that is not an object"),
        (file(1, stateStoreInfo=[{}]), MalformedEntryError, "'storeName' in the stateStoreInfo is not a text"),
        (file(2), MalformedEntryError, "'operatorPropertiesJson' in the operator state metadata is not a text"),
    ],
)
def test_what_spark_stops_at(data, error, problem):
    with pytest.raises(error, match=problem):
        state_metadata.decode(data, "state/0/_metadata/metadata")


def test_in_the_directory_of_version_2_spark_reads_that_version_alone():
    with pytest.raises(
        MalformedEntryError, match="has version v1, and in this directory Spark reads v2 alone"
    ) as caught:
        state_metadata.decode(file(1), "state/0/_metadata/v2/0")
    assert caught.value.spark_error == "IllegalArgumentException"
