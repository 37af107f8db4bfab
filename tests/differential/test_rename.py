"""Spark's own write of an entry, by a rename of Hadoop's local file system, meets what a fence does to the same name.

Spark writes a temporary file, looks whether the name is free, and renames; with ``overwriteIfPossible`` it does not
look. Our removal renames aside, looks, and gives the name back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.storage import remove_if
from airflow_provider_ckpt.storage.store import Store
from tests.differential.spark_logs import _PACKAGE

ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n{"0":1}'


class SparksWrite:
    """The write of ``offsets/8``, up to the rename."""

    def __init__(self, spark: Any, root: Path, *, overwrites: bool) -> None:
        jvm = spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(f"file:{root}/offsets/8")
        package = jvm
        for part in _PACKAGE.split("."):
            package = getattr(package, part)
        manager = package.FileContextBasedCheckpointFileManager(
            path.getParent(), spark._jsparkSession.sessionState().newHadoopConf()
        )
        self._out = manager.createAtomic(path, overwrites)
        self._out.write(bytearray(ENTRY))

    def rename(self) -> str:
        """Do it; empty, or the exception."""
        from py4j.protocol import Py4JJavaError

        try:
            self._out.close()
        except Py4JJavaError as error:
            return str(error.java_exception.getClass().getSimpleName())
        return ""


def logs(spark: Any, root: Path) -> tuple[list[int], bytes | None]:
    """The batches that Spark's own log shows, and the newest entry as it reads it."""
    package = spark._jvm
    for part in _PACKAGE.split("."):
        package = getattr(package, part)
    log = package.OffsetSeqLog(spark._jsparkSession, f"file:{root}/offsets", True)
    batches = sorted(log.listBatchesOnDisk())
    newest = log.get(batches[-1]) if batches else None
    if newest is None:
        return batches, None
    out = spark._jvm.java.io.ByteArrayOutputStream()
    log.serialize(newest.get(), out)
    return batches, bytes(out.toByteArray())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(str(tmp_path / "orders"))
    store.create("offsets/8", CLOSING)
    return store


@pytest.mark.parametrize("overwrites", [False, True])
def test_spark_takes_a_name_that_is_free_while_our_entry_is_aside(spark, store, overwrites):
    root = Path(store.root)
    write = SparksWrite(spark, root, overwrites=overwrites)
    identity = store.stat("offsets/8").identity
    (root / "offsets/8").rename(remove_if._aside_of(f"{root}/offsets/8", identity))
    assert logs(spark, root) == ([], None), "what is aside is no batch"
    assert write.rename() == ""
    store.settle("offsets")
    assert {path.name for path in (root / "offsets").iterdir()} == {"8", ".8.crc"}
    assert store.read("offsets/8") == ENTRY
    assert logs(spark, root)[0] == [8]


@pytest.mark.parametrize("overwrites", [False, True])
def test_spark_looks_at_a_name_that_our_entry_has(spark, store, overwrites):
    root = Path(store.root)
    write = SparksWrite(spark, root, overwrites=overwrites)
    said = write.rename()
    assert said == ("" if overwrites else "FileAlreadyExistsException")
    assert store.read("offsets/8") == (ENTRY if overwrites else CLOSING)


def test_what_spark_has_renamed_over_our_entry_gets_its_name_back_and_is_read(spark, store, monkeypatch):
    """As by a writer that looked before our entry came, and sleeps until right before it is renamed aside."""
    root = Path(store.root)
    write = SparksWrite(spark, root, overwrites=True)
    identity, rename = store.stat("offsets/8").identity, remove_if.os.rename

    def late(source: str, target: str) -> None:
        assert write.rename() == ""
        rename(source, target)

    monkeypatch.setattr(remove_if.os, "rename", late)
    assert not store.delete_if("offsets/8", identity)
    assert store.read("offsets/8") == ENTRY
    batches, newest = logs(spark, root)
    assert batches == [8] and newest is not None, "its checksum fits"
