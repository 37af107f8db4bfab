"""Types that a checkpoint alone proves; what connectors of others write proves none."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.graph.proven_types import Proof, ProvenType, fitting, proven_type, proving_files

STARTED_MS = 1_795_213_217_587
FILES = b'v1\n{"path":"file:///in/a.json","timestamp":1,"batchId":0}\n{"path":"file:///in/b.json","timestamp":1,"batchId":3}'


def entry(*offsets: str, at_ms: int = STARTED_MS + 5_400, **metadata: object) -> OffsetSeq:
    head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": {}, **metadata})
    found = codec.decode("offsets/7", "\n".join(["v1", head, *offsets]).encode())
    assert isinstance(found, OffsetSeq)
    return found


def proven(offset: str, **own: bytes) -> ProvenType | None:
    return proven_type("0", entry(offset), 7, {name: codec.decode(name, data) for name, data in own.items()})


def test_a_file_source_is_known_by_its_log():
    found = proven('{"logOffset":3}', **{"sources/0/3": FILES})
    assert found == ProvenType("file", Proof("sources/0/3", "is the log of a file source"))
    assert "not declared" in found.sentence("0") and "sources/0/3" in found.sentence("0")


def test_a_compacted_log_proves_as_much():
    found = proven('{"logOffset":9}', **{"sources/0/9.compact": FILES})
    assert found is not None and found.type == "file"


def test_a_rate_source_is_known_by_the_time_of_its_start():
    found = proven("5", **{"sources/0/0": f"v1\n{STARTED_MS}".encode()})
    assert found is not None and (found.type, found.proof.file) == ("rate", "sources/0/0")


#: What was reported of checkpoints with other sources: the newest offset, and the file that may be beside it.
OF_OTHERS = {
    "a log of no file": ('{"logOffset":3}', {"sources/0/3": b"v1\n"}),
    "no log": ('{"logOffset":3}', {}),
    "a number of another kind in the log": ("5", {"sources/0/0": b"v1\n1495213217587"}),
    "Neo4j, a time": (f"{STARTED_MS}", {"sources/0/0": f"v1\n{STARTED_MS}".encode()}),
    "socket": ("5", {}),
    "a file log beside a bare number": ("5", {"sources/0/0": FILES}),
    "Event Hubs": ('{"hub":{"0":12,"1":9}}', {"sources/0/0": b'\0v1\n{"hub":{"0":0,"1":0}}'}),
    "Kafka": ('{"orders":{"0":12}}', {"sources/0/0": b'\0v1\n{"orders":{"0":0}}'}),
    "Kinesis": (
        '{"metadata":{"streamName":"s","batchId":"7"},"shardId-000000000001":{"iteratorType":"AFTER_SEQUENCE_NUMBER",'
        '"iteratorPosition":"49605240428222307037115827613554798409561082419642105874"}}',
        {},
    ),
    "Auto Loader": (
        '{"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":1667453455118,"lastBackfillFinishTimeMs":1}',
        {},
    ),
    "Pub/Sub": ('{"sourceVersion":1,"seqNum":4,"fetchEpoch":2}', {}),
    "Pulsar": ('{"persistent://public/default/orders":[8,11,16,0]}', {}),
    "MongoDB": ('{"version":1,"resumeToken":{"_data":"8265"}}', {"sources/0/0": b'{"version":1,"resumeToken":{}}'}),
    "DynamoDB": ('{"shardId-1":"1000000000000","table":"orders"}', {}),
    "BigQuery": ('{"table":"p.d.t","lastModified":1667453455118}', {}),
    "rate-micro-batch": ('{"offset":35,"timestamp":7000}', {}),
    "Hudi": ('{"commitTime":"20261127144944516"}', {"sources/0/0": b'v1\n{"commitTime":"000"}'}),
    "Paimon": ('{"snapshotId":3,"index":1,"scanSnapshot":false}', {}),
    "Cosmos DB": ('{"id":"com.azure.cosmos.spark.changeFeed.offset.v1","state":"eyJ"}', {}),
    "Delta Sharing": (
        '{"sourceVersion":1,"tableId":"t","tableVersion":2,"index":-1,"isStartingVersion":false}',
        {},
    ),
    "a Python data source": ('{"offset":{"files":["a"]}}', {}),
    "Delta without its table": (
        '{"sourceVersion":1,"reservoirId":"r","reservoirVersion":4,"index":-1,"isStartingVersion":false}',
        {},
    ),
    "Iceberg without its table": (
        '{"version":1,"snapshot_id":8,"position":1,"scan_all_files":false}',
        {"sources/0/offsets/0": b'{"version":1,"snapshot_id":-1,"position":-1,"scan_all_files":false}'},
    ),
}


@pytest.mark.parametrize("case", OF_OTHERS)
def test_what_others_write_proves_nothing(case):
    offset, own = OF_OTHERS[case]
    assert proven(offset, **own) is None


def test_the_provider_of_the_offset_log_counts_first():
    info = {"sourceMetadataInfo": {"0": {"sourceId": "0", "providerName": "a.KafkaSourceProvider", "apiVersion": "2"}}}
    text = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}, **info})
    offsets = codec.decode("offsets/7", f'v2\n{text}\n0:{{"orders":{{"0":1}}}}'.encode())
    assert isinstance(offsets, OffsetSeq)
    found = proven_type("0", offsets, 7, {})
    assert found is not None and (found.type, found.proof.file) == ("kafka", "offsets/7")


def test_few_files_may_prove():
    assert proving_files("0", None) == ()
    assert proving_files("a", entry('{"logOffset":9}').offset("0")) == ("sources/a/9", "sources/a/9.compact")
    assert proving_files("0", entry("5").offset("0")) == ("sources/0/0",)
    assert proving_files("0", entry('{"logOffset":-1}').offset("0")) == ()


def test_a_source_that_was_another_one_before_has_no_type():
    found = {"0": ProvenType("file", Proof("sources/0/3", "")), "1": ProvenType("rate", Proof("sources/1/0", ""))}
    now, before = entry('{"logOffset":3}', "5"), entry('{"orders":{"0":1}}', "4")
    assert set(fitting(found, [now])) == {"0", "1"}
    assert set(fitting(found, [now, before])) == {"1"}
