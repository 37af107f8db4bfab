"""Checkpoints of queries with sources of other connectors, as reports and sources of these show them."""

from __future__ import annotations

STARTED_MS = 1_795_213_217_587
FILES = b'v1\n{"path":"file:///in/a.json","timestamp":1,"batchId":0}\n{"path":"file:///in/b.json","timestamp":1,"batchId":3}'

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
