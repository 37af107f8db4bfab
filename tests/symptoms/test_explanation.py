"""What an explanation offers: the commands of the findings first, then those of the cause."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.symptoms.explanation import Evidence, Explanation, Met, Unknown
from airflow_provider_ckpt.symptoms.matching import Match
from airflow_provider_ckpt.symptoms.page import Cause

CAUSE = Cause("", "Why.", rules=("CKPT101",), commands=("ckpt check {location} --deep", "ckpt show {location}"))
FINDING = Finding("CKPT101", "error", "it is", commands=("ckpt rollback /ck --to-batch 2",))


def explanation(evidence: Evidence | None = None, **facts: str) -> Explanation:
    return Explanation(Match(None, None, "A_B", (CAUSE,)), CAUSE, facts, Met(3, 9, 2), evidence)


def test_without_a_checkpoint_the_commands_are_those_of_the_cause():
    assert explanation().commands == ("ckpt check LOCATION --deep", "ckpt show LOCATION")
    assert explanation(location="/ck").commands[0] == "ckpt check /ck --deep"


def test_the_commands_of_a_finding_that_confirms_go_first():
    assert explanation(Evidence("confirmed", "It does.", (FINDING,))).commands == FINDING.commands
    other = replace(
        CAUSE, commands=(*CAUSE.commands, "ckpt salvage {location}", "ckpt rollback {location} --to-batch N")
    )
    confirmed = replace(explanation(Evidence("confirmed", "It does.", (FINDING,)), location="/ck"), cause=other)
    assert confirmed.commands == (*FINDING.commands, "ckpt salvage /ck"), "and what repairs it in another way"
    assert explanation(Evidence("unknown", "?", (FINDING,)), location="/ck").commands[0] == "ckpt check /ck --deep"


def test_as_json():
    document = explanation(Evidence("confirmed", "It does.", (FINDING,))).to_dict()
    assert (document["condition"], document["command"], document["times"]) == ("A_B", FINDING.commands[0], 2)
    assert document["evidence"] is not None and document["evidence"]["result"] == "confirmed"
    assert Unknown("x", Met(1, 2, 2)).to_dict() == {"message": "x", "line": 1, "last_line": 2, "times": 2}


def test_a_condition_that_no_checkpoint_raises_says_so():
    found = Explanation(Match(None, None, "DIVIDE_BY_ZERO", ()), None)
    assert "no checkpoint that raises it" in found.cause_text
    assert (found.commands, found.text, found.page) == ((), None, None)
