"""Logs, stack traces and copied messages as failures."""

from __future__ import annotations

import json
import re
import textwrap
import time
from itertools import chain, repeat

import pytest

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.failure import Failure
from airflow_provider_ckpt.explain.stack_traces import MOST_FRAMES, MOST_LINES, Dull, read_failures

WARN = "26/11/23 02:14:23 WARN TaskSetManager: Lost task {}.0 of batch {} in stage 3.0 (TID {}) (10.0.0.7 executor 4)"
JSON = '{{"level": "WARN", "msg": "Lost task {}.0 of batch {}, TID {}", "logger": "TaskSetManager"}}'
FRAMES = ["\tat org.apache.spark.sql.execution.Foo$$anon$1.next(Foo.scala:17)\n"] * 30
#: Lines of a log, and how many times one search in each line explaining them may cost. Without a memory, and without a
#: look at many lines at once, it is hundreds.
REPEATED = {
    "exception": (["java.lang.Exception: x\n"], 12),
    "numbers": ([f"java.lang.Exception: x{n}\n" for n in range(100)], 12),
    "message": (["hello\n"], 12),
    "blank": (["\n"], 12),
    "words": ([f"and then it took its time in step {n} of the load\n" for n in range(100)], 12),
    "warnings": ([WARN.format(n, n, n) for n in range(100)], 6),
    "json": ([JSON.format(n, n, n) for n in range(100)], 6),
    "traces": (["java.io.IOException: no connection\n", *FRAMES], 30),
}


@pytest.mark.parametrize(("lines", "most"), REPEATED.values(), ids=REPEATED)
def test_a_log_that_repeats_itself_costs_little_a_line(lines, most):
    """By CPU time."""
    log = lines * (20_000 // len(lines))
    search = re.compile(r"(?:[a-z]+\.)*Foo").search

    def cost(what) -> float:
        begun = time.thread_time()
        what()
        return time.thread_time() - begun

    explain(["x"])
    assert min(cost(lambda: explain(log)) for _ in range(3)) < most * max(
        cost(lambda: [search(line) for line in log]) for _ in range(3)
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_exceptions_with_ever_new_numbers_are_told_apart_many_at_once(monkeypatch, end):
    """Most are not looked at one by one; what comes after them has its line, and one of before is counted."""
    looked_at = []
    has = Dull.has
    monkeypatch.setattr(Dull, "has", lambda self, line: looked_at.append(line) or has(self, line))
    log = [f"java.lang.Exception: x{n}{end}" for n in range(10_000, 40_000)]
    explained = explain([*log, log[0], *log, f"java.lang.IllegalStateException: batch 3 doesn't exist{end}"])
    assert {item.met.line for item in explained.explanations} == {60_002}
    assert explained.unknown[0].met.times == 3
    assert len(looked_at) < len(log)


def test_lines_that_are_left_out_are_counted():
    log = ["java.lang.Exception: x\n"] * 50 + ["\n" * 10, "java.lang.Exception: x\n"]
    unknown = explain(log).unknown
    assert [(item.message, item.met.line, item.met.last_line, item.met.times) for item in unknown] == [
        ("Exception: x", 1, 61, 51)
    ]


def test_a_failure_behind_lines_that_are_left_out_has_its_line():
    log = ["hello\n"] * 200 + ["\n" * 7, "batch 3 doesn't exist\n"]
    assert {item.met.line for item in explain(log).explanations} == {208}
    log = ["java.lang.Exception: x1\n", "java.lang.Exception: x2\n"] * 9 + [
        "java.lang.IllegalStateException: batch 3 doesn't exist\n"
    ]
    assert {item.met.line for item in explain(log).explanations} == {19}


def test_a_dull_exception_with_a_trace_keeps_its_trace():
    frame = "\tat org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog.deserialize(O.scala:1)\n"
    log = ["java.util.X: next on empty iterator\n"] * 5 + [frame]
    assert any(item.is_shown for item in explain(log).explanations)


JAVA = """\
java.lang.IllegalStateException: batch 4 doesn't exist
\tat org.apache.spark.sql.HDFSMetadataLog$.verifyBatchIds(HDFSMetadataLog.scala:391)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.io.IOException: gone
\tat org.apache.spark.sql.Foo.bar(Foo.scala:1)
\t... 26 more
"""
#: What the stack trace says, however it was logged.
SAYS = [("IllegalStateException", "batch 4 doesn't exist", 2), ("IOException", "gone", 1)]
RECORD = "26/11/23 02:14:23 ERROR MicroBatchExecution: Query terminated with error\n"


def read(text: str) -> list[Failure]:
    return list(read_failures(text.splitlines(keepends=True)))


def said(failure: Failure) -> list[tuple[str | None, str, int]]:
    return [(thrown.exception, thrown.message, len(thrown.frames)) for thrown in failure.chain]


@pytest.mark.parametrize(
    "text",
    [
        JAVA,
        JAVA.replace("\n", "\r\n"),
        "".join(f"2026-11-23T02:14:23.5Z stderr F {line}\n" for line in JAVA.splitlines()),
        "".join(f"\x1b[31m{line}\x1b[0m\n" for line in JAVA.splitlines()),
        "".join(f"    {line}\n" for line in JAVA.splitlines()),
        f'Exception in thread "main" {JAVA}',
        f"py4j.protocol.Py4JJavaError: An error occurred while calling o75.x.\n: {JAVA}".partition("\n")[2],
    ],
    ids=["java", "crlf", "kubernetes", "ansi", "indented", "thread", "py4j"],
)
def test_a_stack_trace_however_it_was_printed(text):
    (failure,) = read(text)
    assert said(failure) == SAYS


def test_a_record_and_the_exception_below_it_are_one_failure():
    (failure,) = read(RECORD + JAVA)
    assert said(failure) == [(None, "Query terminated with error", 0), *SAYS]
    assert (failure.line, failure.level) == (1, "ERROR")


def test_records_are_told_apart_and_those_that_say_what_goes_well_are_left_out():
    log = f"26/11/23 02:14:22 INFO Foo: all is well\nand goes on\n{RECORD}{JAVA}26/11/23 02:14:24 WARN Bar: hm\n"
    assert [(failure.line, failure.level) for failure in read(log)] == [(3, "ERROR"), (10, "WARN")]


def test_an_exception_in_a_quiet_record_counts():
    (failure,) = read(f"26/11/23 02:14:22 INFO Foo: retrying\n{JAVA}")
    assert said(failure) == SAYS


def test_a_python_traceback_ends_with_its_message():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/job.py", line 5, in <module>\n'
        "    query.awaitTermination()\n"
        "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query terminated: [A_B] why\n"
        "=== Streaming Query ===\n"
    )
    (failure,) = read(text)
    assert failure.chain[0].exception == "StreamingQueryException"
    assert failure.chain[0].conditions == ("STREAM_FAILED", "A_B")


@pytest.mark.parametrize(
    "source", ["", "    query.awaitTermination()\n", "    query.awaitTermination()\n           ^^^^^^^^^^\n"]
)
def test_a_frame_of_python_with_and_without_its_source(source):
    """A notebook and standard input have none."""
    text = f'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n{source}{JAVA}'
    for pasted in (text, textwrap.indent(text, "    ")):
        (failure,) = read(pasted)
        assert said(failure) == SAYS


def test_what_spark_connect_adds_is_a_failure_of_its_own():
    failures = read(f"pyspark.errors.exceptions.connect.SparkConnectGrpcException: (x) y\n\nJVM stacktrace:\n{JAVA}")
    assert [failure.chain[0].exception for failure in failures] == [
        "SparkConnectGrpcException",
        "IllegalStateException",
    ]


FRAME = {"class": "org.apache.spark.sql.HDFSMetadataLog$", "method": "verifyBatchIds", "file": "H.scala", "line": 3}
STRUCTURED = {
    "ts": "2026-11-23T02:14:23Z",
    "level": "ERROR",
    "msg": "Query terminated with error",
    "exception": {"class": "java.lang.IllegalStateException", "msg": "batch 4 doesn't exist", "stacktrace": [FRAME]},
}


@pytest.mark.parametrize(
    "record",
    [
        STRUCTURED,
        {"log": "\n".join([RECORD.strip(), *JAVA.splitlines()[:2]]), "stream": "stderr"},
        {"severity": "ERROR", "message": "x", "stack_trace": "\n".join(JAVA.splitlines()[:2])},
        {"level": "ERROR", "msg": "x", "stack": "\n".join(JAVA.splitlines()[:2])},
        {"level": "ERROR", "msg": "x", "message": "\n".join(JAVA.splitlines()[:2])},
        {"level": "ERROR", "msg": "x", "log": "\n".join(JAVA.splitlines()[:2])},
    ],
    ids=["spark", "docker", "text", "stack", "message beside msg", "log beside msg"],
)
def test_a_json_log(record):
    (failure,) = read(json.dumps(record))
    assert said(failure)[-1] == ("IllegalStateException", "batch 4 doesn't exist", 1)
    assert failure.level == "ERROR"


def test_an_error_of_spark_as_json_has_its_condition():
    (failure,) = read('{"errorClass":"MALFORMED_LOG_FILE","messageParameters":{"text":"x"},"message":"Log file"}')
    assert failure.chain[0].conditions == ("MALFORMED_LOG_FILE",)


@pytest.mark.parametrize("text", ["{", "{}", "{not json}", '{"a": 1}', "[" * 5000, '{"msg": 5}'])
def test_what_is_no_record_is_text(text):
    assert len(read(text)) <= 1


def test_a_trace_that_lost_its_head_keeps_its_frames():
    (failure,) = read("\n".join(JAVA.splitlines()[1:]))
    assert said(failure) == [(None, "", 2), SAYS[1]]


def test_a_message_that_never_ends_is_kept_in_pieces():
    failures = read_failures(
        chain(["java.lang.Foo: x\n"], repeat("more\n", 500), repeat("\tat a.B.c(D.java:1)\n", 500))
    )
    for failure in failures:
        assert all(len(thrown.lines) <= MOST_LINES and len(thrown.frames) <= MOST_FRAMES for thrown in failure.chain)


def test_a_log_is_read_as_it_comes():
    """No more of it is kept than one failure: a log without an end gives its failures all the same."""
    failures = read_failures(chain.from_iterable(repeat((RECORD + JAVA).splitlines(keepends=True))))
    assert [next(failures).line for _ in range(3)] == [1, 8, 15]


TRACEBACK = (
    'Traceback (most recent call last):\n  File "/app/job.py", line 7, in to_cents\n    return int(text)\n'
    "ValueError: not a number: N/A\n"
)
RUNNER = "\tat org.apache.spark.api.python.PythonRunner.compute(PythonRunner.scala:1)\n"
PYTHON = f"org.apache.spark.api.python.PythonException: {TRACEBACK}\n{RUNNER}"
TASK = f"org.apache.spark.SparkException: Job aborted: Lost task 0.3: {PYTHON}\nDriver stacktrace:\n"
#: A failure of a function of the query, as Spark and PySpark print it around its traceback.
WRAPPED = {
    "worker": PYTHON,
    "worker of Spark 4": PYTHON.replace("PythonException: T", "PythonException: [PYTHON_EXCEPTION] An exception:\nT"),
    "task": f"{TASK}\tat org.apache.spark.scheduler.DAGScheduler.abortStage(D.scala:1)\nCaused by: {PYTHON}",
    "record": f"26/11/23 02:14:23 ERROR Executor: Exception in task 0.0\n{PYTHON}",
    "foreachBatch": f"pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query x terminated with exception: {TRACEBACK}",
    "JSON": json.dumps(
        {
            "level": "ERROR",
            "msg": "Exception in task 0.0",
            "exception": {
                "class": "org.apache.spark.api.python.PythonException",
                "msg": TRACEBACK,
                "stacktrace": [{"class": "org.apache.spark.api.python.PythonRunner", "method": "compute"}],
            },
        }
    ),
}


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED)
def test_a_wrapper_and_the_exception_of_python_in_it_are_one_failure(text):
    (item,) = explain(text.splitlines()).unknown
    assert (item.message, item.thrown_by) == ("ValueError: not a number: N/A", "/app/job.py:to_cents")


def test_what_spark_adds_to_an_exception_of_python_is_left_out():
    (item,) = explain(f"{PYTHON}{PYTHON.replace('N/A', 'N/A SQLSTATE: 38000')}".splitlines()).unknown
    assert (item.message, item.met.times) == ("ValueError: not a number: N/A", 2)


@pytest.mark.parametrize(
    "exception", ["StopIteration", "shop.Rejected: no price", "Rejected: no price", "KeyboardInterrupt"]
)
def test_what_python_throws_is_an_exception_whatever_its_name(exception):
    text = WRAPPED["foreachBatch"].replace("ValueError: not a number: N/A", exception)
    (item,) = explain(text.splitlines()).unknown
    assert (item.message, item.thrown_by) == (exception.removeprefix("shop."), "/app/job.py:to_cents")


@pytest.mark.parametrize(
    ("link", "at", "thrown", "thrown_by"),
    [
        (
            "The above exception was the direct cause of the following exception:",
            "/lib/pyspark/worker.py",
            "RuntimeError: generator raised StopIteration",
            "/app/job.py:to_cents",
        ),
        (
            "During handling of the above exception, another exception occurred:",
            "/lib/pyspark/util.py",
            "PySparkRuntimeError: [STOP_ITERATION_OCCURRED] Caught",
            "/app/job.py:to_cents",
        ),
        (
            "During handling of the above exception, another exception occurred:",
            "/app/job.py",
            "KeyError: 'price'",
            "/app/job.py:wrapper",
        ),
        ("", "/lib/pyspark/util.py", "ValueError: none", None),
    ],
)
def test_what_pyspark_makes_of_an_exception_of_the_query_is_of_the_query(link, at, thrown, thrown_by):
    first = TRACEBACK.replace("ValueError: not a number: N/A", "StopIteration")
    second = f'Traceback (most recent call last):\n  File "{at}", line 158, in wrapper\n    f()\n{thrown}\n'
    found = explain(f"{first}\n{link}\n\n{second}".splitlines()).unknown
    assert {item.message: item.thrown_by for item in found} == {
        "StopIteration": "/app/job.py:to_cents",
        thrown: thrown_by,
    }
