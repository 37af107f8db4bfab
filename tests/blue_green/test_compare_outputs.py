"""Two queries over one range: same rows, same end, same watermark, and a live sink that nobody else writes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.blue_green.compare_outputs import compare_outputs
from airflow_provider_ckpt.blue_green.stage_range import StagedRange
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import Query, fork_of


@pytest.fixture
def live(tmp_path: Path) -> Query:
    """A query that has committed batches 0 to 4."""
    return Query(tmp_path / "live").run(*range(5))


@pytest.fixture
def fork(tmp_path: Path) -> Query:
    """Its fork after batch 2, whose batch 3 has read what batches 3 and 4 have."""
    fork = fork_of(tmp_path / "fork", 2)
    fork.plan(3, {"offset": 15})
    fork.write(3, [{"value": value} for value in range(9, 15)])
    fork.commit(3)
    return fork


def staged(watermark_ms: int = 0, shadow_sink: str = "") -> StagedRange:
    """Batches 3 and 4 of the live query."""
    offsets = {"0": '{"offset": 15}'}
    return StagedRange(3, 4, stateful=False, offsets=offsets, watermark_ms=watermark_ms, shadow_sink=shadow_sink)


def compare(live: Query, fork: Query, *, watermark_ms: int = 0, shadow_sink: str | None = None, **arguments):
    sides = [
        (Store.open(str(query.checkpoint)), parse_sink(f"file:{query.out}"), Store.open(str(query.out)))
        for query in (live, fork)
    ]
    name = f"file:{fork.out}" if shadow_sink is None else shadow_sink
    return compare_outputs(*sides, staged(watermark_ms, name), **arguments)


def test_equal_outputs(live, fork):
    found = compare(live, fork)
    assert found.is_equal and found.sentence == "all 6 rows are equal"


def test_the_live_query_may_have_purged_the_range(live, fork):
    for log in ("offsets", "commits"):
        (live.checkpoint / log / "3").unlink()
    assert compare(live, fork).is_equal


def test_another_row(live, fork):
    fork.write(3, [{"value": value} for value in range(8, 14)])
    found = compare(live, fork)
    assert not found.is_equal and found.comparison.missing == found.comparison.extra == 1


def test_another_watermark_is_a_difference_of_later_batches(live, fork):
    """The rows of the range were cut with the watermark of the live query, which its entry holds."""
    fork.commit(3, watermark_ms=9_000)
    found = compare(live, fork, watermark_ms=5_000)
    assert not found.is_equal and found.comparison.is_equal
    assert "the watermark after them is 9000 ms and that of the live query 5000 ms" in found.sentence


def test_rows_by_a_function_of_the_user(live, fork):
    outputs = []

    def rows(output):
        outputs.append((output.side, output.first_batch, output.last_batch))
        return [{"value": 1}]

    assert compare(live, fork, rows=rows).is_equal
    assert outputs == [("live", 3, 4), ("shadow", 3, 3)]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, "rows= has given None for the live output"),
        ({"value": 1}, "rows= has given {'value': 1} for the live output"),
        ([(1, 2)], r"row 1 of the live output is no mapping from column to value, but \(1, 2\)"),
    ],
    ids=["nothing", "one row", "tuples"],
)
def test_a_function_that_gives_no_rows(live, fork, given, reason):
    with pytest.raises(PlanError, match=reason):
        compare(live, fork, rows=lambda output: given)


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (lambda live, fork: fork.plan(3, {"offset": 14}), "ended at other offsets"),
        (lambda live, fork: (fork.checkpoint / "commits" / "3").unlink(), "batch 3 of the fork is not committed"),
        (lambda live, fork: live.write(9, [{"value": 1}]), "has batch 9, but the query has planned none after 4"),
    ],
    ids=["another end", "not committed", "the live sink was written to"],
)
def test_what_is_not_compared(live, fork, happens, reason):
    happens(live, fork)
    with pytest.raises(CheckpointError, match=reason):
        compare(live, fork)


@pytest.mark.parametrize(
    ("before", "reason"),
    [("", "staged without a shadow sink, so nobody has seen"), ("file:/elsewhere", "staged for file:/elsewhere, so")],
)
def test_an_output_that_nobody_saw_empty(live, fork, before, reason):
    with pytest.raises(PlanError, match=reason):
        compare(live, fork, shadow_sink=before)


def test_the_live_query_is_no_fork_of_itself(live):
    with pytest.raises(PlanError, match="of the live query, so it is no fork"):
        compare(live.run(3), live)


def copied_from_the_live_output(live: Query, fork: Query) -> None:
    for batch in range(5):
        fork.write(batch, [{"value": value} for value in range(9, 15)])


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (copied_from_the_live_output, "has batch 4, but the query has planned none after 3"),
        (lambda live, fork: fork.write(1, []), "has batch 1, which is before the first batch of the fork, 3"),
        (lambda live, fork: (fork.out / "_spark_metadata" / "3").unlink(), "has no log of batches"),
    ],
    ids=["the live output", "another query", "nothing"],
)
def test_an_output_that_is_not_of_the_fork_alone(live, fork, happens, reason):
    happens(live, fork)
    with pytest.raises(PlanError, match=reason):
        compare(live, fork)


def test_files_of_another_shape(live, fork):
    """Equal rows are no proof when readers of the directory stop at its files."""
    (fork.out / "day=1").mkdir()
    for query in (live, fork):
        for batch in (3, 4):
            query.write(batch, [{"value": batch, "day": "1"}])
    (fork.out / "day=1" / "part.json").write_text('{"value": 3}\n{"value": 4}\n')
    (fork.out / "_spark_metadata" / "4").unlink()
    fork.log("3", "day=1/part.json")
    found = compare(live, fork)
    assert not found.is_equal and found.comparison.missing == found.comparison.extra == 0
    assert found.sentence == "the partition columns are day and were none"
    for declared in ({"ignore": ["day"]}, {"added": ["day"]}):
        assert not compare(live, fork, **declared).is_equal, "values may differ, files may not"


def test_a_sink_that_ckpt_does_not_read_needs_a_function(live, fork):
    side = Store.open(str(live.checkpoint)), parse_sink("kafka"), None
    with pytest.raises(PlanError, match="does not read the rows of the live sink kafka"):
        compare_outputs(side, (Store.open(str(fork.checkpoint)), parse_sink("noop"), None), staged())
