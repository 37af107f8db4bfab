"""A condition in brackets is Spark's word only in an exception of Spark that no code of the query threw."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.explain.explain import explain
from tests.explain.matrix import SHOWING

CONDITIONS = (
    "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE",
    "KAFKA_DATA_LOSS.START_OFFSET_RESET",
    "BATCH_METADATA_NOT_FOUND",
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    "CONCURRENT_STREAM_LOG_UPDATE",
)
SAID = "[{name}] partner feed says no"
ROW = "\tat com.acme.P.row(P.java:7)\n\tat org.apache.spark.sql.catalyst.expressions.ScalaUDF.eval(ScalaUDF.scala:3)"
RUNNER = (
    "\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)"
)
UDF = 'Traceback (most recent call last):\n  File "/app/udf.py", line 7, in f\n    raise {error}(msg)\n{error}: ' + SAID
PYTHON = f"org.apache.spark.api.python.PythonException: {UDF}\n\n{RUNNER}"
BATCH = "\tat org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink.addBatch(ForeachBatchSink.scala:5)"
STATE = (
    "\tat org.apache.spark.sql.execution.datasources.v2.state.StatePartitionReader.next(StatePartitionReader.scala:9)"
)
PROXY = (
    "py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n"
    '  File "/opt/py4j/clientserver.py", line 644, in _call_proxy\n    return_value = getattr(x)\n'
    '  File "/opt/pyspark/sql/utils.py", line 137, in call\n    raise e\n'
    '  File "/app/job.py", line 9, in write\n    {call}\n'
)
OF_USERS = {
    "python": PYTHON.replace("{error}", "ValueError"),
    "own class": PYTHON.replace("{error}", "acme.errors.FeedError"),
    "frames of Python cut off": f"ValueError: {SAID}\n\n{RUNNER}",
    "within a message": f"org.apache.spark.SparkException: Job aborted due to stage failure: ValueError: {SAID}\n{RUNNER}",
    "java": f"java.lang.IllegalArgumentException: {SAID}\n{ROW}",
    "class of Spark": f"org.apache.spark.SparkException: {SAID}\n{ROW}",
    "repeated": f"org.apache.spark.SparkException: {SAID}\n{BATCH}\nCaused by: com.acme.FeedException: {SAID}\n{ROW}",
    "no frames": f"com.acme.FeedException: {SAID}",
    "java without frames": f"java.lang.RuntimeException: {SAID}",
    "foreachBatch": PROXY.format(call="raise RuntimeError") + f"RuntimeError: retry failed: {SAID}\n",
    "Spark in foreachBatch": PROXY.format(call="old.show()")
    + f'  File "/opt/pyspark/errors/exceptions/captured.py", line 2, in deco\npyspark.errors.SparkException: {SAID}\n',
    "Spark on the driver": f"org.apache.spark.SparkException: {SAID}\n{STATE}\n\tat com.acme.In.y(In.java:3)\n{BATCH}",
    "Spark in a task": f"org.apache.spark.SparkException: Job aborted\n\tat com.acme.In.y(In.java:3)\n{BATCH}\n"
    f"Caused by: org.apache.spark.SparkException: {SAID}\n{STATE}\n\tat java.lang.Thread.run(Thread.java:1)",
}
MENTIONS = (
    f"26/01/01 10:00:00 WARN StreamJob: earlier error: {SAID}",
    f"26/01/01 10:00:00 WARN Job: ignoring earlier {SAID} of yesterday",
    f"26/01/01 10:00:00 WARN Job: {SAID}",
    f"26/01/01 10:00:00 INFO com.acme.Job: org.apache.spark.SparkException: {SAID} of yesterday",
    f"2026-01-01 10:00:00,123 WARNING acme.job: last run: org.apache.spark.SparkException: {SAID}",
)


def shown(text: str):
    return [item for item in explain(text.splitlines()).explanations if item.cause is not None and item.is_shown]


def changes(text: str) -> list[str]:
    commands = [command for item in explain(text.splitlines()).explanations for command in item.commands]
    return [command for command in commands if command.split()[1] not in SHOWING]


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("form", OF_USERS)
def test_a_condition_in_an_exception_of_a_query_is_no_cause(form, name):
    text = OF_USERS[form].format(name=name)
    head, _, message = text.partition(": ")
    record = json.dumps({"level": "ERROR", "msg": "Exception in task", "exception": {"class": head, "msg": message}})
    for said in (text, record if "python" in form else text):
        assert not shown(said)
        assert not changes(said)


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("text", MENTIONS)
def test_another_logger_only_mentions_a_condition(text, name):
    said = (
        f"{text.format(name=name)}\n26/01/01 10:00:01 ERROR Job: java.lang.IllegalStateException: feed is closed\n{ROW}"
    )
    assert not shown(said)
    assert not changes(said)


@pytest.mark.parametrize(
    "text",
    [
        "[{name}] Spark says so",
        "org.apache.spark.SparkException: [{name}] x\n\tat org.apache.spark.sql.X.y(X.scala:1)\n\tat com.acme.M.main(M.java:1)",
        "SparkException: [{name}] x",
        "26/01/01 10:00:00 WARN TaskSetManager: Lost task 0.0 in stage 1.0: org.apache.spark.SparkException: [{name}] x",
        "26/01/01 10:00:00 WARN Job: query died\norg.apache.spark.SparkException: [{name}] x",
        "[2026-01-01 10:00:00] {{spark_submit.py:571}} INFO - pyspark.errors.StreamingQueryException: [{name}] x",
        'File "/app/job.py", line 9, in <module>\n  File "/opt/pyspark/errors/exceptions/captured.py", line 2, in deco\n'
        "pyspark.errors.exceptions.captured.SparkException: [{name}] x",
        "org.apache.spark.SparkException: Job aborted\n\tat com.acme.In.y(In.java:3)\n" + BATCH + "\n"
        "Caused by: org.apache.spark.SparkException: [{name}] x\n"
        "\tat org.apache.spark.sql.execution.streaming.state.StateStoreRDD.compute(StateStoreRDD.scala:9)",
        "java.lang.IllegalStateException: [{name}] x\n\tat org.apache.spark.sql.kafka010.KafkaSource.f(KafkaSource.scala:1)",
    ],
)
def test_an_exception_of_spark_is_a_cause(text):
    assert shown(text.format(name=CONDITIONS[0]))


@pytest.mark.parametrize("name", CONDITIONS)
def test_what_is_only_possible_is_not_said_to_be_of_no_checkpoint(name):
    for text in (f"we have met [{name}] again", f"java.lang.RuntimeException: [{name}] x"):
        assert all(item.cause is not None and item.doubt for item in explain([text]).explanations)


#: Words that only Spark has, where an exception of its JVM says them.
WORDS = (
    "batch 3 doesn't exist",
    "Incomplete log file",
    "Concurrent update to the log. Multiple streaming jobs detected for 5",
    "Unable to find batch s3a://lake/out/_spark_metadata/4.",
    "No such file or directory: s3a://lake/ck/state/0/7/.1.delta.3e5b7f0a-4a55-4b7e-9f0e-6d0f2ad91b8e.TID7.tmp",
)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("exception", ["ValueError", "RuntimeError", "Exception", "KeyError", "FeedError", "OSError"])
def test_an_exception_of_python_is_none_of_sparks_jvm(exception, words):
    for text in (f"{exception}: {words}", f"org.apache.spark.SparkException: Job aborted: {exception}: {words}"):
        assert not explain([text]).explanations


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    "text",
    [
        "java.lang.IllegalStateException: {}",
        "IllegalStateException: {}",
        "AssertionError: {}",
        "StreamingQueryException: {}",
        "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] terminated with exception: {}",
        "Py4JJavaError: An error occurred while calling o7.awaitTermination: {}",
        "RuntimeError: retries are used up: java.lang.IllegalStateException: {}",
    ],
)
def test_an_exception_of_java_or_a_wrapper_of_pyspark_may_be(text, words):
    assert explain([text.format(words)]).explanations
