"""The most specific text counts; frames tell causes apart that share a text."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.symptoms.failure import Failure, Thrown
from airflow_provider_ckpt.symptoms.matching import plain_frame
from airflow_provider_ckpt.symptoms.read_index import read_index

INDEX = read_index()
OFFSET_LOG, SOURCE_LOG = (cause.heading for page in INDEX.pages if page.number == 4 for cause in page.causes)


def match(*chain: Thrown):
    return INDEX.match(Failure(list(chain), 1))


@pytest.mark.parametrize(
    ("frame", "plain"),
    [
        ("MicroBatchExecution.$anonfun$populateStartOffsets$6", "MicroBatchExecution.populateStartOffsets"),
        ("HDFSMetadataLog$.verifyBatchIds", "HDFSMetadataLog.verifyBatchIds"),
        ("CompactibleFileStreamLog.$anonfun$allFiles$2$adapted", "CompactibleFileStreamLog.allFiles"),
        ("FileStreamSource.<init>", "FileStreamSource.<init>"),
    ],
)
def test_a_frame_of_scala(frame, plain):
    assert plain_frame(frame) == plain


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
