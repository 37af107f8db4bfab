"""Conditions are found in messages of every form, and other words in brackets are none."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.failure import Failure, Thrown


@pytest.mark.parametrize(
    ("message", "conditions"),
    [
        ("[MALFORMED_LOG_FILE] Log file was malformed", ("MALFORMED_LOG_FILE",)),
        ("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error", ("CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",)),
        ("[STREAM_FAILED] Query [id = 1] terminated with exception: [A_B.C_D] x", ("STREAM_FAILED", "A_B.C_D")),
        ('{"errorClass":"KAFKA_DATA_LOSS.START_OFFSET_RESET"}', ("KAFKA_DATA_LOSS.START_OFFSET_RESET",)),
        ("error class: BATCH_METADATA_NOT_FOUND", ("BATCH_METADATA_NOT_FOUND",)),
        ("[INFO] [2] [SQLSTATE] [id = 5] Query", ()),
    ],
)
def test_conditions(message, conditions):
    assert Thrown(None, [message]).conditions == conditions


def test_a_condition_that_was_cut_at_the_end_of_a_line_is_put_together():
    assert Thrown(None, ["[CONCURRENT_STREAM_LOG", "_UPDATE] Concurrent"]).conditions == (
        "CONCURRENT_STREAM_LOG_UPDATE",
    )


def test_a_message_is_one_line_with_single_spaces():
    assert Thrown("E", ["a  b", " c\t"]).message == "a b c"


def test_a_failure_has_the_frames_of_its_whole_chain():
    failure = Failure([Thrown("A", frames=["X.a"]), Thrown(None, frames=["Y.b"])], 1)
    assert failure.frames == {"X.a", "Y.b"}
    assert failure.is_exception
    assert not Failure([Thrown(None, ["text"])], 1).is_exception
