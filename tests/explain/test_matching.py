"""The most specific text counts; frames tell causes apart that share a text."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.explain.catalog import Entry
from airflow_provider_ckpt.explain.failure import Failure, Thrown
from airflow_provider_ckpt.explain.read_index import read_index

INDEX = read_index()
OFFSET_LOG, SOURCE_LOG = (cause.heading for page in INDEX.pages if page.number == 4 for cause in page.causes)


def match(*chain: Thrown):
    return INDEX.match(Failure(list(chain), 1))


@pytest.mark.parametrize(
    ("frames", "headings"),
    [
        (["HDFSMetadataLog$.verifyBatchIds", "MicroBatchExecution.populateStartOffsets"], [OFFSET_LOG]),
        (["FileStreamSource.getBatch", "MicroBatchExecution.$anonfun$populateStartOffsets$6"], [SOURCE_LOG]),
        (["Other.method"], [OFFSET_LOG, SOURCE_LOG]),
        ([], [OFFSET_LOG, SOURCE_LOG]),
    ],
)
def test_the_innermost_frame_tells_causes_apart(frames, headings):
    found = match(Thrown("IllegalStateException", ["batch 3 doesn't exist"], frames))
    assert found is not None
    assert [cause.heading for cause in found.causes] == headings


def test_a_wrapper_says_nothing_and_its_cause_does():
    found = match(Thrown("StreamingQueryException", ["[STREAM_FAILED] Query"]), Thrown(None, ["batch 3 doesn't exist"]))
    assert found is not None and found.page is not None and found.page.number == 4
    assert match(Thrown("StreamingQueryException", ["[STREAM_FAILED] Query terminated"])) is None


def test_a_condition_counts_more_than_a_text_that_it_wraps():
    text = "[STREAM_FAILED] Query: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent; batch 3 doesn't exist"
    found = match(Thrown("StreamingQueryException", [text]))
    assert found is not None and found.page is not None and found.page.number == 6


def test_a_message_that_was_wrapped_within_words():
    found = match(
        Thrown(
            None, ["There are [1] sources in the check", "point offsets and now there are [2] sources requ", "ested"]
        )
    )
    assert found is not None and found.page is not None and found.page.number == 1
    assert found.facts["wanted"] == "2"


def test_a_condition_of_spark_that_no_checkpoint_raises():
    found = match(Thrown(None, ["[DIVIDE_BY_ZERO] Division by zero."]))
    assert found is not None and found.condition == "DIVIDE_BY_ZERO" and found.causes == ()


@pytest.mark.parametrize("text", ["", "hello", "[NO_SUCH_CONDITION] x", "java.lang.OutOfMemoryError", "[INFO] x"])
def test_what_is_not_known_is_not_guessed(text):
    assert match(Thrown(None, [text])) is None


def test_two_failures_of_a_page_keep_what_tells_them_apart():
    wide = match(Thrown(None, ["batch 3 doesn't exist"]))
    narrow = match(Thrown(None, ["batch 3 doesn't exist"], ["FileStreamSource.getBatch"]))
    assert wide is not None and narrow is not None
    assert wide.key == narrow.key
    for merged in (wide.merged(narrow), narrow.merged(wide)):
        assert [cause.heading for cause in merged.causes] == [SOURCE_LOG]


STREAMING = "org.apache.spark.sql.execution.streaming."
ABOVE_FOREACH_BATCH = [
    f"{STREAMING}sources.ForeachBatchSink.callBatchWriter",
    f"{STREAMING}sources.ForeachBatchSink.addBatch",
    f"{STREAMING}MicroBatchExecution.$anonfun$runBatch$17",
    f"{STREAMING}MicroBatchExecution.runActivatedStream",
]
#: Exceptions that users' own code throws every day, and a damaged checkpoint as well.
SHARED = [
    'For input string: "N/A"',
    "Index 5 out of bounds for length 5",
    "next on empty iterator",
    "No content to map due to end-of-input",
    "Did not find value which can be converted into java.lang.String",
    "Did not find value which can be converted into long",
    "Parsed JSON values do not match with class constructor",
    "Invalid UUID string: 12",
    "Unexpected end-of-input: expected close marker for Object",
    "Unrecognized token 'x': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')",
    "malformed input around byte 3",
    "Wrong basePath /data/a for the root path: /data/b",
    "requirement failed: value cannot be null for key: spark.sql.shuffle.partitions",
    "Offsets out of range with no configured reset policy for partitions: {orders-0=3}",
    "This server does not host this topic-partition.",
    "The file or folder s3a://lake/in/a.json does not exist",
]


@pytest.mark.parametrize("message", SHARED)
def test_what_other_code_throws_as_well_is_proven_by_nothing_but_its_frames(message):
    """Without a stack trace, and with one that was cut off in a library, it is possible."""
    for frames in ([], ["java.util.Foo.bar"], ["scala.Foo.bar", "com.fasterxml.jackson.Foo.bar"]):
        found = match(Thrown("X", [message], frames))
        assert found is not None and not found.is_proven, frames


@pytest.mark.parametrize("message", SHARED)
@pytest.mark.parametrize(
    "frames",
    [
        ["java.util.Foo.bar", "com.acme.Job$.$anonfun$process$1", *ABOVE_FOREACH_BATCH],
        ["java.util.Foo.bar", "$line17.$read$$iw.process", *ABOVE_FOREACH_BATCH],
        ["java.util.Foo.bar", "org.apache.spark.sql.catalyst.expressions.GeneratedClass$G.processNext"],
        ["java.util.Foo.bar", *ABOVE_FOREACH_BATCH],
    ],
    ids=["query", "notebook", "expression", "foreachBatch"],
)
def test_of_a_stack_trace_without_a_reader_of_spark_nothing_is_said(message, frames):
    assert match(Thrown("X", [message], frames)) is None
    assert INDEX.refuted(Failure([Thrown("X", [message], frames)], 1))


@pytest.mark.parametrize(
    ("message", "frame"),
    [
        ("Invalid UUID string: 12", f"{STREAMING}StreamMetadata$.read"),
        ("next on empty iterator", f"{STREAMING}OffsetSeqLog.deserialize"),
        ('For input string: "x"', f"{STREAMING}OffsetSeqMetadata$.$anonfun$setSessionConf$1"),
    ],
)
def test_a_reader_of_spark_that_threw_is_proof(message, frame):
    found = match(Thrown("X", [message], ["java.util.Foo.bar", frame, "com.acme.Job.main"]))
    assert found is not None and [sign.kind for sign in found.signs] == ["frame"]


def test_frames_that_java_prints_once_are_of_the_cause_as_well():
    outer = Thrown("MappingException", ["No usable value"], ["org.json4s.A.b", f"{STREAMING}OffsetSeqLog.deserialize"])
    inner = Thrown("MappingException", ["next on empty iterator"], ["org.json4s.C.d"], shared=1)
    found = match(outer, inner)
    assert found is not None and found.is_proven


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[BATCH_METADATA_NOT_FOUND] Unable to find batch s3a://l/out/_spark_metadata/4.", "batch-metadata-not-found"),
        ("[BATCH_METADATA_NOT_FOUND] Unable to find batch s3a://l/ck/sources/0/1.", "files-deleted-by-age"),
        ("Multiple streaming queries are concurrently using s3a://l/ck/offsets.", "concurrent-stream-log-update"),
        ("Multiple streaming queries are concurrently using s3a://l/out/_spark_metadata.", None),
    ],
)
def test_the_path_in_a_text_decides_the_page(text, expected):
    found = match(Thrown(None, [text]))
    assert found is not None and (found.page.name if found.page else None) == expected
    said = " ".join(command for cause in found.causes for command in cause.commands)
    assert ("repair" in said) == (expected == "batch-metadata-not-found")
    assert ("fence" in said) == (expected == "concurrent-stream-log-update")


QUERY = "1e3db52d-63d1-424a-b9cb-8d7dd6f32b77"
TEMPORARY = "file:/tmp/temporary-4a1bd39f-1c2e-4d8e-9f80-0b6b4a3e7d11"
LOST = "Lost task 3.3 in stage 5.0 (TID 23) (10.0.0.7 executor {}): "
DELTA = (
    "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] Error reading delta file {0} of X: {0} does not exist"
)


@pytest.mark.parametrize(
    ("text", "is_local"),
    [
        (LOST.format(2) + DELTA.format(f"{TEMPORARY}/state/0/3/1.delta"), True),
        (f"File {TEMPORARY}/state/0/3/1.delta does not exist", True),
        (LOST.format(2) + DELTA.format("file:/data/ck/state/0/3/1.delta"), True),
        (LOST.format("driver") + DELTA.format("file:/data/ck/state/0/3/1.delta"), False),
        (LOST.format(2) + DELTA.format("s3a://lake/ck/state/0/3/1.delta"), False),
    ],
)
def test_state_on_the_disk_of_one_machine_is_not_lost(text, is_local):
    found = match(Thrown("X", [text]))
    assert found is not None
    assert any("disk" in cause.text for cause in found.causes) == is_local
    assert any("salvage" in command for cause in found.causes for command in cause.commands) != is_local


def every_error(root: type[CheckpointError] = CheckpointError) -> list[type[CheckpointError]]:
    return [kind for child in root.__subclasses__() for kind in (child, *every_error(child))]


@pytest.mark.parametrize("kind", [kind for kind in every_error() if kind.__module__ == CheckpointError.__module__])
def test_an_error_of_ckpt_itself_is_known(kind):
    found = match(Thrown(kind.__name__, ["/ck: it is so."], package="airflow_provider_ckpt.errors."))
    assert found is not None and found.is_proven and found.causes


@pytest.mark.parametrize(
    "text",
    [
        "/ck: the checkpoint has changed since the plan was made: offsets/9 is new. Nothing was done.",
        "/ck: a query is running: it wrote to the checkpoint within 30s (offsets/9 is new).",
        "/ck: another run of ckpt has the lock of this location: somebody (process 1, plan unknown, since 2026-01-01).",
        "/ck: batch 7 cannot be restored: commits/7 is missing.",
    ],
)
def test_a_sentence_of_ckpt_itself_is_known(text):
    found = match(Thrown(None, [text]))
    assert found is not None and found.is_proven and "ckpt" in found.causes[0].text


@pytest.mark.parametrize(
    ("text", "page", "is_proven"),
    [
        ("FileStreamSink: Skipping already committed batch 12", "first-batches-vanish", False),
        ("Skipping already committed batch 12", "first-batches-vanish", False),
        ("KustoSink: Skipping already committed batch 12", None, False),
        (f"DeltaSink: Skipping already complete epoch 7, in query {QUERY}", "first-batches-vanish", False),
        (f"HoodieStreamingSink: Skipping already completed batch 7 in query {QUERY}", "first-batches-vanish", False),
        (f"SparkWrite: Skipping epoch 7 for query {QUERY} as it was already committed", "first-batches-vanish", False),
    ],
)
def test_the_logger_tells_whose_batch_it_is(text, page, is_proven):
    found = match(Thrown(None, [text]))
    item = found and (found.page or found.entry)
    assert (item and (item.page if isinstance(item, Entry) else item.name)) == page
    assert found is None or found.is_proven == is_proven


GROUP = "(GroupId: spark-kafka-{}-1a2b-executor, TopicPartition: t-1). Some data may have been lost because they are not available in Kafka any more"


@pytest.mark.parametrize(("kind", "page"), [("source", "kafka-data-loss"), ("relation", None)])
def test_a_batch_read_of_kafka_has_no_position_in_a_checkpoint(kind, page):
    found = match(Thrown("IllegalStateException", [f"Cannot fetch offset 13 {GROUP.format(kind)}"]))
    assert found is not None and (found.page.name if found.page else None) == page
    commands = [command for cause in found.causes for command in cause.commands]
    assert any("reset-offsets" in command for command in commands) == (page is not None)


STATE = "org.apache.spark.sql.execution.streaming.state."


@pytest.mark.parametrize(
    ("exception", "text", "frame", "is_proven"),
    [
        ("OutOfMemoryError", "GC overhead limit exceeded", f"{STATE}HDFSBackedStateStoreProvider.load", False),
        ("RocksDBException", "Corruption: Bad table magic number: expected 9", f"{STATE}RocksDB.load", True),
        ("RocksDBException", "Corruption: Bad table magic number: expected 9", None, False),
        (
            "IOException",
            "No space left on device",
            "org.apache.spark.sql.execution.streaming.HDFSMetadataLog.write",
            True,
        ),
        ("IOException", "Error closing gs://l/ck/commits/8: 412 Precondition Failed", None, False),
        ("IOException", "412, PUT, https://a.dfs.core.windows.net/c/ck/offsets/.5.tmp, ConditionNotMet", None, False),
    ],
)
def test_a_reader_in_the_stack_trace_proves_what_only_it_can_have_met(exception, text, frame, is_proven):
    found = match(Thrown(exception, [text], [] if frame is None else [frame]))
    assert found is not None and found.is_proven == is_proven
    assert "checkpoint is whole" not in " ".join(cause.text for cause in found.causes)


def test_a_query_that_is_started_twice_has_no_damage():
    found = match(
        Thrown(
            "IllegalStateException",
            [f"Cannot start query with id {QUERY} as another query with same id is already active."],
        )
    )
    assert found is not None and found.is_proven and not found.causes[0].commands
