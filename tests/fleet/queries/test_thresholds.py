"""Thresholds: what is measured, what is passed, and what nobody can tell, which is never a pass."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.queries.thresholds import Measures, Threshold, behind_of, judge_thresholds
from airflow_provider_ckpt.query.query_file import Alert
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag, lag_not_known

ALL = Alert(behind_ms=300_000, delay_ms=600_000, age_ms=3_600_000, rows=1_000)


def kafka(unread: int, age_ms: int | None = None, lost: int = 0, **more: object) -> SourceLag:
    part = PartitionLag("t", 0, 0, unread, unread, lost, age_ms)
    return SourceLag("0", "kafka", "offsets", unread, (part,), age_ms=age_ms, **more)


IDLE, RATE = kafka(0), SourceLag("1", "rate", notes=("a rate source has no end that can be asked for",))
UNDECLARED = SourceLag("1", None, notes=("it was not declared, so nobody can ask where it ends",))


def judged(key: str, **measures: object) -> Threshold:
    (found,) = (item for item in judge_thresholds(ALL, Measures(**measures), {}) if item.key == key)
    return found


@pytest.mark.parametrize(
    ("key", "sources", "side"),
    [
        ("behind", [IDLE], "holds"),  # an idle topic: nothing is unread, however long ago it was written
        ("behind", [kafka(5, 300_000)], "holds"),
        ("behind", [kafka(5, 300_001)], "passed"),
        ("behind", [kafka(5)], "unknown"),  # records without timestamps
        ("behind", [kafka(5, 10, lost=3)], "unknown"),
        ("behind", [kafka(5, 10, is_partial=True)], "unknown"),
        ("behind", [kafka(5, 300_001, is_partial=True)], "passed"),  # at least so much
        ("behind", [IDLE, RATE], "holds"),  # of a rate source no end can be asked for, and the file says so
        ("behind", [RATE], "unknown"),  # nothing was measured at all
        ("behind", [IDLE, UNDECLARED], "unknown"),
        ("behind", [kafka(5, 300_001), UNDECLARED], "passed"),  # by one source is enough
        ("behind", [lag_not_known("0", "kafka", "the entry is damaged")], "unknown"),
        ("behind", [], "unknown"),
        ("behind", None, "unknown"),
        ("rows", [IDLE], "holds"),
        ("rows", [kafka(1_000)], "holds"),
        ("rows", [kafka(1_001)], "passed"),
        ("rows", [kafka(600), SourceLag("1", "kafka", "offsets", 600)], "holds"),  # of each source
        ("rows", [SourceLag("0", "delta", "versions", 2, rows=5_000)], "passed"),  # a table that counts rows
        ("rows", [SourceLag("0", "file", "files", 3)], "holds"),
        ("rows", [RATE], "unknown"),
    ],
)
def test_what_is_behind(key, sources, side):
    found = judged(key, sources=sources)
    assert (found.holds, found.passed, found.measured is None) == (
        side == "holds",
        side == "passed",
        side == "unknown",
    )
    assert (found.why is None) == (side != "unknown")


@pytest.mark.parametrize(
    ("key", "measures", "why"),
    [
        ("delay", {}, "no watermark"),
        ("age", {}, "does not tell when"),
        ("age", {"is_committed": False, "commit_age_ms": None}, "no batch is committed"),
        ("delay", {"is_committed": False}, "no batch is committed"),
        ("rows", {"why": "the checkpoint could not be read: gone"}, "could not be read: gone"),
        ("age", {"why": "the checkpoint could not be read: gone"}, "could not be read: gone"),
    ],
)
def test_what_cannot_be_measured_is_not_known_and_does_not_hold(key, measures, why):
    found = judged(key, **measures)
    assert not found.holds and not found.passed and why in found.why
    assert "is not known, and alert." in found.text and found.text.endswith(found.why)


@pytest.mark.parametrize(("age_ms", "holds"), [(3_600_000, True), (3_600_001, False), (0, True)])
def test_the_age_of_the_newest_commit(age_ms, holds):
    assert judged("age", commit_age_ms=age_ms).holds is holds


@pytest.mark.parametrize(("delay_ms", "holds"), [(600_000, True), (600_001, False), (-5, True)])
def test_the_delay_of_the_watermark(delay_ms, holds):
    assert judged("delay", delay_ms=delay_ms).holds is holds


def test_only_declared_thresholds_are_judged():
    assert judge_thresholds(Alert(), Measures(), {}) == ()
    assert [item.key for item in judge_thresholds(Alert(rows=0), Measures(sources=[IDLE]), {})] == ["rows"]


def test_a_sentence_says_what_was_measured_and_where_the_threshold_is():
    (found,) = judge_thresholds(
        Alert(behind_ms=300_000), Measures(sources=[kafka(5, 720_000)]), {"behind": "ckpt.yaml line 9"}
    )
    assert found.text == (
        "the age of the oldest unread data in source 0 is 12 min, and alert.behind (ckpt.yaml line 9) is 5 min"
    )
    assert judged("rows", sources=[kafka(12_345)]).text == (
        "the unread data in source 0 is 12,345 offsets, and alert.rows is 1,000"
    )
    assert found.to_dict()["passed"] is True and found.to_dict()["measured"] == 720_000


def test_all_sources_together_are_as_far_behind_as_the_worst():
    assert behind_of([IDLE, kafka(1, 5_000)]) == 5_000
    assert behind_of([IDLE]) == 0
    assert behind_of([IDLE, UNDECLARED]) is behind_of(None) is behind_of([RATE]) is None
