"""Which batches are tried, and in which order."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.salvage.candidates import (
    Candidate,
    candidates,
    has_each_batch,
    known_commits,
    newest_seen,
)
from tests.changes.salvage.bench import view_of
from tests.changes.salvage.damage import drop


def tried(path, broken=(), others=()):
    return [
        (item.batch_id, item.last, item.keeps_state)
        for item in candidates(view_of(path), dict.fromkeys(broken), others)
    ]


def test_the_newest_batch_comes_first_and_the_newest_entry_is_kept_where_it_can_be(golden):
    path = golden("agg-hdfs")
    assert tried(path)[:4] == [(7, 7, False), (6, 7, False), (6, 6, False), (5, 5, False)]
    assert tried(path, ["offsets/7"])[:2] == [(7, 7, False), (6, 6, False)]


def test_a_batch_that_was_never_committed_keeps_its_state(golden):
    path = golden("agg-hdfs")
    drop(path / "commits/7")
    assert tried(path)[:3] == [(6, 7, True), (6, 7, False), (6, 6, False)]
    assert tried(path, others=[7, 9])[:2] == [(9, 9, False), (7, 7, False)]


def test_nothing_is_of_the_size_of_a_number_in_a_name(golden):
    path = golden("agg-hdfs")
    (path / "commits" / str(2**62)).write_text("v1")
    assert len(tried(path)) < 12
    assert newest_seen(view_of(path), []) == 2**62


@pytest.mark.parametrize(("case", "each"), [("agg-hdfs", True), ("async-progress", False)])
def test_a_log_with_entries_one_after_the_other_has_no_gaps(case, each, golden):
    assert has_each_batch(view_of(golden(case))) is each


def test_a_commit_is_known_where_the_next_batch_was_planned(golden):
    path = golden("agg-hdfs")
    for batch in (3, 7):
        drop(path / f"commits/{batch}")
    assert known_commits(view_of(path), {}).keys() == {"commits/3"}
    assert known_commits(view_of(path), {"offsets/4": "cut"}) == {}
    version_2 = golden("agg-rocksdb-v2")
    drop(version_2 / "commits/3")
    assert known_commits(view_of(version_2), {}) == {}


def test_the_newest_batch_that_left_anything_may_have_reached_the_sink(golden):
    path = golden("agg-hdfs")
    assert newest_seen(view_of(path), ["commits/9"]) == 9
    for name in ("commits/7", "offsets/7"):
        drop(path / name)
    assert newest_seen(view_of(path), []) == 7, "its state is there"


def test_a_candidate_says_what_is_kept():
    assert Candidate(6, 7) != Candidate(6, 7, keeps_state=True)
