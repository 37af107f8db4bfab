"""The timeline: what is noted of a batch, and where changes are between batches."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.rows import BatchRow, digest_of
from airflow_provider_ckpt.checkpoint.progress import SourceAdvance
from airflow_provider_ckpt.plugin.timeline import Change, Logbook, charts_of, finished, lines_of
from tests.change.plans import ROLLBACK

MINUTE_MS = 60_000


def row(batch_id: int, **fields) -> BatchRow:
    """A batch of a minute's rhythm that took five seconds and read ten records."""
    at_ms = batch_id * MINUTE_MS
    read = SourceAdvance("0", "kafka", unit="records", total=10)
    plain = BatchRow("/c", batch_id=batch_id, planned=True, committed=True, batch_time_ms=at_ms, source=read)
    return plain._replace(**{"committed_at_ms": at_ms + 5_000, "confs": {}, "confs_digest": "", **fields})


def batches_of(*rows: BatchRow):
    logbook = Logbook()
    for item in rows:
        logbook.add([item])
    return finished(logbook.batches, max(item.batch_id for item in rows)), logbook.conf_changes


def confs(**values) -> dict[str, object]:
    return {"confs": values, "confs_digest": digest_of(values)}


NOTED = {
    "nothing": ([row(1), row(2), row(3)], ""),
    "a pause": ([row(1), row(2), row(3), row(9)], "Planned 6 min after the batch before it, usually 60 s"),
    "a batch that took long": (
        [row(1), row(2), row(3), row(4, committed_at_ms=4 * MINUTE_MS + 600_000)],
        "Committed 10 min after it was planned, usually 5 s: it was slow, or a restart ran it again",
    ),
    "a batch that took some seconds": ([row(1), row(2), row(3, committed_at_ms=3 * MINUTE_MS + 50_000)], ""),
    "a gap": ([row(1), row(4)], "The logs have no batch between 1 and 4"),
    "in flight": ([row(1), row(2, committed=False, committed_at_ms=None)], "In flight: running, or left by a crash"),
    "a commit that is missing": ([row(1, committed=False), row(2)], "Planned and never committed"),
    "an entry that is missing": ([row(1), row(2, planned=False)], "the offset log has no entry of it"),
    "an entry that is damaged": ([row(1), row(2, problem="/c/offsets/2: bad")], "/c/offsets/2: bad"),
    "a repartition": ([row(1), row(2, control="REPARTITION")], "No batch of the query, but of a repartition"),
    "another conf": (
        [row(1, **confs(a="1", b="1")), row(2, **confs(a="2", b="1"))],
        "restarted with other confs: a.",
    ),
    "five other confs": (
        [row(1, **confs()), row(2, **confs(a="", b="", c="", d="", e=""))],
        "restarted with other confs: a, b, c and 2 more",
    ),
}


@pytest.mark.parametrize(
    ("last", "state", "tone"),
    [
        (row(2), "committed", "good"),
        (row(2, problem="/c/offsets/2: bad"), "committed, damaged", "bad"),
        (row(2, planned=False), "committed, damaged", "bad"),
        (row(2, committed=False, committed_at_ms=None), "not committed", "warn"),
    ],
)
def test_a_damaged_batch_does_not_look_as_if_all_were_well(last, state, tone):
    batch = batches_of(row(1), last)[0][0]
    assert (batch.state, batch.tone) == (state, tone)


@pytest.mark.parametrize("case", NOTED)
def test_what_is_worth_a_second_glance_is_said_at_the_batch(case):
    rows, said = NOTED[case]
    batches, _ = batches_of(*rows)
    told = " ".join(f"{note.text}." for batch in batches for note in batch.notes)
    assert (said in told) if said else told == ""


def test_batches_are_newest_first_with_their_durations():
    batches, _ = batches_of(row(1), row(2), row(3, committed_at_ms=0))
    assert [(batch.batch_id, batch.pause_ms, batch.duration_ms) for batch in batches] == [
        (3, MINUTE_MS, None),  # the clocks disagree
        (2, MINUTE_MS, 5_000),
        (1, None, 5_000),
    ]


def test_the_history_of_a_conf_has_both_values():
    _, changes = batches_of(
        row(1, **confs(a="1")), row(2, **confs(a="2")), row(3, **confs(a="2")), row(4, **confs(b=""))
    )
    assert [(item.batch_id, item.key, item.before, item.after) for item in changes] == [
        (2, "a", "1", "2"),
        (4, "a", "2", None),
        (4, "b", None, ""),
    ]


def record(at_ms: int, state: str = "applied") -> Change:
    return Change(ROLLBACK, state, at_ms)


def test_changes_are_where_they_were_made_and_refused_ones_nowhere():
    batches, _ = batches_of(row(1), row(2), row(3))
    late, between, refused = record(200_000), record(130_000), record(130_000, "refused")
    lines = lines_of(batches, [refused, between, late])
    assert [line.batch.batch_id if line.batch else line.change for line in lines] == [late, 3, between, 2, 1]


def test_a_change_is_on_one_page_alone():
    batches, _ = batches_of(row(1), row(2), row(3), row(4))
    changes = [record(30_000), record(150_000), record(200_000)]
    newer = lines_of(batches[:2], changes, are_oldest=False)
    older = lines_of(batches[2:], changes, until_ms=3 * MINUTE_MS)
    assert [line.change.at_ms for line in newer if line.change] == [200_000]
    assert [line.change.at_ms for line in older if line.change] == [150_000, 30_000]


def test_changes_without_any_batch_are_shown():
    assert [line.change for line in lines_of([], [record(1), record(2)])] == [record(2), record(1)]


def test_charts_show_durations_pauses_amounts_and_changes():
    batches, _ = batches_of(row(1), row(2), row(3))
    took, pauses, read = charts_of(batches, [record(130_000)])
    assert 'aria-label="seconds from planning to commit"' in took and "rollback to batch 3" in took
    assert 'aria-label="seconds from one batch to the next"' in pauses
    assert 'aria-label="read by each batch, by source"' in read


@pytest.mark.parametrize("rows", [[row(1)], [row(1, batch_time_ms=None), row(2, batch_time_ms=None)]])
def test_nothing_is_drawn_of_too_little(rows):
    assert charts_of(batches_of(*rows)[0], []) == []
