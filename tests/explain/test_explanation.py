"""What an explanation offers: the commands of the findings first, then those of the cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.explain.catalog import Entry
from airflow_provider_ckpt.explain.explanation import Evidence, Explanation, Met, Unknown
from airflow_provider_ckpt.explain.matching import Match, Sign
from airflow_provider_ckpt.explain.page import Cause, Told

CAUSE = Cause("", "Why.", rules=("CKPT101",), commands=("ckpt check {location} --deep", "ckpt show {location}"))
FINDING = Finding("CKPT101", "error", "it is", commands=("ckpt rollback /ck --to-batch 2",))


PROVEN = Match(None, None, "A_B", (CAUSE,), signs=(Sign("condition", "A_B"),))


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
    assert confirmed.commands == ("ckpt salvage /ck", *FINDING.commands), "after what gives up less"
    assert explanation(Evidence("unknown", "?", (FINDING,)), location="/ck").commands[0] == "ckpt check /ck --deep"


def test_as_json():
    document = explanation(Evidence("confirmed", "It does.", (FINDING,))).to_dict()
    assert (document["condition"], document["command"], document["times"]) == ("A_B", FINDING.commands[0], 2)
    assert document["evidence"] is not None and document["evidence"]["result"] == "confirmed"
    assert Unknown("x", Met(1, 2, 2)).to_dict() == {
        "message": "x",
        "thrown_by": None,
        "line": 1,
        "last_line": 2,
        "times": 2,
    }


def test_a_condition_that_no_checkpoint_raises_says_so():
    found = Explanation(Match(None, None, "DIVIDE_BY_ZERO", ()), None)
    assert "no checkpoint that raises it" in found.cause_text
    assert (found.commands, found.text, found.page) == ((), None, None)


def test_a_checkpoint_whose_newest_entry_cannot_be_read_is_not_fenced():
    fence = replace(CAUSE, commands=("ckpt fence {location}",))
    item = replace(explanation(location="/ck"), cause=fence, match=PROVEN)
    assert item.commands == ("ckpt fence /ck",)
    assert replace(item, evidence=Evidence("unknown", "?", (FINDING,))).commands == (
        "ckpt salvage /ck --sink TYPE[:URI]",
    )


def shared(evidence: Evidence | None = None) -> Explanation:
    """Of a text that code of the query fails with as well."""
    told = Told(maybe="an entry is cut off")
    cause = replace(CAUSE, frames=("OffsetSeqLog.deserialize",), commands=(*CAUSE.commands, "ckpt salvage {location}"))
    entry = Entry((), (), (), cause, "Restore it.", None, told)
    return Explanation(Match(None, entry, None, (cause,), message="X: y"), cause, evidence=evidence)


@pytest.mark.parametrize("evidence", [None, Evidence("unknown", "?"), Evidence("contradicted", "No.")])
def test_what_nothing_shows_is_no_cause_and_its_commands_only_read(evidence):
    item = shared(evidence)
    assert item.certainty == "possible"
    assert (item.cause_text, item.text) == (None, None)
    assert item.doubt is not None and "an entry is cut off" in item.doubt and "of the query fail" in item.doubt
    assert "OffsetSeqLog.deserialize" in item.doubt and "CKPT101" in item.doubt
    assert [command.split()[1] for command in item.commands] == ["check", "show"]
    document = item.to_dict()
    assert (document["cause"], document["possible"], document["shown_by"]) == (None, item.doubt, [])
    assert document["title"] == "X: y"


def test_a_finding_shows_what_the_text_alone_does_not():
    item = shared(Evidence("confirmed", "It does.", (FINDING,)))
    assert (item.certainty, item.doubt, item.cause_text, item.text) == ("proven", None, "Why.", "Restore it.")
    assert FINDING.commands[0] in item.commands
    assert item.to_dict()["shown_by"] == [{"kind": "finding", "value": "CKPT101"}]


def test_a_cause_that_the_checkpoint_does_not_show_is_not_told_as_one():
    item = replace(explanation(Evidence("contradicted", "It does not.")), match=PROVEN)
    assert item.cause_text is None and item.doubt is not None and item.doubt.startswith("Why. The checkpoint does not")
    assert all(command.startswith(("ckpt check ", "ckpt show ")) for command in item.commands)


@pytest.mark.parametrize(("causes", "certainty"), [(1, "proven"), (2, "possible")])
def test_one_of_several_causes_is_possible(causes, certainty):
    item = replace(explanation(), match=replace(PROVEN, causes=(CAUSE,) * causes))
    assert (item.certainty, item.cause_text) == (certainty, "Why.")
