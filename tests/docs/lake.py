"""What the pages speak of: a lake in S3, directories of this machine, and a broker, as a reader would have them."""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from moto.s3.models import s3_backends

from tests.docs.blocks import ROOT
from tests.docs.prepare import retain
from tests.goldens import ARCHIVES, packed
from tests.kafka_lab import Broker
from tests.kafka_security import PASSWORDS

ARCHIVE = Path(__file__).parent / "orders.tar.gz"
TOPIC, PARTITIONS = "orders", 2
#: In each partition; a batch reads as many, and one more minute begins with each batch.
RECORDS_A_BATCH = 5
#: In each partition of the broker: the query has read 220 of them.
RECORDS = 320
#: Batches of the query ``clicks``, each with one record.
CLICKS = 5
MINUTE_MS = 60_000
FIRST_MS = 1_795_216_800_000  # 2026-11-20T23:20:00Z
#: Directories of this machine that pages name; each is below the directory of a test.
LOCAL = ("/data/", "/srv/", "/var/lib/node_exporter/", "/etc/kafka/", "/usr/local/bin/", "/run/lock/")


def put_records(broker: Broker, first: int, end: int, topic: str = TOPIC) -> None:
    """Write records of each partition, ``end`` exclusive, with times that depend on their numbers alone."""
    producer = broker.producer()
    for number in range(first, end):
        for partition in range(PARTITIONS):
            timestamp_ms = FIRST_MS + number * MINUTE_MS // RECORDS_A_BATCH
            producer.produce(topic, f"{number}".encode(), partition=partition, timestamp=timestamp_ms)
    assert producer.flush(60) == 0


def _path_of_the_machine() -> str:
    """Where programs are, without those of the environment of the tests."""
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(item for item in os.environ["PATH"].split(os.pathsep) if item != own)


@cache
def recorded() -> dict[str, bytes]:
    """The files of the query ``orders`` and of its output, by their paths in the archive."""
    with tarfile.open(ARCHIVE) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


#: What the server of tests/s3_server.py keeps: this process fills it without requests.
backend: Any = s3_backends["123456789012"]["aws"]


class Lake:
    """The places of a page, before a reader has done anything.

    Attributes:
        home: A directory of the page; its shell is in ``home/here``.
        environment: What the reader's shell has.
    """

    def __init__(self, home: Path, s3: str, broker: Broker | None) -> None:
        self.home, self.here, self.broker = home, home / "here", broker
        self._plan_id = "0" * 16
        self.here.mkdir()
        self.environment = {
            **{
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("AIRFLOW", "AWS", "CKPT", "PYTHON", "VIRTUAL_ENV"))
            },
            "PATH": f"{self._programs()}{os.pathsep}{home}/usr/local/bin{os.pathsep}{_path_of_the_machine()}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": s3,
            "AWS_ALLOW_HTTP": "true",
            "COLUMNS": "300",
        }
        for directory in LOCAL:
            (home / directory.strip("/")).mkdir(parents=True)
        backend.reset()
        for bucket in ("lake", "new"):
            backend.create_bucket(bucket, "us-east-1")
        self.put("checkpoints/orders", "orders")
        self.disk("/data/checkpoints/orders", "/data/orders")
        self.put_golden("tables/customers", "file-to-parquet-5")
        self.put_clicks()
        if broker is not None:
            self._use(broker)

    def _use(self, broker: Broker) -> None:
        """Put the topics into the broker once, and what its listener for ``ckpt`` asks of a client here."""
        if TOPIC not in broker.topics():
            for topic in (TOPIC, f"a.{TOPIC}"):
                broker.create_named(topic, PARTITIONS)
                put_records(broker, 0, RECORDS, topic)
            broker.create_named("clicks")
            broker.produce("clicks", CLICKS)
            broker.allow("reader", "DESCRIBE", topic=TOPIC)
        retain(broker.bootstrap, -1)  # the page before may have let records expire
        (self.home / "etc/kafka/ca.pem").write_bytes(broker.certificates.authority.read_bytes())
        self.environment["PASSWORD"] = PASSWORDS["reader"]

    def _programs(self) -> Path:
        """A directory with the programs of this environment that readers call; pip is none: it would change it."""
        programs = self.home / "programs"
        programs.mkdir()
        for name in ("ckpt", "python", "airflow"):
            path = programs / name
            path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {Path(sys.executable).with_name(name)} "$@"\n')
            path.chmod(0o755)
        return programs

    def put(self, checkpoint: str, output: str) -> None:
        """Put the recorded query into the bucket, with its output."""
        for name, data in recorded().items():
            room, _, rest = name.partition("/")
            backend.put_object("lake", f"{checkpoint if room == 'checkpoint' else output}/{rest}", data)

    def put_clicks(self) -> None:
        """Put the query ``clicks`` into the bucket: without state, at the end of its topic."""
        files = {"metadata": '{"id":"6a6ffb43-7d54-4b85-a40c-0d9d1f7e0c11"}'}
        files["sources/0/0"] = '\0v1\n{"clicks":{"0":0}}'
        for batch_id in range(CLICKS):
            metadata = {"batchWatermarkMs": 0, "batchTimestampMs": FIRST_MS + MINUTE_MS * (batch_id + 1), "conf": {}}
            offset = {"clicks": {"0": batch_id + 1}}
            files[f"offsets/{batch_id}"] = f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}"
            files[f"commits/{batch_id}"] = 'v1\n{"nextBatchWatermarkMs":0}'
        for name, text in files.items():
            backend.put_object("lake", f"checkpoints/clicks/{name}", text.encode())

    def put_golden(self, checkpoint: str, case: str) -> None:
        """Put a checkpoint of the tests into the bucket."""
        for name, data, _ in packed(ARCHIVES[f"4.3.0/{case}"]):
            room, _, rest = name.partition("/")
            if room == "checkpoint" and data is not None and not PurePath(name).name.startswith("."):
                backend.put_object("lake", f"{checkpoint}/{rest}", data)

    def disk(self, checkpoint: str, output: str) -> None:
        """Put the recorded query on the disk, with its output."""
        for name, data in recorded().items():
            room, _, rest = name.partition("/")
            path = self.home / (checkpoint if room == "checkpoint" else output).strip("/") / rest
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.replace(b"s3a://lake/orders", f"file://{self.home}{output}".encode()))

    def here_is(self, text: str) -> str:
        """A text of a page with the places of this machine in it."""
        text = re.sub(r"\b[0-9a-f]{16}\b", self._plan_id, text)
        for directory in LOCAL:
            text = text.replace(directory, f"{self.home}{directory}")
        if self.broker is not None:
            text = re.sub(r"\b(broker|other|a|b):9092\b", self.broker.bootstrap, text)
            text = text.replace("broker:9093", self.broker.at("SASL_SSL")).replace("username=ckpt", "username=reader")
        return text

    def learn(self, output: str) -> None:
        """Take the id of the plan that a command has printed: an id on a page stands for that of the newest plan."""
        for plan_id in re.findall(r"^Plan ([0-9a-f]{16}):", output, re.MULTILINE):
            self._plan_id = plan_id

    def as_on_the_page(self, text: str) -> str:
        """What was printed, with the places of the page in it."""
        text = text.replace(str(self.here), "/home/you").replace(str(self.home), "")
        return text if self.broker is None else text.replace(self.broker.bootstrap, "broker:9092")
