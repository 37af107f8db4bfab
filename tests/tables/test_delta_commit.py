"""What a commit of a Delta table did, as deltalake and the examples of Delta's protocol write it."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.tables.delta_commit import DataFile, DeltaCommit, commit_of

ADD = {"path": "a", "size": 10, "dataChange": True, "stats": '{"numRecords":5}'}
REMOVE = {"path": "b", "deletionTimestamp": 7, "dataChange": True}
INFO = {"timestamp": 3, "operation": "WRITE"}
METADATA = {"id": "t", "schemaString": "{}", "partitionColumns": [], "configuration": {}}

COMMITS = {
    "an append": (
        [("commitInfo", INFO), ("add", ADD), ("add", {**ADD, "path": "c", "stats": None})],
        DeltaCommit("WRITE", 3, (DataFile("a", 10, 5), DataFile("c", 10)), {}, {}),
    ),
    "a deletion vector": (
        [("add", {**ADD, "deletionVector": {"cardinality": 2}}), ("remove", REMOVE)],
        DeltaCommit("", None, (DataFile("a", 10, 3),), {"b": 7}, {}),
    ),
    "OPTIMIZE": (
        [("add", {**ADD, "dataChange": False}), ("remove", {**REMOVE, "dataChange": False})],
        DeltaCommit("", None, (), {}, {"b": 7}),
    ),
    "a time in the commit": (
        [("commitInfo", {**INFO, "inCommitTimestamp": 4})],
        DeltaCommit("WRITE", 4, (), {}, {}),
    ),
    "a schema": ([("metaData", METADATA)], DeltaCommit("", None, (), {}, {}, metadata=METADATA)),
    "a change feed": ([("cdc", {"path": "d"})], DeltaCommit("", None, (), {}, {}, changes=1)),
}


@pytest.mark.parametrize(("actions", "commit"), COMMITS.values(), ids=COMMITS)
def test_a_commit_is_read(actions, commit):
    assert commit_of((kind, json.dumps({kind: value}).encode()) for kind, value in actions) == commit


@pytest.mark.parametrize(
    ("name", "has_data"),
    [
        ("an append", True),
        ("a deletion vector", True),
        ("OPTIMIZE", False),
        ("a schema", False),
        ("a change feed", True),
    ],
)
def test_what_a_stream_reads_is_data(name, has_data):
    assert COMMITS[name][1].has_data is has_data


@pytest.mark.parametrize("line", [b"{", b'{"add":{"path":"a"}}', b'{"add":5}'])
def test_what_is_no_commit_is_an_error(line):
    with pytest.raises((ValueError, KeyError, TypeError)):
        commit_of([("add", line)])
