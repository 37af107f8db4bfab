"""The plan of a change of sources: which entries, in what order, and what the person who approves it is told."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.sources.directories import to_sum
from airflow_provider_ckpt.changes.sources.plan import batches_read, entries_read, plan_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.changes.sources.state import Operators
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from tests.changes.sources.two_sources import COMMIT, COMMITTED, FIRST, FLYING, ONLY_FLYING, WATERMARK, entry, query
from tests.views import view_of

SUMS = {f"sources/{source}/{number}": (11, f"{source}{number}" * 32) for source in (0, 1) for number in range(4)}


@pytest.mark.parametrize(
    ("view", "batches"), [(COMMITTED, (3, 2)), (FLYING, (3, 2, 1)), (FIRST, (0,)), (ONLY_FLYING, (0,))]
)
def test_the_entries_that_a_restart_and_a_rollback_read(view, batches):
    assert batches_read(view) == batches
    assert [batch for batch, _ in entries_read(view)] == list(batches)


def steps(view: CheckpointView, *said: str, drop: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    change = parse_change(said, drop)
    sums = {name: SUMS.get(name, (16, "c" * 64)) for name in to_sum(view.objects, change)}
    return [(action.do, action.name) for action in plan_change(view, change, sums, 7).actions]


def test_it_closes_moves_rewrites_and_opens():
    assert steps(COMMITTED, "0=1", drop=("0",)) == [
        ("close", "offsets/4"),
        *(("delete", f"sources/1/{number}") for number in (3, 2, 1, 0)),
        *(("delete", f"sources/0/{number}") for number in (3, 2, 1, ".0.crc", 0)),
        *(("copy", f"sources/0/{number}") for number in range(4)),
        ("delete", "offsets/.2.crc"),
        ("replace", "offsets/2"),
        ("replace", "offsets/3"),
        ("open", "offsets/4"),
    ]


def test_a_batch_in_flight_stays_and_the_closing_entry_comes_after_it():
    found = steps(FLYING, "0=0", "1=1", "2=new")
    assert (found[0], found[-1]) == (("close", "offsets/4"), ("open", "offsets/4"))
    assert [name for do, name in found if do == "replace"] == ["offsets/1", "offsets/2", "offsets/3"]
    assert not [name for do, name in found if do in ("delete", "copy") and not name.endswith(".crc")]


def test_what_stays_as_it_is_needs_no_step():
    assert steps(COMMITTED, "0=0", "1=1") == []


def told(view: CheckpointView, *said: str, operators: Operators | None = None) -> str:
    change = parse_change(said, [old for old in ("0", "1") if not any(text.endswith(f"={old}") for text in said)])
    sums = {name: SUMS.get(name, (16, "c" * 64)) for name in to_sum(view.objects, change)}
    return " ".join(plan_change(view, change, sums, 7, (), *([operators] if operators else [])).warnings)


WARNINGS = {
    "what the next query is": (
        COMMITTED,
        ["0=1", "1=0"],
        "exactly 2 of them, in this order: 0 (what 1 was), 1 (what 0 was)",
    ),
    "what it is called": (COMMITTED, ["a=0", "b=new", "c=1"], "sources of these names: a (what 0 was), b (new)"),
    "what is never read": (COMMITTED, ["0=1"], "not read yet of source 0 is never read"),
    "what is in flight": (FLYING, ["0=0", "1=1", "2=new"], "Batch 3 is in flight (planned, not committed) and stays"),
    "what has no rows in it": (FLYING, ["0=0", "1=1", "2=new"], "source 2 has no rows in it"),
    "where a rollback ends": (COMMITTED, ["0=1", "1=0"], "Batches before 3 keep the sources"),
}


@pytest.mark.parametrize(("view", "said", "says"), WARNINGS.values(), ids=WARNINGS)
def test_who_approves_it_is_told(view, said, says):
    assert says in told(view, *said)


def test_who_approves_it_is_told_of_state_and_of_its_watermark():
    late = query([entry(1, 1), entry(2, 2)], 2, WATERMARK)
    text = told(late, "0=0", "1=1", "2=new", operators=Operators(1, ("dedupe",)))
    assert "must have the same stateful operators (dedupe)" in text
    assert "drop rows of source 2 that are before it as late" in text
    assert "2026-11-20T" in text
    assert "watermark" not in told(COMMITTED, "0=0", "1=1", "2=new", operators=Operators(1, ("dedupe",)))


def test_what_a_failed_start_has_left_is_named():
    left = view_of("sources/2/0", **{"offsets/0": entry(0, 0), "commits/0": COMMIT})
    assert "What an earlier start has left for source 2 is removed" in told(left, "0=0", "1=1", "2=new")
    assert ("delete", "sources/2/0") in steps(left, "0=0", "1=1", "2=new")
    assert ("delete", "sources/2/0") not in steps(left, "0=1", "1=0")
