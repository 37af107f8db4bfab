"""The rules about who writes."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checks import writers
from tests.views import view_of


def entry(at_ms: int = 0, **more: bool) -> bytes:
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": {}, **more}
    return f'v1\n{json.dumps(metadata)}\n{{"offset":1}}'.encode()


@pytest.mark.parametrize(
    ("times", "names"), [((2, 1), ["offsets/1"]), ((1, 2), []), ((2, 0), []), ((2, 2), [])], ids=str
)
def test_batches_planned_by_two_clocks(times, names):
    view = view_of(**{f"offsets/{batch}": entry(at_ms=at_ms) for batch, at_ms in enumerate(times)})
    assert [finding.name for finding in writers.two_writers(view)] == names


@pytest.mark.parametrize(
    ("left", "names"),
    [
        (("offsets/.2.a-b.tmp", "offsets/.2.c-d.tmp"), ["offsets/2"]),
        (("offsets/.2.a-b.tmp", "offsets/.3.c-d.tmp"), []),
        (("offsets/.2.a-b.tmp", "commits/.2.c-d.tmp"), []),
    ],
)
def test_temporary_files_of_two_writers(left, names):
    assert [finding.name for finding in writers.two_writers(view_of(*left))] == names


@pytest.mark.parametrize(
    ("newest", "committed", "name"),
    [
        pytest.param(entry(ckptFence=True), [0], "offsets/1", id="fenced"),
        pytest.param(entry(ckptFence=True), [0, 1], None, id="passed"),
        pytest.param(entry(), [0], None, id="a batch in flight"),
        pytest.param(entry(ckptFence=1), [0], None, id="another field"),
    ],
)
def test_a_fence_is_named_until_a_query_has_passed_it(newest, committed, name):
    view = view_of(*(f"commits/{batch}" for batch in committed), **{"offsets/0": entry(), "offsets/1": newest})
    found = list(writers.fenced(view))
    assert [(item.code, item.severity, item.name) for item in found] == ([("CKPT151", "note", name)] if name else [])


def test_the_command_that_stops_the_other_writer_is_named():
    view = view_of(**{"offsets/0": entry(2), "offsets/1": entry(1)})
    (found,) = writers.two_writers(view)
    assert found.commands == ("ckpt fence c",)
