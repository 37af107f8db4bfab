"""Batches that the offset log does not have, and entries that are copies: what is found, and what Spark stops with."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks import log_gaps
from tests.log_entries import COMMIT, entry, found
from tests.views import view_of

REFUSED, ILLEGAL = "IllegalArgumentException", "IllegalStateException"


@pytest.mark.parametrize(
    ("files", "name", "error"),
    [
        (("offsets/3", "commits/2", "commits/3"), "offsets/2", ILLEGAL),
        (("offsets/3",), "offsets/2", REFUSED),
        (("offsets/3", "commits/3"), "offsets/2", ILLEGAL),
        (("offsets/1", "offsets/3", "commits/3"), None, None),
        (("offsets/1", "offsets/3", "commits/2", "commits/3"), "offsets/2", ILLEGAL),
        (("offsets/0",), None, None),
        ((), None, None),
    ],
)
def test_the_entry_before_the_newest(files, name, error):
    expected = [] if name is None else [("CKPT110", "error", name, error)]
    assert found(log_gaps.missing_predecessor, view_of(*files)) == expected


@pytest.mark.parametrize(
    ("planned", "text"),
    [
        ((2, 3, 4), None),
        ((), None),
        ((0, 3, 5), "the offset log does not have batches 1 to 2, 4"),
        ((0, 2, 3), "the offset log does not have batch 1"),
    ],
)
def test_gaps_of_the_offset_log(planned, text):
    findings = list(log_gaps.gaps(view_of(*(f"offsets/{batch}" for batch in planned))))
    assert [(finding.code, finding.message) for finding in findings] == ([] if text is None else [("CKPT111", text)])


def test_an_entry_that_is_a_copy_of_the_one_before():
    same = view_of(**{"offsets/0": entry(), "offsets/1": entry()})
    assert found(log_gaps.repeated_entry, same) == [("CKPT106", "warning", "offsets/1", None)]
    assert found(log_gaps.repeated_entry, view_of(**{"offsets/0": entry(), "offsets/1": entry(at_ms=2)})) == []
    assert found(log_gaps.repeated_entry, view_of(**{"offsets/0": entry()})) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"offsets/4": entry(at_ms=4), "offsets/9": entry(at_ms=4)}, (4, REFUSED)),
        ({"offsets/2": entry(at_ms=2), "offsets/4": entry(at_ms=4), "offsets/9": entry(at_ms=2)}, (2, REFUSED)),
        ({"offsets/4": entry(at_ms=4), "offsets/9": entry(7, at_ms=4)}, (4, REFUSED)),
        ({"offsets/4": entry(at_ms=4), "offsets/9": entry(at_ms=4), "commits/9": COMMIT}, (4, ILLEGAL)),
        ({"offsets/4": entry(at_ms=4), "offsets/9": entry(at_ms=9)}, None),
        ({"offsets/4": entry(at_ms=4), "offsets/5": entry(at_ms=4)}, None),
        ({"offsets/0": entry(at_ms=4)}, None),
    ],
)
def test_an_older_entry_under_the_number_of_a_batch_that_never_was(files, expected):
    view = view_of(**files)
    findings = list(log_gaps.stray_entry(view))
    assert [(item.code, item.severity, item.spark_error) for item in findings] == (
        [("CKPT146", "error", expected[1])] if expected else []
    )
    for item in findings:
        assert f"copy of offsets/{expected[0]}:" in item.message
        assert ("ckpt salvage" if view.in_flight else "Move offsets/9 and commits/9") in item.advice
        assert list(log_gaps.repeated_entry(view)) == []
        assert "CKPT146" in next(log_gaps.gaps(view)).hint
