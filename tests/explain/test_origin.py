"""Whose code threw: a reader of Spark's own, called by nothing that evaluates a row, or the query's."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.origin import others_frame, own_frame, owners, plain_frame, reader_in

SPARK = "org.apache.spark.sql.execution.streaming."
PARSE = ["java.lang.NumberFormatException.forInputString", "scala.collection.StringOps$.toInt$extension"]
CONF = ["org.apache.spark.internal.config.ConfigHelpers$.toNumber", "org.apache.spark.sql.internal.SQLConf.getConf"]
READER = f"{SPARK}state.StateStoreRDD.compute"


@pytest.mark.parametrize(
    ("frame", "plain"),
    [
        ("MicroBatchExecution.$anonfun$populateStartOffsets$6", "MicroBatchExecution.populateStartOffsets"),
        (f"{SPARK}checkpointing.HDFSMetadataLog$.verifyBatchIds", "HDFSMetadataLog.verifyBatchIds"),
        ("CompactibleFileStreamLog.$anonfun$allFiles$2$adapted", "CompactibleFileStreamLog.allFiles"),
        ("FileStreamSource.<init>", "FileStreamSource.<init>"),
        (f"{SPARK}FileStreamSource.", "FileStreamSource."),
    ],
)
def test_a_frame_of_scala(frame, plain):
    assert plain_frame(frame) == plain


@pytest.mark.parametrize(
    ("frames", "reader"),
    [
        ([*PARSE, *CONF, READER], "StateStoreRDD.compute"),
        ([*PARSE, READER], "StateStoreRDD.compute"),
        ([*PARSE, "com.acme.Parse.call", READER], None),
        ([*PARSE, "$line14.$read$$iw.parse", READER], None),
        ([*PARSE, "org.apache.spark.sql.catalyst.expressions.GeneratedClass$G.processNext", READER], None),
        ([*PARSE, "org.apache.spark.rdd.RDD.iterator", READER], None),
        ([*PARSE, f"{SPARK}sources.ForeachBatchSink.addBatch", READER], None),
        (PARSE, None),
    ],
)
def test_a_reader_threw_where_nothing_above_it_is_of_the_query_or_evaluates_a_row(frames, reader):
    assert reader_in(frames, {"StateStoreRDD.compute"}) == reader


@pytest.mark.parametrize(
    ("frames", "others"),
    [
        ([*PARSE, "com.acme.Parse.call", READER], "com.acme.Parse.call"),
        ([READER, "com.acme.Job.main"], None),
        ([*PARSE], None),
        ([*PARSE, "Parse.call", f"{SPARK}sources.ForeachBatchSink.addBatch"], "Parse.call"),
        ([*PARSE, "org.apache.spark.acme.Parse.call", READER], "org.apache.spark.acme.Parse.call"),
    ],
)
def test_a_frame_of_others_is_above_those_of_spark(frames, others):
    assert others_frame(frames) == others


@pytest.mark.parametrize(
    ("frame", "owner"),
    [("StateStoreRDD.compute", "short"), (READER, "system"), ("io.delta.Foo.bar", "system"),
     ("java.util.UUID.fromString", "library")],
)  # fmt: skip
def test_what_is_not_known_to_be_of_others(frame, owner):
    assert owners((frame,)) == (owner,)


#: The innermost frames of storages, each with what calls it, and where a query has called it itself.
STORAGES = {
    "EMRFS": ["com.amazon.ws.emr.hadoop.fs.s3n.S3NativeFileSystem.getFileStatus",
              "com.amazon.ws.emr.hadoop.fs.EmrFileSystem.open"],
    "MapR": ["com.mapr.fs.MapRFileSystem.lookupClient", "com.mapr.fs.MapRFileSystem.open"],
    "JindoFS": ["com.aliyun.jindodata.oss.JindoOssFileSystem.open"],
    "COS": ["com.qcloud.cos.COSClient.getObject", "org.apache.hadoop.fs.CosNFileSystem.open"],
    "Alluxio": ["alluxio.client.file.BaseFileSystem.rpc", "alluxio.hadoop.AbstractFileSystem.open"],
    "a cache": ["com.qubole.rubix.spi.BookKeeper.read", "com.qubole.rubix.core.CachingFileSystem.open"],
    "unknown": ["example.blobs.Client.get", "example.blobs.Volume.open", "org.apache.hadoop.fs.FileSystem.open"],
    "unknown, by its name": ["example.blobs.Client.get", "example.blobs.BlobFileSystem.open"],
    "unknown, by its caller": ["example.blobs.Client.get", "example.blobs.Volume.open"],
}  # fmt: skip
LOG = f"{SPARK}checkpointing.HDFSMetadataLog.get"
FUNCTION = ["com.acme.Lookup.read", "com.acme.Sink.write", f"{SPARK}sources.ForeachBatchSink.addBatch"]


@pytest.mark.parametrize("frames", STORAGES.values(), ids=STORAGES)
def test_a_storage_stands_between_a_reader_of_spark_and_its_file(frames):
    assert reader_in([*frames, LOG], {"HDFSMetadataLog"}) == "HDFSMetadataLog"
    assert others_frame([*frames, LOG]) is None and own_frame([*frames, LOG]) is None


@pytest.mark.parametrize("name", sorted(set(STORAGES) - {"unknown, by its caller"}))
def test_the_query_that_called_a_storage_is_named(name):
    frames = [*STORAGES[name], *FUNCTION]
    assert reader_in(frames, {"HDFSMetadataLog"}) is None
    assert others_frame(frames) == own_frame(frames) == "com.acme.Lookup.read"


@pytest.mark.parametrize(
    ("frames", "own"),
    [
        (FUNCTION, "com.acme.Lookup.read"),
        (["org.postgresql.Driver.connect", "com.zaxxer.Pool.get", *FUNCTION], "com.acme.Lookup.read"),
        (["example.http.Client.get", *FUNCTION], "com.acme.Lookup.read"),
        (["Job.main", "org.apache.spark.deploy.SparkSubmit.run"], "Job.main"),
        ([*PARSE, "$line14.$read$$iw.parse"], "$line14.$read$$iw.parse"),
        (["com.acme.Lookup.read"], None),  # cut off
        (["org.postgresql.Driver.connect", "org.apache.spark.sql.execution.datasources.jdbc.JDBCRDD.compute"], None),
        (["example.queue.Source.read", "org.apache.spark.sql.execution.datasources.v2.DataSourceRDD.compute"], None),
        (["com.mysql.cj.Connection.ping", f"{SPARK}sources.ForeachBatchSink.addBatch"], None),
        ([LOG, *FUNCTION], None),
    ],
)
def test_code_is_the_querys_own_where_spark_called_it_as_a_function(frames, own):
    assert own_frame(frames) == own
