"""Where a Kafka source begins, as we write and read it, against Spark's own ``KafkaSourceInitialOffsetWriter``.

The connector is that of Spark 4.2.0: that of 4.3.0 was never published in Maven Central.
"""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of, to_json
from airflow_provider_ckpt.codec.source_log import InitialOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

NAME = "sources/0/0"
OFFSETS = {("orders", 0): 5, ("orders", 1): 0, ("orders", 10): 2**63 - 1, ("a-1.x_y", 0): 7}
TEXT = to_json(OFFSETS)


@pytest.fixture(scope="module")
def connector(spark, kafka):
    """Spark's reader and writer of the file; nothing is written to disk."""
    jvm = spark._jvm
    log = jvm.org.apache.spark.sql.kafka010.KafkaSourceInitialOffsetWriter(spark._jsparkSession, "file:/no/such/log")

    def read(data: bytes) -> tuple[str, bytes] | None:
        """The offsets that Spark reads, as JSON, and the bytes that it would write; None where it stops."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            offset = log.deserialize(jvm.java.io.ByteArrayInputStream(data))
        except (Py4JJavaError, PySparkException):
            return None
        out = jvm.java.io.ByteArrayOutputStream()
        log.serialize(offset, out)
        return offset.json(), bytes(out.toByteArray())

    return read


@pytest.mark.parametrize("form", ["versioned", "unversioned"])
def test_spark_reads_what_we_write(connector, form):
    read, written = connector(InitialOffset(SourceOffset(TEXT), form).encode())
    assert offsets_of(SourceOffset(read)) == OFFSETS
    assert codec.decode(NAME, written) == InitialOffset(SourceOffset(read))


def test_we_write_what_spark_writes(connector):
    """Up to the order of the keys, which is that of a hash map."""
    read, written = connector(InitialOffset(SourceOffset(TEXT)).encode())
    assert InitialOffset(SourceOffset(read)).encode() == written


@pytest.mark.parametrize(
    "data",
    [
        b'\0v1\n{"t":{"0":5}}\n',
        b'\0{"t":{"0":5}}',
        b'x{"t":{"0":5}}',
        b'\0v1\n{ "t" : { "0" : 5 } }',
        b'\0v01\n{"t":{"0":5}}',
        b'v1\n{"t":{"0":5}}',
        b'\0v2\n{"t":{"0":5}}',
        b'\0v1\r\n{"t":{"0":5}}',
        b'\0v0\n{"t":{"0":5}}',
        b'\0v\n{"t":{"0":5}}',
        b"\0v1",
        b"\0",
        b'\0v1\n{"t":{"0":"5"}}',
        b'\0v1\n{"t":5}',
        b"\0v1\n[]",
        b"\0v1\n",
        b"{}",
    ],
)
def test_we_accept_what_spark_accepts(connector, data):
    ours = None
    try:
        value = codec.decode(NAME, data)
        if isinstance(value, InitialOffset):
            ours = offsets_of(value.offset, NAME)
    except CheckpointFormatError as error:
        assert error.name == NAME
    spark = connector(data)
    assert ours == (None if spark is None else offsets_of(SourceOffset(spark[0])))
