"""What a salvage tells."""

from __future__ import annotations

from airflow_provider_ckpt.changes.salvage.candidates import Candidate
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.report import MOST_TOLD, notes_of, report_of, unjudged, why_nothing
from tests.changes.salvage.bench import put_together


def test_the_batch_its_pieces_and_what_is_given_up(golden):
    found = put_together(golden("agg-hdfs"), Candidate(5, 5))
    notes = notes_of(found, {6: "offsets/6 is missing", 7: "offsets/6 is missing"}, 7)
    assert notes[:3] == (
        "Batch 5 is the newest batch that can be saved, and all that it needs is in its place.",
        "Batch 7 cannot be saved: offsets/6 is missing.",
        "Batch 6 cannot be saved: offsets/6 is missing.",
    )
    assert "The state and the offsets of batches 6 to 7 are given up" in notes[3]
    assert notes[4] == "The state after batch 5 is whole, as far as the warnings say."


def test_the_batch_that_runs_again(golden):
    found = put_together(golden("agg-hdfs"), Candidate(6, 7))
    assert notes_of(found, {}, 7)[1:] == (
        "Batch 7 runs again, from the offsets and to the offsets of its entry.",
        "No batch is given up of which there is any file; of one that has left no file nothing is known.",
        "The state after batch 6 is whole, as far as the warnings say.",
    )


def test_nothing_is_said_of_the_state_of_a_query_without_one(golden):
    found = put_together(golden("file-to-parquet-5"), Candidate(3, 3))
    assert [note.split()[:2] for note in notes_of(found, {}, 4)[1:]] == [["The", "offsets"]]


def test_the_report_as_a_value(golden):
    found = put_together(golden("agg-hdfs"), Candidate(6, 7))
    found.tree.pieces["commits/6"] = Piece("commits/6", "known", 31, "ab", data="v1")
    found.tree.broken["state/0/0/8.delta"] = "is cut off"
    report = report_of(found, {7: "it lacks its state"}, 9, "not used")
    assert report.to_dict() == {
        "batch_id": 6,
        "reruns_batch": 7,
        "backup_id": None,
        "objects": [{"name": "commits/6", "way": "known", "source": "", "size": 31, "sha256": "ab"}],
        "not_whole": [{"name": "state/0/0/8.delta", "reason": "is cut off"}],
        "not_saved": [{"batch_id": 7, "reason": "it lacks its state"}],
        "given_up": {"first_batch": 8, "last_batch": 9},
        "not_judged": list(unjudged(found)),
    }
    assert report_of(found, {}, 7).given_up is None


def test_many_are_counted(golden):
    found = put_together(golden("agg-hdfs"), Candidate(5, 5))
    for number in range(MOST_TOLD + 2):
        found.tree.pieces[f"offsets/{number}"] = Piece(f"offsets/{number}", "backup", 1, "")
    notes = notes_of(found, dict.fromkeys(range(100, 120), "x"), 7, "b1")
    assert "offsets/0 is copied from backup b1." in notes
    assert "2 more files are put back in the same ways." in notes
    assert f"{20 - MOST_TOLD} more batches before those cannot be saved either." in notes


def test_what_nobody_can_judge(golden):
    path = golden("agg-rocksdb")
    for file in path.rglob("*.crc"):
        file.unlink()
    said = " ".join(unjudged(put_together(path, Candidate(7, 7))))
    assert "only the length was compared" in said
    assert "no file tells how many there were" in said
    assert unjudged(put_together(golden("file-to-parquet-5"), Candidate(4, 4))) == ()


def test_a_file_without_a_key_may_be_of_any_batch(golden):
    found = put_together(golden("file-to-parquet-5"), Candidate(4, 4))
    found.tree.pieces["s"] = Piece("state/0/0/5.delta", "temporary", 46, "", "t.tmp", like="state/0/0/4.delta")
    (said,) = unjudged(found)
    assert said.startswith("t.tmp holds no key, as state/0/0/4.delta does")


def test_why_nothing_can_be_saved():
    assert why_nothing({5: "b", 7: "a", 4: "c", 3: "d"}) == "batch 7: a; batch 5: b; batch 4: c"
