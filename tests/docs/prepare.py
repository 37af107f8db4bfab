"""What pages need to be there before their commands: ``python -m tests.docs.prepare WHAT LOCATION``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import deltalake
import pyarrow

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.source_log import FileSinkLog
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.store import Store

#: When batch 0 began; each batch begins a minute after the one before it.
FIRST_MS = 1_795_216_860_000
#: The version of the Delta table that deletes rows, which the query reads next.
DELETES = 17
#: Iceberg tables with queries on them, recorded by tests/sources/iceberg_stop_records.py, and the case that is used.
ICEBERG = Path(__file__).parents[1] / "data" / "sources" / "iceberg-stops.tar.gz"
CASE = "overwritten"


def _query(location: str, query_id: str, offsets: list[Mapping[str, object]]) -> None:
    """The checkpoint of a query without state, with one source, that has committed a batch for each offset."""
    store = Store.open(location)
    store.write("metadata", json.dumps({"id": query_id}).encode())
    for batch_id, offset in enumerate(offsets):
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": FIRST_MS + 60_000 * batch_id, "conf": {}}
        store.write(f"offsets/{batch_id}", f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}".encode())
        store.write(f"commits/{batch_id}", b'v1\n{"nextBatchWatermarkMs":0}')


def totals(lake: str) -> None:
    """A query that has read all files of the output of ``orders``, one in each batch."""
    output, checkpoint = Store.open(f"{lake}/orders"), Store.open(f"{lake}/checkpoints/totals")
    entries = (codec.decode(name, output.read(name)) for name in read_file_sink(output).live.values())
    files = [file for entry in entries if isinstance(entry, FileSinkLog) for file in entry.entries]
    offsets = [{"logOffset": number} for number in range(len(files))]
    _query(checkpoint.location, "0d6f5f51-1d53-4a36-9b0a-6a3c1c0f2b7e", offsets)
    for number, file in enumerate(files):
        entry = {"path": file.path, "timestamp": file.modification_time_ms, "batchId": number}
        checkpoint.write(f"sources/0/{number}", f"v1\n{json.dumps(entry)}".encode())


def audit(lake: str) -> None:
    """The Delta table ``tables/orders``, a version of which deletes rows, and a query that has read what is before."""
    table = f"{lake}/tables/orders"
    for version in range(21):
        if version == DELETES:
            deltalake.DeltaTable(table).delete("id = 3")
        else:
            deltalake.write_deltalake(table, pyarrow.table({"id": [version]}), mode="append")
    begin = {"sourceVersion": 1, "reservoirId": str(deltalake.DeltaTable(table).metadata().id), "index": -1}
    offsets = [{**begin, "reservoirVersion": DELETES - back, "isStartingVersion": False} for back in (1, 0)]
    _query(f"{lake}/checkpoints/audit", "2f4b6a0e-8f36-4f6c-9b7a-51a0c8a4e0d2", offsets)


def iceberg(lake: str) -> None:
    """The Iceberg table ``db/parcels``, a snapshot of which overwrites rows, and the query ``parcels``, which reads that next."""
    with tarfile.open(ICEBERG) as tar:
        for member in tar:
            room, _, rest = member.name.removeprefix(f"{CASE}/").partition("/")
            if place := {"checkpoint": "checkpoints/parcels", "table": "db/parcels"}.get(room):
                file = tar.extractfile(member)
                if file is not None and not rest.rpartition("/")[2].startswith("."):
                    Store.open(f"{lake}/{place}").write(rest, file.read())


def joined(location: str) -> None:
    """A query without state that has committed two batches of three topics."""
    query_id = "5f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
    store = Store.open(location)
    topics = ("orders", "payments", "refunds")
    _query(location, query_id, [{topics[0]: {"0": 5 * batch}} for batch in (1, 2)])
    for batch, name in enumerate(("offsets/0", "offsets/1"), 1):
        others = [json.dumps({topic: {"0": 3 * batch}}) for topic in topics[1:]]
        store.write(name, "\n".join([store.read(name).decode(), *others]).encode())


def damage(location: str) -> None:
    """Cut a state file of the newest version short."""
    store = Store.open(location)
    name = max(name for name in store.find() if name.startswith("state/0/0/") and name.endswith("44.changelog"))
    store.write(name, store.read(name)[:-8])


def gap(location: str) -> None:
    """Leave the batches up to 4, without the entry of batch 3."""
    store = Store.open(location)
    for name in list(store.find()):
        number = re.match(r"(?:offsets|commits)/(\d+)$|state/\d+/\d+/(\d+)[._]", name)
        if name == "offsets/3" or (number and int(number[1] or int(number[2]) - 1) > 4):
            store.delete(name)


def expiring_records(bootstrap: str) -> None:
    """Let the first record that the query ``orders`` has not read be deleted in 28 minutes, as far as its age is known.

    An age is searched for, and found to some percent: to hours, of records that were recorded days ago.
    """
    lag = ["ckpt", "lag", "s3://lake/checkpoints/orders", "--source", f"0=kafka:{bootstrap}", "--ages", "--json"]
    told = json.loads(subprocess.run(lag, check=True, capture_output=True, text=True).stdout)
    retain(bootstrap, told["sources"][0]["age_ms"] + 28 * 60_000 + 30_000)


def retain(bootstrap: str, milliseconds: int) -> None:
    """Let a broker keep the records of the topic ``orders`` so long; -1 is for ever."""
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

    entry = ConfigEntry("retention.ms", str(milliseconds), incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for changed in admin.incremental_alter_configs([topic]).values():
        changed.result(30)


if __name__ == "__main__":
    known = {"audit": audit, "damage": damage, "expiring-records": expiring_records, "gap": gap, "iceberg": iceberg}
    known |= {"joined": joined, "totals": totals}
    known[sys.argv[1]](sys.argv[2])
