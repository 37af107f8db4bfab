"""The forms of a failure are those in which Spark and PySpark print it."""

from __future__ import annotations

import json

import pytest

from tests.explain.forms import as_json, forms_of
from tests.explain.users.texts import unpack

LOG = """\
26/01/01 00:00:00 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (h executor driver): a.B: no
\tat a.C.d(C.scala:1)

26/01/01 00:00:01 ERROR MicroBatchExecution: Query orders [id = i, runId = r] terminated with error
org.apache.spark.SparkException: [X_Y] two
lines
\tat a.C.d(C.scala:1)
\tat a.C.e(Unknown Source)
Caused by: a.B: no
\tat a.F.g(F.scala:2)
\t... 2 more
"""


def test_a_log_has_every_form():
    forms = forms_of(LOG)
    assert forms["said"].startswith(
        "[STREAM_FAILED] Query [id = i, runId = r] terminated with exception: [X_Y] two\nlines"
    )
    assert forms["trace"].startswith("org.apache.spark.SparkException: [X_Y] two\nlines\n\tat a.C.d(C.scala:1)")
    assert forms["first 1"] == "org.apache.spark.SparkException: [X_Y] two"
    assert forms["first 5"].endswith("Caused by: a.B: no")
    assert forms["first 30"] == forms["trace"]


def test_a_log_without_a_stack_trace_is_cut_itself():
    assert forms_of("26/01/01 00:00:00 WARN A: b\n26/01/01 00:00:00 WARN A: c\n")["first 1"].endswith("b")


def test_words_have_no_frames():
    said = "went wrong: a.B: no\n\tat a.C.d(C.scala:1)\n\nDriver stacktrace:"
    assert forms_of(LOG, said)["said"] == "went wrong: a.B: no\n\nDriver stacktrace:"


def test_json_has_the_frames_of_the_outermost_exception():
    lost, ended = map(json.loads, as_json(LOG))
    assert lost["msg"].endswith("a.B: no\n\tat a.C.d(C.scala:1)\n")
    assert ended["logger"] == "MicroBatchExecution"
    assert ended["exception"]["msg"] == "[X_Y] two\nlines"
    assert [at["method"] for at in ended["exception"]["stacktrace"]] == ["d", "e"]


@pytest.mark.parametrize("failure", unpack("4.3")[::40], ids=lambda failure: failure["kind"])
def test_json_is_that_of_spark(failure):
    made = [json.loads(line) for line in as_json(failure["log"])]
    recorded = [json.loads(line) for line in failure["json"].splitlines()]
    assert len(made) == len(recorded)
    for ours, spark in zip(made, recorded, strict=True):
        assert (ours["level"], ours["logger"]) == (spark["level"], spark["logger"])
        thrown, its = ours.get("exception", {}), spark.get("exception", {})
        assert thrown.get("class") == its.get("class")
        # A message that has frames ends in a text where they begin.
        assert its.get("msg", "").startswith(thrown.get("msg", ""))
