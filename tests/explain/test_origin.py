"""Whose code threw: a reader of Spark's own, called by nothing that evaluates a row, or the query's."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.origin import is_users, plain_frame, reader_in, users_frame

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
    ("frames", "users"),
    [
        ([*PARSE, "com.acme.Parse.call", READER], "com.acme.Parse.call"),
        ([READER, "com.acme.Job.main"], None),
        ([*PARSE], None),
    ],
)
def test_the_query_threw_where_its_frame_is_above_those_of_spark(frames, users):
    assert users_frame(frames) == users


@pytest.mark.parametrize("frame", ["StateStoreRDD.compute", READER, "io.delta.Foo.bar", "java.util.UUID.fromString"])
def test_what_is_not_known_to_be_of_the_query(frame):
    assert not is_users(frame)
