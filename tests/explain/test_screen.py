"""What the screen lets pass: everything that a page or an entry knows, and the lines around it."""

from __future__ import annotations

from re import _parser  # type: ignore[attr-defined]  # what a pattern is made of is told nowhere else

import pytest

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.read_index import read_index
from airflow_provider_ckpt.explain.screen import WORDS, may_be_known

PATTERNS = [text for item in read_index().items for text in (*item.texts, *item.told.shared_texts)]


def needs(tree) -> list[set[str]]:
    """Sets of words; whatever a part of a pattern finds has one word of each set."""
    found, run = [], ""
    for operator, argument in [*tree, (None, None)]:
        if str(operator) == "LITERAL":
            run += chr(argument)
            continue
        if str(operator) == "AT":
            continue
        if str(operator) == "BRANCH":  # what its branches begin with alike is in front of it
            before = [("LITERAL", ord(letter)) for letter in run]
            each = [
                next((one for one in needs([*before, *branch]) if is_let_pass(one)), None) for branch in argument[1]
            ]
            if None not in each:
                found.append(set().union(*each))
        found += [{word} for word in run.split()]
        run = ""
        if str(operator) == "SUBPATTERN":
            found += needs(argument[3])
        elif str(operator) in ("MAX_REPEAT", "MIN_REPEAT") and argument[0]:
            found += needs(argument[2])
    return found


def is_let_pass(words: set[str]) -> bool:
    return all(may_be_known(word) for word in words)


TRACE = (
    ["java.lang.IllegalStateException: batch 4 doesn't exist"]
    + [f"\tat org.apache.spark.sql.execution.streaming.Foo{number}.bar(Foo.scala:1)" for number in range(300)]
    + ["Caused by: java.io.FileNotFoundException: File does not exist: /c/offsets/4"]
)
RECORD = "26/11/23 02:14:23 ERROR MicroBatchExecution: Query q [id = x, runId = y] terminated with error"
FILLERS = {
    "prose": "all is as it was",
    "records": "26/11/23 02:14:23 WARN TaskSetManager: Lost task 1.0 in stage 2.0 (TID 3)",
    "known words": "26/11/23 02:14:23 WARN Foo: the batch 3 of kafka offsets is checkpoint-free",
    "quiet": "26/11/23 02:14:23 INFO TaskSetManager: Finished task 1.0 in stage 2.0",
    "json": '{"level": "WARN", "msg": "batch 3 was slow", "logger": "Foo"}',
    "short": "ok",
    "blank": "\n\n\n",
    "unknown": "com.acme.Trouble: none of 17 came",
}


@pytest.mark.parametrize("filler", FILLERS.values(), ids=FILLERS)
def test_a_failure_in_a_long_log_is_found_as_if_it_were_alone(filler):
    around = [filler] * 3000
    found = explain(iter([*around, RECORD, *TRACE, *around, RECORD, *TRACE, *around])).explanations
    alone = explain(iter([RECORD, *TRACE])).explanations
    assert [(item.cause, item.match.signs) for item in found] == [(item.cause, item.match.signs) for item in alone]
    lines = sum(len(line) if line[0] == "\n" else 1 for line in around)
    assert {item.met.line for item in found} == {lines + 1}
    assert {(item.met.times, item.met.last_line) for item in found} == {(2, 2 * lines + len(TRACE) + 2)}


def test_a_word_has_letters_enough_to_be_rare():
    assert min(map(len, WORDS)) > 2


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:40])
def test_whatever_a_pattern_finds_is_let_pass(pattern):
    assert any(map(is_let_pass, needs(_parser.parse(pattern.pattern))))
