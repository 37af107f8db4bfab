"""What shows a cause, as machines read it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.matching import Sign

READER = "\tat org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog.deserialize(O.scala:1)"


def test_as_json():
    assert Sign("frame", "A.b").to_dict() == {"kind": "frame", "value": "A.b"}


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("batch 3 doesn't exist", [("text", "batch 3 doesn't exist")]),
        ("[MALFORMED_LOG_FILE] x", [("condition", "MALFORMED_LOG_FILE")]),
        (
            f"java.util.NoSuchElementException: next on empty iterator\n{READER}",
            [("frame", "OffsetSeqLog.deserialize")],
        ),
        ("java.util.NoSuchElementException: next on empty iterator", []),
    ],
)
def test_what_shows_the_cause_of_a_text(text, signs):
    for item in explain(text.splitlines()).explanations:
        assert [(sign.kind, sign.value) for sign in item.signs] == signs
