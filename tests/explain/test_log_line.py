"""What loggers, containers and Airflow write in front of a message is taken away, and the message stays."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.log_line import LogLine, parse_line

MESSAGE = "batch 3 doesn't exist"


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (f"26/11/23 02:14:23 ERROR MicroBatchExecution: {MESSAGE}", "ERROR"),
        (f"2026-11-23 02:14:23,123 WARN org.apache.spark.sql.Foo: {MESSAGE}", "WARN"),
        (f"2026-11-23T02:14:23.123456789Z stderr F 26/11/23 02:14:23 ERROR MicroBatchExecution: {MESSAGE}", "ERROR"),
        (f"2026-11-23 02:14:23.123 [stream execution thread] ERROR o.a.s.Foo - {MESSAGE}", "ERROR"),
        (f"[2026-11-23, 02:14:23 UTC] {{spark_submit.py:492}} INFO - 26/11/23 02:14:23 ERROR Foo: {MESSAGE}", "ERROR"),
        (f"[2026-11-23 02:14:23] INFO - 26/11/23 02:14:23 WARN Foo: {MESSAGE}\r\n", "WARN"),
        (f"\x1b[31m26/11/23 02:14:23 ERROR Foo: {MESSAGE}\x1b[0m", "ERROR"),
        (f"ERROR: {MESSAGE}", "ERROR"),
        (MESSAGE, None),
    ],
)
def test_a_record(line, level):
    found = parse_line(line)
    assert (found.text, found.level) == (MESSAGE, level)


@pytest.mark.parametrize(
    "text",
    [
        "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log.",
        "java.lang.IllegalStateException: batch 3 doesn't exist",
        "\tat org.apache.spark.Foo.bar(Foo.scala:1)",
        "Caused by: java.io.IOException: gone",
        "file:/data/checkpoint/sources/0/2 doesn't exist (latestId: 4, compactInterval: 10)",
    ],
)
def test_a_message_that_looks_like_a_prefix_stays(text):
    assert parse_line(text) == LogLine(text)
    assert parse_line(f"26/11/23 02:14:23 ERROR Foo: {text}").text.strip() == text.strip()
    assert parse_line(f"2026-11-23T02:14:23Z stdout F {text}").text.strip() == text.strip()
