"""Rules about the watermark, each over a few entries: what is found, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checks import watermarks
from tests.log_entries import COMMIT, EMPTY_LINE, commit, entry, found
from tests.views import view_of

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"offsets/0": entry(7), "offsets/1": entry(5)}, "offsets/1"),
        ({"offsets/0": entry(5), "offsets/1": entry(7), "commits/1": commit(6)}, "commits/1"),
        ({"offsets/0": entry(5), "offsets/1": entry(7), "commits/0": commit(6)}, None),
        ({"offsets/0": entry(5), "offsets/1": entry(7), "commits/1": COMMIT}, None),
        ({"offsets/0": entry(5), "offsets/1": entry(7), "commits/1": commit(7)}, None),
        ({"offsets/0": EMPTY_LINE, "offsets/1": entry(7)}, None),
    ],
)
def test_a_watermark_that_goes_back(files, name):
    expected = [] if name is None else [("CKPT118", "warning", name, None)]
    assert found(watermarks.watermark_goes_back, view_of(**files)) == expected


@pytest.mark.parametrize(
    ("files", "stateful", "expected"),
    [
        ({"offsets/1": entry(400 * DAY_MS, at_ms=1)}, True, ("error", "offsets/1")),
        ({"offsets/1": entry(1, at_ms=1), "commits/1": commit(400 * DAY_MS)}, True, ("error", "commits/1")),
        ({"offsets/1": entry(400 * DAY_MS, at_ms=1)}, False, ("warning", "offsets/1")),
        ({"offsets/1": entry(30 * DAY_MS, at_ms=1)}, True, ("warning", "offsets/1")),
        ({"offsets/1": entry(DAY_MS, at_ms=1)}, True, None),
        ({"offsets/1": entry(400 * DAY_MS, at_ms=0)}, True, None),
        ({"offsets/1": entry(1, at_ms=1), "commits/0": commit(400 * DAY_MS)}, True, None),
    ],
)
def test_a_watermark_that_is_later_than_its_batch_can_have_seen(files, stateful, expected):
    view = replace(view_of(**files), stateful=stateful, complete=True)
    findings = [(item.severity, item.name) for item in watermarks.watermark_far_ahead(view)]
    assert findings == ([expected] if expected else [])
